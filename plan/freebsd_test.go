package plan

import (
	"testing"
	"time"
	"unicode"

	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

func TestFreeBSD(t *testing.T) {
	wan := between(unit.Gbps, 150*ms)
	t.Run("receiver: the step only where there is one", func(t *testing.T) {
		is(t, Input{Path: wan, Receiver: facts(t, "freebsd12"), OneEnd: true}, "",
			"kern.ipc.maxsockbuf 2097152 -> 134217728", "net.inet.tcp.recvbuf_max 2097152 -> 67108864", "net.inet.tcp.recvbuf_inc 16384 -> 524288")
		is(t, Input{Path: wan, Receiver: facts(t, "freebsd14"), OneEnd: true}, "",
			"kern.ipc.maxsockbuf 2097152 -> 134217728", "net.inet.tcp.recvbuf_max 2097152 -> 67108864")
	})
	t.Run("a maximum of autotuning above the limit does nothing", func(t *testing.T) {
		in := Input{Path: wan, Receiver: facts(t, "freebsd14", "net.inet.tcp.recvbuf_max", "67108864"), OneEnd: true}
		is(t, in, "", "kern.ipc.maxsockbuf 2097152 -> 134217728")
		if got := Make(in).Steps[0].Predicted; got.String() != "965 Mb/s" {
			t.Errorf("predicted: %v", got)
		}
	})
	t.Run("sender: CUBIC where it is loaded, and said where it is not", func(t *testing.T) {
		buffers := []string{"net.inet.tcp.sendbuf_max", "67108864", "kern.ipc.maxsockbuf", "134217728"}
		is(t, Input{Path: wan, Sender: facts(t, "freebsd12", buffers...), OneEnd: true}, "kldload cc_cubic")
		is(t, Input{Path: wan, Sender: facts(t, "freebsd12", append(buffers, "net.inet.tcp.cc.available", "CCmod D PCB count newreno * 8 cubic 0")...), OneEnd: true}, "",
			"net.inet.tcp.cc.algorithm newreno -> cubic")
		is(t, Input{Path: wan, Sender: facts(t, "freebsd14", buffers...), OneEnd: true}, "")
	})
	t.Run("CUBIC only where it is known to be much faster", func(t *testing.T) {
		loaded := facts(t, "freebsd12", "net.inet.tcp.cc.available", "newreno* cubic")
		for _, c := range []struct {
			path *path.Estimate
			want bool
		}{
			{wan, true},
			{between(5*unit.Gbps, 10*ms), false},   // 21 s against 15 s
			{between(5*unit.Gbps, 20*ms), true},    // 83 s against 18 s
			{between(200_000, time.Second), false}, // 8 s: nobody waits long for that
			{Given(0, 150*ms, 1500), false},        // how fast the path is, is assumed
		} {
			m := newMaker(Input{Path: c.path, Sender: loaded, OneEnd: true})
			if i := freebsdCongestion(m, loaded); (i != nil) != c.want {
				t.Errorf("%+v: %+v", c.path, i)
			}
		}
		assumed := between(unit.Gbps, 150*ms)
		assumed.Forward.Capacity.Assumed = true
		is(t, Input{Path: assumed, Sender: facts(t, "freebsd12", "net.inet.tcp.cc.available", "newreno cubic", "net.inet.tcp.sendbuf_max", "134217728", "kern.ipc.maxsockbuf", "268435456"), OneEnd: true}, "")
		says(t, Input{Path: wan, Sender: facts(t, "freebsd12", "net.inet.tcp.cc.available", "newreno"), OneEnd: true}, "kldload cc_cubic", true)
	})
	t.Run("no window scale", func(t *testing.T) {
		in := Input{Path: between(100*unit.Mbps, ms), Receiver: facts(t, "freebsd14", "net.inet.tcp.rfc1323", "0"), OneEnd: true}
		is(t, in, "", "net.inet.tcp.rfc1323 0 -> 1")
	})
	t.Run("a limit of which 8/9 are just enough is left alone, and all that goes with it", func(t *testing.T) {
		in := Input{Path: between(unit.Gbps, 60*ms), Receiver: facts(t, "freebsd12", "net.inet.tcp.recvbuf_max", "16777216", "kern.ipc.maxsockbuf", "18874368", "kern.ipc.nmbclusters", "1024"), OneEnd: true}
		is(t, in, "")
		says(t, in, "clusters", false)
		in.Receiver.Tunables["kern.ipc.maxsockbuf"] = "18874367"
		is(t, in, "clusters", "kern.ipc.maxsockbuf 18874367 -> 33554432", "net.inet.tcp.recvbuf_inc 16384 -> 131072")
	})
	t.Run("nearby, larger packets", func(t *testing.T) {
		says(t, Input{Path: between(10*unit.Gbps, ms), Receiver: facts(t, "freebsd14"), OneEnd: true}, "ifconfig INTERFACE mtu 9000", true)
	})
	t.Run("a short path does not need CUBIC", func(t *testing.T) {
		is(t, Input{Path: between(unit.Gbps, ms), Sender: facts(t, "freebsd12", "net.inet.tcp.cc.available", "newreno cubic"), OneEnd: true}, "")
	})
	t.Run("autotuning is off", func(t *testing.T) {
		is(t, Input{Path: between(unit.Gbps, 2*ms), Sender: facts(t, "freebsd14", "net.inet.tcp.sendbuf_auto", "0"), OneEnd: true}, "hostcache", "net.inet.tcp.sendbuf_auto 0 -> 1")
	})
	t.Run("a small pool of clusters", func(t *testing.T) {
		is(t, Input{Path: wan, Receiver: facts(t, "freebsd14", "kern.ipc.nmbclusters", "1024"), OneEnd: true}, "raise it by hand if netstat -m counts requests denied",
			"kern.ipc.maxsockbuf 2097152 -> 134217728", "net.inet.tcp.recvbuf_max 2097152 -> 67108864")
	})
}

// What FreeBSD prints of its algorithms is taken apart at everything that is in no
// name of one.
func TestNamesOfAlgorithms(t *testing.T) {
	for r := range rune(300) {
		name := r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
		if notName(r) == name {
			t.Errorf("%q is part of a name: %v", r, !name)
		}
	}
}

// A buffer that is to be raised is kept within 8/9 of the limit of all, unless that
// is less than the version comes with; other limits have room for what is needed of
// one that is large enough already.
func TestUnderLimit(t *testing.T) {
	h := facts(t, "freebsd14", "net.inet.tcp.recvbuf_max", "65536")
	m := newMaker(Input{Path: between(unit.Gbps, ms), Receiver: h, OneEnd: true})
	for limit, want := range map[unit.Size]unit.Size{4718592: 4194304, 2359296: 2097152, 2359295: 65536, 0: 65536} {
		if got := m.underLimit(h, "net.inet.tcp.recvbuf_max", 8*unit.MiB, limit); got != want {
			t.Errorf("within %d: %d, want %d", int64(limit), int64(got), int64(want))
		}
	}
	for _, c := range []struct{ need, buffer, present, want unit.Size }{{4, 8, 8, 4}, {4, 8, 7, 8}, {8, 4, 4, 4}} {
		if got := toHold(c.need, c.buffer, c.present); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
