package report

import (
	"bytes"
	"testing"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/unit"
)

func TestFacts(t *testing.T) {
	all := map[string]bool{"rx": true, "tx": true, "sg": true, "tso": true, "gso": true, "gro": true, "lro": false}
	var b bytes.Buffer
	Facts(&b, &host.Facts{
		Name: "a", OS: "linux", Version: "6.18.44", Distribution: "Debian GNU/Linux 12 (bookworm)", Arch: "amd64", CPUs: 4, CPUModel: "AMD EPYC", Memory: 8 << 30,
		Interfaces: []host.Interface{
			{Name: "lo", MTU: 65536, Up: true, Addresses: []string{"127.0.0.1/8"}, Offloads: all, Qdiscs: []host.Qdisc{{Kind: "noqueue", Handle: "0:", Parent: "root"}}},
			{Name: "eth0", MTU: 1500, Up: true, Speed: 1000, Duplex: "full", Driver: "igb", Autoneg: "on", Addresses: []string{"198.18.0.1/24"},
				Offloads: map[string]bool{"rx": true, "tx": true, "sg": true, "tso": false, "gso": true, "gro": false, "lro": false},
				Qdiscs:   []host.Qdisc{{Kind: "tbf", Handle: "1:", Parent: "root", Rate: 100 * unit.Mbps, Bytes: 125000}}},
			{Name: "eth1", MTU: 1500, Speed: 100, Duplex: "half", Driver: "r8169", Autoneg: "off", Offloads: all,
				Qdiscs: []host.Qdisc{{Kind: "fq", Handle: "0:", Parent: "root", Rate: 20 * unit.Mbps, PerFlow: true}}},
		},
		Tunables: map[string]string{"net.ipv4.tcp_rmem": "4096 131072 6291456", "link.mtu@eth0": "1500", "link.ring.rx@eth0": "256", "nfs.rsize@/mnt": "1048576"}, ReadOnly: []string{"net.ipv4.tcp_rmem"},
		Managers: []host.Manager{{Name: "tuned", Sets: "profile network-throughput"}, {Name: "bpftune"}},
		WhyNot:   "tunables belong to root: run fullbore with sudo",
	})
	golden.Check(t, "facts.txt", b.Bytes())

	b.Reset()
	Facts(&b, &host.Facts{Name: "db1", OS: "solaris", Version: "8", CanChange: true, Tunables: map[string]string{"tcp_recv_hiwat": "24576"}})
	golden.Check(t, "facts-of-little.txt", b.Bytes())
}
