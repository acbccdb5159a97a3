package format

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
)

// TestIntegrationAdvice runs what a Linux host's administrator is told, on a
// kernel's own settings: of the network namespace, an interface whose name means
// something to shells, its qdisc and routes. What no namespace has of its own
// (processors, modules, the NFS server) are files and a program in its place.
func TestIntegrationAdvice(t *testing.T) {
	t.Parallel()
	const odd = `e$(id)';&"` // 10 bytes, of 15 that a name can have
	h := &host.Facts{Name: "host-b", OS: "linux", Version: "6.18"}
	a := Advise(h, []plan.Change{
		change("net.ipv4.tcp_rmem", "4096 131072 6291456", "4096 131072 67108864"),
		change("net.ipv4.tcp_mtu_probing", "0", "1"),
		change("link.txqueuelen@even", "1000", "4321"),
		change("link.mtu@even", "1500", "9000"),
		change("link.qdisc@even", "noqueue", "pfifo"),
		change("route.congctl@198.18.5.0/24", "", "reno"),
		change("route.congctl@fd00:5::/64", "", "reno"),
		change("link.rps_cpus@even", "0", "1"),
		change("cpu.governor", "powersave", "performance"),
		change("nfs.read_ahead_kb@/srv/it's $(id)", "128", "15360"),
		change("module.nfs.max_session_slots", "64", "256"),
		change("nfsd.threads", "8", "64"),
		change("nfs.rsize@/srv/it's $(id)", "65536", "1048576"),
	})
	strange := Advise(h, []plan.Change{change("link.mtu@"+strings.ReplaceAll(odd, `"`, "#"), "1500", "1400")})
	if len(a.Commands) != 12 || len(a.ByHand) != 1 || len(strange.Commands) != 1 {
		t.Fatalf("%d commands, by hand %q, %+v", len(a.Commands), a.ByHand, strange)
	}
	files := []File{
		hashComments.text("commands", strings.Join(append(a.Commands, strange.Commands...), "\n")+"\n"),
		hashComments.text("unseen", RaiseUnseen("net.ipv4.tcp_wmem", 67108864)+"\n"),
		hashComments.text("name", strings.ReplaceAll(odd, `"`, "#")),
		hashComments.program("bin/rpc.nfsd", "#!/bin/sh\necho \"$@\" >/tmp/nfsd\n"),
	}
	out := inSandbox(t, files, `
PATH=/plan/bin:$PATH
name=$(cat name)
ip link add even type veth peer name "$name"
ip link set even up; ip link set "$name" up
ip addr add 198.18.0.1/24 dev even; ip -6 addr add fd00::1/64 dev even nodad
ip route add 198.18.5.0/24 via 198.18.0.2; ip -6 route add fd00:5::/64 via fd00::2
mkdir -p "/srv/it's \$(id)"; mount -t tmpfs tmpfs "/srv/it's \$(id)"
mount -t tmpfs tmpfs /sys/devices/system/cpu; mkdir -p /sys/devices/system/cpu/cpu0/cpufreq /sys/devices/system/cpu/cpu1/cpufreq
echo powersave >/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor; echo powersave >/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor
mount -t tmpfs tmpfs /sys/class/bdi; mkdir "/sys/class/bdi/$(mountpoint -d "/srv/it's \$(id)")"
mount -t tmpfs tmpfs /sys/module; mkdir -p /sys/module/nfs/parameters
sysctl -q -w net.ipv4.tcp_wmem='4096 16384 4194304'
# Each line by itself, as from a terminal: none may hide another's failure.
while read -r line; do sh -c "$line" >/tmp/said 2>&1 || { echo "FAILS: $line"; cat /tmp/said; }; done <commands
sysctl -n net.ipv4.tcp_rmem net.ipv4.tcp_mtu_probing | tr '\t' ' '
cat /sys/class/net/even/tx_queue_len /sys/class/net/even/mtu "/sys/class/net/$name/mtu" /sys/class/net/even/queues/rx-0/rps_cpus | tr -d ,
tc qdisc show dev even root | cut -d' ' -f2
ip route show 198.18.5.0/24 | tr -s ' ' | sed 's/ $//'; ip -6 route show fd00:5::/64 | grep -o 'congctl [a-z]*'
cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor /sys/class/bdi/*/read_ahead_kb /sys/module/nfs/parameters/max_session_slots /tmp/nfsd
for awk in /usr/bin/mawk /usr/bin/gawk; do
	[ -x $awk ] || continue
	ln -sf $awk bin/awk
	sysctl -q -w net.ipv4.tcp_wmem='4096 16384 4194304'
	sh unseen; sysctl -q -w net.ipv4.tcp_wmem='8192 16384 99999999'; sh unseen
done | tr '\t' ' ' | sort -u
ls -d /tmp/uid* uid* 2>/dev/null || :
`)
	want := fmt.Sprintf(`4096 131072 67108864
1
4321
9000
1400
%s
pfifo
198.18.5.0/24 via 198.18.0.2 dev even congctl reno
congctl reno
performance
performance
15360
256
64
net.ipv4.tcp_wmem = 4096 16384 67108864
net.ipv4.tcp_wmem = 8192 16384 99999999
`, "1")
	same(t, "after what is advised", want, out)
	if got := a.ByHand[0]; !strings.Contains(got, "rsize=1048576 among the options of /srv/it's $(id) in /etc/fstab") {
		t.Errorf("of a mount, it is told %q", got)
	}
}
