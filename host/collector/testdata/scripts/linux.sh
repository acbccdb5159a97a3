(
PATH=$PATH:/usr/sbin:/sbin:/usr/bin:/bin
LC_ALL=C
export PATH LC_ALL
s() { echo "=== fullbore $*"; }
has() { command -v "$1" >/dev/null; }
nics=$(sed -n 's/^ *\([^: ]*\):.*/\1/p' /proc/net/dev | head -n 64)
echo 'fullbore facts 1 linux'
s name; uname -n
s version; uname -r
s arch; uname -m
s os-release; head -n 50 /etc/os-release || head -n 50 /usr/lib/os-release
s cpus; grep -c '^processor' /proc/cpuinfo
s cpu-model; sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1
s memory; grep '^MemTotal:' /proc/meminfo
s limits
g=$(sed -n 's/^0:://p' /proc/self/cgroup)
while [ -n "$g" ]; do
head -n 1 "/sys/fs/cgroup$g/memory.max"
g=${g%/*}
done
g=$(sed -n 's/^[0-9]*:memory:/\/memory/p' /proc/self/cgroup)
while [ -n "$g" ]; do
head -n 1 "/sys/fs/cgroup$g/memory.limit_in_bytes"
g=${g%/*}
done
s boot; head -n 1 /proc/sys/kernel/random/boot_id
s sysctl
cd /proc/sys || exit
grep -s . net/ipv4/ip_forward net/ipv6/conf/all/forwarding /dev/null
set -- \
net/ipv4/tcp_rmem net/ipv4/tcp_wmem net/core/rmem_max net/core/wmem_max net/core/rmem_default \
net/core/wmem_default net/core/optmem_max net/ipv4/tcp_mem net/ipv4/tcp_moderate_rcvbuf \
net/ipv4/tcp_rcvbuf_low_rtt net/ipv4/tcp_shrink_window net/ipv4/tcp_adv_win_scale \
net/ipv4/tcp_app_win net/ipv4/tcp_window_scaling net/ipv4/tcp_timestamps net/ipv4/tcp_sack \
net/ipv4/tcp_dsack net/ipv4/tcp_ecn net/ipv4/tcp_fack net/ipv4/tcp_congestion_control \
net/ipv4/tcp_available_congestion_control net/ipv4/tcp_allowed_congestion_control \
net/ipv4/tcp_bic net/ipv4/tcp_bic_fast_convergence net/ipv4/tcp_westwood \
net/ipv4/tcp_vegas_cong_avoid net/ipv4/tcp_bic_low_window net/ipv4/tcp_slow_start_after_idle \
net/ipv4/tcp_no_metrics_save net/ipv4/tcp_no_ssthresh_metrics_save net/ipv4/tcp_notsent_lowat \
net/ipv4/tcp_limit_output_bytes net/ipv4/tcp_mtu_probing net/ipv4/tcp_base_mss \
net/ipv4/tcp_reordering net/ipv4/tcp_max_reordering net/ipv4/tcp_frto net/ipv4/tcp_early_retrans \
net/ipv4/tcp_recovery net/ipv4/tcp_autocorking net/ipv4/tcp_tso_win_divisor \
net/ipv4/tcp_min_tso_segs net/ipv4/tcp_tso_rtt_log net/ipv4/tcp_pacing_ss_ratio \
net/ipv4/tcp_pacing_ca_ratio net/ipv4/tcp_comp_sack_nr net/ipv4/tcp_workaround_signed_windows \
net/ipv4/tcp_low_latency net/core/default_qdisc net/core/netdev_max_backlog \
net/core/netdev_budget net/core/netdev_budget_usecs net/core/dev_weight \
net/core/rps_sock_flow_entries net/core/somaxconn net/core/busy_poll net/core/busy_read \
sunrpc/tcp_slot_table_entries sunrpc/tcp_max_slot_table_entries
grep -s . "$@" /dev/null
s fixed; ls -l "$@"
s read-only; grep ' /proc/sys ' /proc/self/mountinfo
cd /
s addresses
{ ip -d addr show || ip addr show || ifconfig -a; } | head -n 20000
s files
for i in $nics; do
[ "$(head -n 1 "/sys/class/net/$i/ifindex")" ] || continue
grep -s . "/sys/class/net/$i/ifindex" "/sys/class/net/$i/mtu" /dev/null
grep -s . "/sys/class/net/$i/tx_queue_len" /dev/null
if [ -e "/sys/class/net/$i/device" ]; then
grep -s . "/sys/class/net/$i/speed" "/sys/class/net/$i/duplex" /dev/null
echo "/sys/class/net/$i/driver:$(readlink "/sys/class/net/$i/device/driver")"
fi
grep -s . /sys/class/net/"$i"/queues/rx-*/rps_cpus /dev/null
grep -s . /sys/class/net/"$i"/queues/rx-*/rps_flow_cnt /dev/null
done | head -n 20000
grep -s . /proc/fs/nfsd/threads /proc/fs/nfsd/max_block_size /dev/null
grep -s . /sys/module/nfs/parameters/max_session_slots /dev/null
grep -s . /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor /dev/null
if has ethtool; then
for i in $nics; do
s ethtool "$i"; ethtool "$i"
s ethtool-g "$i"; ethtool -g "$i"
s ethtool-l "$i"; ethtool -l "$i"
s ethtool-c "$i"; ethtool -c "$i"
s ethtool-a "$i"; ethtool -a "$i"
s ethtool-k "$i"; ethtool -k "$i"
done
fi
s tc; tc qdisc show | head -n 5000
s routes
ip -4 route show | grep -E ' (via|congctl) ' | head -n 16
ip -6 route show | grep -E ' (via|congctl) ' | head -n 16
s cmdline; head -n 1 /proc/cmdline
s mounts; grep ' - nfs4\{0,1\} ' /proc/self/mountinfo | head -n 1000
s bdi; grep -s . /sys/class/bdi/*/read_ahead_kb /dev/null | head -n 5000
s tuned; has tuned-adm && tuned-adm active
s processes; ps -A -o comm= | sort -u | grep -E '^(bpftune|irqbalance|power-profiles-)'
s sysctl.d
grep -sE '^[^#;]*=' /etc/sysctl.conf /run/sysctl.d/*.conf /etc/sysctl.d/*.conf \
/usr/local/lib/sysctl.d/*.conf /usr/lib/sysctl.d/*.conf /lib/sysctl.d/*.conf \
/dev/null | grep -E '(net|sunrpc)[./]' | head -n 1000
s end
) 2>/dev/null </dev/null
