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
echo === fullbore netsh-interfaces
netsh interface ip show interface
echo === fullbore reg
regedit /e "%TEMP%\fullbore.txt" "HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"
type "%TEMP%\fullbore.txt"
regedit /e "%TEMP%\fullbore.txt" "HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\AFD\Parameters"
type "%TEMP%\fullbore.txt"
del "%TEMP%\fullbore.txt"
echo === fullbore end
) 2>nul
