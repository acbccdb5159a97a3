(
PATH=/usr/bin:/usr/sbin:/sbin:$PATH
LC_ALL=C
export PATH LC_ALL
s() { echo "=== fullbore $*"; }
echo 'fullbore facts 1 solaris'
s name; uname -n
s release; uname -r
s build; uname -v
s arch; uname -p
s distribution; sed 1q /etc/release
s cpus; psrinfo | wc -l
s cpu-model; psrinfo -pv | tail -1
s memory; prtconf | sed -n '/^Memory size/p;/^Memory size/q'
s ndd
for p in ip_forwarding ip6_forwarding ip_multidata_outbound; do
echo "$p `ndd -get /dev/ip $p`"
done
for p in \
tcp_max_buf tcp_cwnd_max tcp_recv_hiwat tcp_xmit_hiwat tcp_wscale_always tcp_tstamp_if_wscale \
tcp_sack_permitted tcp_slow_start_initial tcp_deferred_acks_max tcp_maxpsz_multiplier
do
echo "$p `ndd -get /dev/tcp $p`"
done
s mdb
for p in \
ip_soft_rings_cnt ip_squeue_soft_ring clnt_max_conns nfs3_max_transfer_size \
nfs3_max_transfer_size_cots nfs3_max_transfer_size_clts nfs3_bsize nfs3_nra nfs3_max_threads
do
echo "$p/D" | mdb -k
done
s system; grep set /etc/system | grep '=' | sed 2000q
s ifconfig; ifconfig -a | sed 5000q
s kstat
for p in ifspeed link_speed link_duplex link_up; do kstat -p -s $p | sed 500q; done
s nfs; grep '^NFSD_SERVERS=' /etc/default/nfs
s startup
grep -l 'ndd -set' /etc/init.d/* /etc/rc?.d/S* /lib/svc/method/* | sed 100q
s end
) 2>/dev/null </dev/null
