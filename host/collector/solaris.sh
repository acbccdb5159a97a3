(
PATH=/usr/bin:/usr/sbin:/sbin:$PATH
LC_ALL=C
export PATH LC_ALL
s() { echo "=== fullbore $*"; }
echo 'fullbore facts 1 {{.System}}'
s name; uname -n
s release; uname -r
s build; uname -v
s arch; uname -p
s distribution; sed 1q /etc/release
s cpus; psrinfo | wc -l
s cpu-model; psrinfo -pv | tail -1
s memory; prtconf | sed -n '/^Memory size/p;/^Memory size/q'
{{- if .Ndd}}
s ndd
for p in ip_forwarding ip6_forwarding ip_multidata_outbound; do
echo "$p `ndd -get /dev/ip $p`"
done
for p in \
{{wrap .Ndd}}
do
echo "$p `ndd -get /dev/tcp $p`"
done
{{- end}}
{{- if .Ipadm}}
s ipadm
for p in \
{{wrap .Ipadm}}
do
ipadm show-prop -c -o PROPERTY,CURRENT -p $p tcp
done
s forwarding
ipadm show-prop -c -o PROPERTY,CURRENT -p forwarding ipv4
ipadm show-prop -c -o PROPERTY,CURRENT -p forwarding ipv6
{{- end}}
{{- if .EtcSystem}}
s mdb
for p in \
{{wrap .Variables}}
do
echo "$p/D" | mdb -k
done
s system; grep set /etc/system | grep '=' | sed 2000q
{{- end}}
s ifconfig; ifconfig -a | sed 5000q
s kstat
for p in ifspeed link_speed link_duplex link_up; do kstat -p -s $p | sed 500q; done
{{- if .Ipadm}}
s dladm-link; dladm show-link -p -o LINK,CLASS,MTU,STATE | sed 1000q
s dladm-phys; dladm show-phys -p -o LINK,STATE,SPEED,DUPLEX,DEVICE | sed 1000q
s dladm-prop; dladm show-linkprop -c -o LINK,PROPERTY,VALUE -p mtu,rxrings | sed 2000q
s sharectl; sharectl get -p servers nfs
{{- else}}
s nfs; grep '^NFSD_SERVERS=' /etc/default/nfs
{{- end}}
s startup
grep -l 'ndd -set' /etc/init.d/* /etc/rc?.d/S* /lib/svc/method/* | sed 100q
s end
) 2>/dev/null </dev/null
