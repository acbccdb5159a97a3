package plan

import (
	"strings"
	"testing"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// What the sources set by hand comes out of the planner for their path and
// system, or more: the figures here are theirs, none was copied from a plan.
func TestRecipes(t *testing.T) {
	for _, c := range []struct {
		example string
		figures map[string]int64 // at least
	}{
		// The LAN buffer article: ndd -set /dev/tcp, and the same by ipadm on what came after.
		{"solaris-9-jumbo-lan", map[string]int64{"tcp_xmit_hiwat": 983040, "tcp_recv_hiwat": 983040, "tcp_max_buf": 4194304}},
		{"illumos-jumbo-lan", map[string]int64{"recv_buf": 983040, "max_buf": 4194304}},
		// The GigaSwift article: the best compromise, send buffer no smaller than receive buffer.
		{"solaris-9-gigaswift", map[string]int64{"tcp_recv_hiwat": 64 << 10, "tcp_xmit_hiwat": 64 << 10}},
		// The Mac OS X article.
		{"macos-10.4-gigabit", map[string]int64{"kern.ipc.maxsockbuf": 8000000, "net.inet.tcp.sendspace": 4000000, "net.inet.tcp.recvspace": 4000000}},
		// The NFS article: 1 MB is 1 GB/s at 1 ms; above it the two limits follow.
		{"solaris-10-nfs-10g", map[string]int64{"tcp_recv_hiwat": 1 << 20, "tcp_max_buf": 1 << 20, "tcp_cwnd_max": 1 << 20, "rpcmod:clnt_max_conns": 8, "ip:ip_soft_rings_cnt": 8, "ip:ip_squeue_soft_ring": 1}},
		{"illumos-nfs-server-10g", map[string]int64{"send_buf": 1 << 20, "max_buf": 1 << 20, "_cwnd_max": 1 << 20}},
		{"windows-2003-gigabit", map[string]int64{"TcpWindowSize": 1 << 20, "TcpWindowSize.interface@eth0": 1 << 20, "GlobalMaxTcpWindowSize": 1 << 20, "Tcp1323Opts": 1}},
		// ESnet's pages of FreeBSD and macOS. Its sendbuf_inc of 16384 is not
		// planned: the send buffer grows by that step with every call of
		// tcp_output, not once a round trip, so 8192 is soon enough.
		{"freebsd-10-wan", map[string]int64{"kern.ipc.maxsockbuf": 67108864, "net.inet.tcp.sendbuf_max": 67108864, "net.inet.tcp.recvbuf_max": 67108864, "net.inet.tcp.recvbuf_inc": 524288}},
		{"freebsd-14-10g", map[string]int64{"kern.ipc.maxsockbuf": 67108864, "net.inet.tcp.recvbuf_max": 67108864}},
		// ESnet sets 33554432 on macOS, of which its kern.ipc.maxsockbuf of
		// 8388608, left as it is, lets 7456536 count.
		{"macos-15-wan-10g", map[string]int64{"kern.ipc.maxsockbuf": 33554432, "net.inet.tcp.autorcvbufmax": 4 * 7456536, "net.inet.tcp.autosndbufmax": 4 * 7456536}},
	} {
		t.Run(c.example, func(t *testing.T) {
			in := readExample(t, "testdata/plans/"+c.example+".yaml")
			h := in.Receiver
			if h == nil {
				h = in.Sender
			}
			done := clone(h)
			for _, step := range Make(in).Steps {
				for _, change := range step.Changes {
					done.Tunables[change.Tunable] = change.To
				}
			}
			for name, least := range c.figures {
				if got := number(done.Tunables[name], 0); got < least {
					t.Errorf("%s is %d in the end, the source sets %d", name, got, least)
				}
			}
		})
	}
}

// The GigaSwift article's rule, and the formulas of the windows: the figures are worked out by hand.
func TestStatic(t *testing.T) {
	for _, c := range []struct {
		name    string
		in      Input
		streams int
		want    int64
	}{
		// 2 x 105 kB for the path and 500 kB for 4 ms: 1 MiB, the LAN buffer article's 960 KB.
		{"The LAN buffer article", Input{Path: between(1e9, 840_000)}, 1, 1 << 20},
		// 2 x 1.9 kB and 50 kB: 64 KiB, the GigaSwift article's best compromise.
		{"The GigaSwift article, ten connections", Input{Path: between(1e9, 150_000)}, 10, 64 << 10},
		// 2 x 1.25 MB and 5 MB: 8 MiB.
		{"The NFS article, one connection", Input{Path: between(10e9, 1_000_000)}, 1, 8 << 20},
		// an eighth of it: 1 MiB, the NFS article's 1 MB.
		{"The NFS article, eight connections", Input{Path: between(10e9, 1_000_000)}, 8, 1 << 20},
		{"a modem", Input{Path: between(56e3, 200_000_000)}, 1, 64 << 10},
	} {
		c.in.Streams = c.streams
		if got := int64(newMaker(c.in).static()); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// Who reads the plan of a static buffer learns whether it is all that is needed.
func TestWhyStatic(t *testing.T) {
	m := newMaker(Input{Path: between(1e9, 2*ms), OneEnd: true}) // 2 x 250 kB and 500 kB
	for buffer, all := range map[unit.Size]bool{1_000_000: true, 999_999: false} {
		if why := m.whyStatic(buffer); strings.Contains(why, "as much of it as the host has room for") == all {
			t.Errorf("%d: %s", int64(buffer), why)
		}
	}
}

// facts are a host as a version of a system comes, with what a test changes.
func facts(t *testing.T, system string, changes ...string) *host.Facts {
	t.Helper()
	h := assume(t, system)
	for i := 0; i < len(changes); i += 2 {
		h.Tunables[changes[i]] = changes[i+1]
	}
	return h
}
