(
PATH=$PATH:/usr/sbin:/sbin:/usr/bin:/bin
LC_ALL=C
export PATH LC_ALL
s() { echo "=== fullbore $*"; }
echo 'fullbore facts 1 macos'
s name; uname -n
s version; sw_vers -productVersion
s arch; uname -m
s sysctl
for p in hw.memsize hw.physmem hw.ncpu machdep.cpu.brand_string \
net.inet.ip.forwarding net.inet6.ip6.forwarding \
kern.ipc.maxsockbuf net.inet.tcp.sendspace net.inet.tcp.recvspace net.inet.tcp.doautorcvbuf \
net.inet.tcp.autorcvbufmax net.inet.tcp.doautosndbuf net.inet.tcp.autosndbufmax \
net.inet.tcp.autosndbufinc net.inet.tcp.win_scale_factor net.inet.tcp.rfc1323 \
net.inet.tcp.delayed_ack kern.ipc.nmbclusters
do
sysctl $p
done
s ifconfig; ifconfig -a | head -n 5000
s sysctl.conf; grep -E '^[^#]*=' /etc/sysctl.conf /dev/null | head -n 1000
s launchd
grep -l sysctl /Library/LaunchDaemons/*.plist | head -n 100
s end
) 2>/dev/null </dev/null
