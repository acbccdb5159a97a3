(
echo fullbore facts 1 windows
echo === fullbore name
hostname
echo === fullbore ver
ver
echo === fullbore cpus
echo %NUMBER_OF_PROCESSORS%
echo === fullbore arch
echo %PROCESSOR_ARCHITECTURE%
echo === fullbore wmic
wmic computersystem get TotalPhysicalMemory /value | find "="
echo === fullbore netsh-interfaces
netsh interface ip show interface
echo === fullbore reg
reg query "HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"
reg query "HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces" /s
reg query "HKLM\SYSTEM\CurrentControlSet\Services\AFD\Parameters"
echo === fullbore end
) 2>nul
