package format

import (
	"testing"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
)

// example is a host and a plan for it.
type example struct {
	name string
	host *host.Facts
	plan *plan.Plan
}

const (
	whyReceive = "the path carries 1 Gb/s with a round trip of 150 ms, which takes a window of 18.8 MB"
	whySend    = "what is unacknowledged has to fit into the sender's buffer"
	seen       = "a source, https://example.org/tuning"
)

// made is a plan of one step a change, for a host of its own name.
func made(name, os, version string, changes ...plan.Change) example {
	p := &plan.Plan{}
	for _, c := range changes {
		c.Host = "host-a"
		if c.Why == "" {
			c.Why = whyReceive
		}
		if c.Source == "" {
			c.Source = seen
		}
		p.Steps = append(p.Steps, plan.Step{Idea: "an idea", Changes: []plan.Change{c}})
	}
	return example{name, &host.Facts{Name: "host-a", OS: os, Version: version}, p}
}

func change(name, from, to string) plan.Change {
	return plan.Change{Tunable: name, From: from, To: to}
}

// examples are hosts of every system, with a plan that has all kinds of settings
// that the system has: at once and at boot, kept by commands and by files, of
// interfaces, and some that have no effect there.
func examples() []example {
	solaris := []plan.Change{
		change("tcp_recv_hiwat", "49152", "37748736"), // before what has to come first
		change("tcp_max_buf", "1048576", "37748736"),
		change("tcp_cwnd_max", "1048576", "37748736"),
		change("tcp_xmit_hiwat", "49152", "4194304"),
		change("tcp_wscale_always", "0", "1"),
		change("rpcmod:clnt_max_conns", "1", "8"),
		change("nfs:nfs3_bsize", "32768", "1048576"),
		change("recv_buf", "128000", "4194304"), // not there
	}
	ipadm := []plan.Change{
		change("recv_buf", "128000", "37748736"),
		change("max_buf", "1048576", "37748736"),
		change("_cwnd_max", "2097152", "37748736"), // somebody's own value
		change("send_buf", "49152", "4194304"),
		change("link.mtu@net0", "1500", "9000"),
		change("rpcmod:clnt_max_conns", "1", "8"),
		change("nfs:nfs3_bsize", "32768", "1048576"),
		change("nfsd.servers", "1024", "2048"),
		change("tcp_recv_hiwat", "49152", "4194304"), // not there
	}
	mac := []plan.Change{
		change("net.inet.tcp.sendspace", "370688", "4194304"),
		change("kern.ipc.maxsockbuf", "8388608", "16777216"),
		change("net.inet.tcp.win_scale_factor", "3", "8"),
		change("net.inet.tcp.delayed_ack", "3", "0"),
		change("link.mtu@en0", "1500", "9000"),
	}
	tuned := made("linux", "linux", "6.18.44",
		change("net.ipv4.tcp_rmem", "4096 131072 33554432", "4096 131072 67108864"),
		change("net.ipv4.tcp_wmem", "4096 16384 4194304", "4096 16384 67108864"),
		change("net.ipv4.tcp_congestion_control", "cubic", "bbr"),
		change("net.core.rmem_max", "212992", "67108864"),
		change("net.ipv4.tcp_adv_win_scale", "1", "2"), // no effect any more
		change("link.ring.rx@eth0", "512", "4096"),
		change("link.ring.tx@eth0", "512", "4096"),
		change("link.offload.gro@eth0", "0", "1"),
		change("link.txqueuelen@eth0", "1000", "10000"),
		change("link.rps_cpus@eth0", "0", "f"),
		change("cpu.governor", "powersave", "performance"),
		change("sunrpc.tcp_slot_table_entries", "2", "128"),
		change("nfs.read_ahead_kb@/srv/da ta", "128", "15360"),
		change("cmdline.iommu", "", "pt"),
		change("net.ipv4.tcp_rmem", "4096 131072 67108864", "4096 131072 134217728"), // a later step
		change("no.such.thing", "1", "2"),
	)
	tuned.host.Managers = []host.Manager{{Name: "tuned", Sets: "profile network-throughput"}}
	return []example{
		tuned,
		made("linux-nothing", "linux", "6.18.44"),
		made("freebsd", "freebsd", "14",
			change("net.inet.tcp.recvbuf_max", "2097152", "37748736"),
			change("net.inet.tcp.sendbuf_max", "2097152", "37748736"),
			change("kern.ipc.maxsockbuf", "2097152", "67108864"),
			change("kern.ipc.nmbclusters", "1000000", "2000000"),
			change("link.mtu@ix0", "1500", "9000")),
		made("macos-10.6", "macos", "10.6", mac...),
		made("macos-15", "macos", "15", mac...),
		made("solaris-8", "solaris", "8", solaris...),
		made("solaris-10", "solaris", "10", solaris...),
		made("solaris-11", "solaris", "11", ipadm...),
		made("illumos", "illumos", "5.11", ipadm...),
		made("windows-2003", "windows", "5.2",
			change("TcpWindowSize", "65535", "8388608"),
			change("GlobalMaxTcpWindowSize", "65535", "8388608"),
			change("Tcp1323Opts", "0", "3"),
			change("TcpWindowSize.interface@{5F6F4B6E-0000-4000-8000-000000000001}", "17520", "8388608"),
			change("autotuninglevel", "restricted", "normal")),
		made("windows-2022", "windows", "10.0.20348",
			change("autotuninglevel", "restricted", "normal"),
			change("heuristics", "enabled", "disabled"),
			change("CongestionProvider", "ctcp", "cubic"),
			change("ReceiveBuffers@Ethernet 2", "512", "2048"),
			change("link.mtu@Ethernet 2", "1500", "9000"),
			change("JumboPacket@Ethernet 2", "1514", "9014"),
			change("smb.ConnectionCountPerRssNetworkInterface", "4", "8"),
			change("TcpWindowSize", "65535", "8388608")), // ignored there
	}
}

// written gives a format's files for a host, to set and to undo.
func written(t testing.TB, f Format, c example) []File {
	t.Helper()
	var files []File
	for _, write := range []func() ([]File, error){
		func() ([]File, error) { return f.Write(c.plan, c.host) },
		func() ([]File, error) { return f.Undo(c.plan, c.host) },
	} {
		these, err := write()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, these...)
	}
	return files
}
