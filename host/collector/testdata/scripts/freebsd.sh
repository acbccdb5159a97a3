(
PATH=$PATH:/usr/sbin:/sbin:/usr/bin:/bin
LC_ALL=C
export PATH LC_ALL
s() { echo "=== fullbore $*"; }
echo 'fullbore facts 1 freebsd'
s name; uname -n
s version; uname -r
s arch; uname -m
s distribution; uname -sr
s sysctl
for p in hw.physmem hw.ncpu hw.model \
net.inet.ip.forwarding net.inet6.ip6.forwarding \
kern.ipc.maxsockbuf net.inet.tcp.recvbuf_max net.inet.tcp.sendbuf_max net.inet.tcp.recvbuf_auto \
net.inet.tcp.sendbuf_auto net.inet.tcp.recvbuf_inc net.inet.tcp.sendbuf_inc \
net.inet.tcp.sendspace net.inet.tcp.recvspace net.inet.tcp.soreceive_stream net.inet.tcp.rfc1323 \
net.inet.tcp.functions_default net.inet.tcp.cc.algorithm net.inet.tcp.cc.available \
net.inet.tcp.hostcache.expire kern.ipc.nmbclusters
do
sysctl $p
done
s ifconfig; ifconfig -a | head -n 5000
s sysctl.conf
grep -E '^[^#]*=' /etc/sysctl.conf /etc/sysctl.conf.local /boot/loader.conf \
/boot/loader.conf.local /dev/null | head -n 1000
s end
) 2>/dev/null </dev/null
