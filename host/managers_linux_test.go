package host

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/sysctld"
)

// managed is the tree of a machine with systemd on which much sets tunables.
var managed = map[string]string{
	"proc/sys/net/ipv4/tcp_mem": "1 2 3",
	"run/systemd/system/x":      "",
	"etc/tuned/active_profile":  "network-throughput",
	"run/tuned/tuned.pid":       "812",
	"proc/812/comm":             "tuned",
	"sys/fs/cgroup/system.slice/bpftune.service/cgroup.procs":               "901",
	"sys/fs/cgroup/system.slice/irqbalance.service/cgroup.procs":            "700",
	"sys/fs/cgroup/system.slice/NetworkManager.service/cgroup.procs":        "701",
	"sys/fs/cgroup/system.slice/power-profiles-daemon.service/cgroup.procs": "",
	"etc/NetworkManager/system-connections/wan.nmconnection": `
[connection]
id=wan
interface-name=eth0
[ethernet]
mtu=9000
[ethtool]
ring-rx=4096
feature-tso=true
pause-rx=
`,
	"etc/NetworkManager/system-connections/lan.nmconnection": "[connection]\ninterface-name=eth1\n[802-3-ethernet]\nmtu=0\n",
	"etc/sysctl.conf":                       "# net.ipv4.tcp_sack = 0\nnet.ipv4.tcp_timestamps=0\nkernel.panic = 3\n",
	"etc/sysctl.d/10-early.conf":            "net.core.rmem_max = 1",
	"etc/sysctl.d/60-os-hardening.conf":     "net/ipv4/tcp_timestamps = 0\n-net.ipv4.tcp_sack = 0\nnet.ipv4.conf.all.rp_filter = 1",
	"etc/sysctl.d/10-network-security.conf": "net.ipv4.conf.all.rp_filter = 1",
	"etc/sysctl.d/99-zz-fullbore.conf":      "net.core.rmem_max = 2",
	"etc/sysctl.d/99-zzz-late.conf":         "net.ipv4.tcp_rmem = 4096\t131072  16777216\nnet.ipv4.tcp_sack=1\nnet.core.rmem_max=1\nnet.core.wmem_max=1\nnet.ipv4.tcp_wmem=1 2 3\nnet.ipv4.tcp_ecn=1\nnet.ipv4.tcp_mtu_probing=1\n",
	"usr/lib/sysctl.d/99-zzz-late.conf":     "net.ipv4.tcp_ecn = 2",
	"usr/lib/sysctl.d/99-zzzz-only.conf":    "net.core.default_qdisc = fq_codel\n",
}

func TestManagers(t *testing.T) {
	want := []Manager{
		{"bpftune", "TCP's buffers, congestion control, backlogs"},
		{"tuned", "profile network-throughput"},
		{"irqbalance", "which CPUs the interrupts of network cards go to"},
		{"NetworkManager", "link.mtu, link.offload.tso, link.ring.rx of eth0 in /etc/NetworkManager/system-connections/wan.nmconnection"},
		{"/etc/sysctl.d/60-os-hardening.conf", "net.ipv4.tcp_sack = 0, net.ipv4.tcp_timestamps = 0"},
		{"/etc/sysctl.d/99-zzz-late.conf", "net.core.rmem_max = 1, net.core.wmem_max = 1, net.ipv4.tcp_ecn = 1, net.ipv4.tcp_mtu_probing = 1, net.ipv4.tcp_rmem = 4096 131072 16777216, net.ipv4.tcp_sack = 1, 1 more"},
		{"/usr/lib/sysctl.d/99-zzzz-only.conf", "net.core.default_qdisc = fq_codel"},
		{"/etc/sysctl.conf", "net.ipv4.tcp_timestamps = 0"},
	}
	if d := cmp.Diff(want, unpack(t, managed).managers()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	within := maps.Clone(managed)
	delete(within, "proc/sys/net/ipv4/tcp_mem")
	if d := cmp.Diff(want[:1], unpack(t, within).managers()); d != "" {
		t.Errorf("within (-want +got):\n%s", d)
	}
}

// A profile that nobody applies, and daemons that went, set nothing.
func TestManagersThatAreNotThere(t *testing.T) {
	for name, change := range map[string]map[string]string{
		"the process went":        {"proc/812/comm": "", "run/tuned/tuned.pid": "813"},
		"its number is another's": {"proc/812/comm": "bash"},
		"its number is a path":    {"run/tuned/tuned.pid": "../812"},
	} {
		files := map[string]string{"proc/sys/net/ipv4/tcp_mem": "1 2 3", "run/systemd/system/x": "", "etc/tuned/active_profile": "balanced", "run/tuned/tuned.pid": "812", "proc/812/comm": "tuned"}
		if got := unpack(t, files).managers(); len(got) != 1 {
			t.Fatalf("as it is: %v", got)
		}
		maps.Copy(files, change)
		if got := unpack(t, files).managers(); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Without systemd, processes are known by their names, of which 15 bytes are kept.
func TestManagersWithoutSystemd(t *testing.T) {
	got := unpack(t, map[string]string{
		"proc/sys/net/ipv4/tcp_mem": "1 2 3", "proc/7/comm": "power-profiles-", "proc/8/comm": "bpftune", "proc/self/comm": "irqbalance",
	}).managers()
	if len(got) != 2 || got[0].Name != "bpftune" || got[1].Name != "power-profiles-daemon" {
		t.Errorf("managers: %v", got)
	}
}

// What systemd gives interfaces.
func TestManagersOfSystemd(t *testing.T) {
	got := unpack(t, map[string]string{
		"proc/sys/net/ipv4/tcp_mem": "1 2 3", "run/systemd/system/x": "",
		"sys/fs/cgroup/systemd/system.slice/systemd-networkd.service/cgroup.procs": "5",
		"sys/fs/cgroup/systemd/system.slice/systemd-udevd.service/cgroup.procs":    "6",
		"etc/systemd/network/10-wan.network":                                       "[Match]\nName=en*\n[Link]\nMTUBytes=9000\n[Network]\nDHCP=yes",
		"etc/systemd/network/10-wan.link":                                          "[Match]\nMACAddress=02:00:00:00:00:01\n[Link]\nRxBufferSize=max\n;TxBufferSize=max\n",
		"usr/lib/systemd/network/99-default.link":                                  "[Link]\nNamePolicy=keep",
	}).managers()
	want := []Manager{
		{"systemd-networkd", "link.mtu of en* in /etc/systemd/network/10-wan.network"},
		{"systemd-udevd (networkd's link files)", "link.ring.rx of 02:00:00:00:00:01 in /etc/systemd/network/10-wan.link"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Files in which someone wrote what they liked: no more than a line, and plain.
func FuzzSettingsFiles(f *testing.F) {
	f.Add("net.ipv4.tcp_rmem = 1 2 3\n[Link]\nMTUBytes=9000\n")
	f.Add("[Match]\nName=\x1b[2J\n[Link]\nMTUBytes=\x00\n")
	f.Add("net/ipv4/tcp_sack=\x1b\n-net.core.rmem_max = " + strings.Repeat("9", 300))
	f.Fuzz(func(t *testing.T, text string) {
		for _, line := range []string{
			knownOf(sysctld.Parse("/x", text)), brief(linkSettings(text, []string{"Match.Name"}, networkdKeys)),
			brief(linkSettings(text, []string{"connection.interface-name"}, networkManagerKeys)),
		} {
			if len(line) > 210 || strings.ContainsAny(line, "\n\x1b\x00") {
				t.Errorf("%q says %q", text, line)
			}
		}
	})
}
