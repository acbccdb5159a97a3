& {
$ErrorActionPreference = 'SilentlyContinue'
function S($name) { "=== fullbore $name" }
function Has($name) { [bool](Get-Command $name) }
function Rows($rows) { $rows | Select-Object -First 2000 | ConvertTo-Csv -NoTypeInformation }
function One($object) { $object | Format-List | Out-String -Width 400 }
function Wmi($class) { if (Has Get-CimInstance) { Get-CimInstance $class } else { Get-WmiObject $class } }
'fullbore facts 1 windows'
S system
One (Wmi Win32_OperatingSystem | Select-Object 'CSName', 'Version', 'Caption', 'OSArchitecture')
One (Wmi Win32_ComputerSystem | Select-Object 'TotalPhysicalMemory', 'NumberOfLogicalProcessors')
One (Wmi Win32_Processor | Select-Object -First 1 @{n='Processor'; e={$_.Name}})
S interfaces
Rows (Get-NetAdapter | Select-Object 'Name', 'InterfaceGuid', 'Status', 'MtuSize', 'Speed', 'FullDuplex', 'DriverFileName')
Rows (Get-NetIPAddress | Select-Object 'InterfaceAlias', 'IPAddress', 'PrefixLength')
Rows (Get-NetIPInterface | Select-Object 'InterfaceAlias', @{n='Forwarding'; e={"$($_.Forwarding)"}})
Rows (Get-NetAdapterAdvancedProperty -AllProperties |
  Where-Object { '*ReceiveBuffers', '*JumboPacket' -contains $_.RegistryKeyword } |
  Select-Object 'Name', 'RegistryKeyword', @{n='RegistryValue'; e={$_.RegistryValue -join ' '}})
S registry
$services = 'HKLM:\SYSTEM\CurrentControlSet\Services'
One (Get-ItemProperty "$services\Tcpip\Parameters" | Select-Object 'IPEnableRouter', {{quoted .Registry}})
One (Get-ItemProperty "$services\AFD\Parameters" | Select-Object {{quoted .AFD}})
Rows (Get-ChildItem "$services\Tcpip\Parameters\Interfaces" |
  Select-Object @{n='Interface'; e={$_.PSChildName}}, @{n='TcpWindowSize'; e={$_.GetValue('TcpWindowSize')}})
if (Has Get-NetTCPSetting) {
S settings
One (Get-NetTCPSetting -SettingName Internet)
One (Get-NetOffloadGlobalSetting)
} else {
S netsh-global; netsh interface tcp show global
S netsh-heuristics; netsh interface tcp show heuristics
S netsh-subinterfaces; netsh interface ipv4 show subinterfaces
}
S clients
One (Get-SmbClientConfiguration | Select-Object 'EnableMultiChannel', 'ConnectionCountPerRssNetworkInterface')
One (Get-NfsClientConfiguration | Select-Object 'ReadBufferSize', 'WriteBufferSize')
S end
}

