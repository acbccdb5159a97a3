package plan

import (
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

func TestMacos(t *testing.T) {
	wan := between(unit.Gbps, 67*ms) // BDP 8.4 MB: 16 MiB, and 32 of them as limit
	one := func(system string, changes ...string) Input {
		return Input{Path: wan, Receiver: facts(t, system, changes...), OneEnd: true}
	}
	t.Run("static: the limit first, and a buffer that its window scale just holds", func(t *testing.T) {
		is(t, one("macos10.5"), "must never be above 8/9",
			"kern.ipc.maxsockbuf 8388608 -> 67107840", "net.inet.tcp.recvspace 556032 -> 33553920")
	})
	t.Run("tuned: the scale follows", func(t *testing.T) {
		is(t, one("macos10.9", "kern.ipc.nmbclusters", "262144"), "win_scale_factor is left alone",
			"kern.ipc.maxsockbuf 8388608 -> 33554432", "net.inet.tcp.autorcvbufmax 524288 -> 16777216")
	})
	t.Run("the pool of clusters bounds it", func(t *testing.T) {
		is(t, one("macos10.9", "kern.ipc.nmbclusters", "131072"), "The boot argument ncl=262144",
			"kern.ipc.maxsockbuf 8388608 -> 16777216", "net.inet.tcp.autorcvbufmax 524288 -> 14913080")
	})
	t.Run("a maximum of autotuning above the limit does nothing", func(t *testing.T) { // fasterdata's recipe alone
		p := Make(one("macos15", "net.inet.tcp.autorcvbufmax", "33554432", "kern.ipc.nmbclusters", "262144"))
		if len(p.Steps) != 1 || len(p.Steps[0].Changes) != 1 || p.Steps[0].Changes[0].Tunable != maxsockbuf {
			t.Errorf("steps: %+v", p.Steps)
		}
	})
	t.Run("a pool that just has room for it", func(t *testing.T) {
		in := one("macos10.9", "kern.ipc.nmbclusters", "262144")
		says(t, in, "sixteenth", false)
		says(t, in, "Result too large", false)
	})
	t.Run("a pool that has room for what the version comes with", func(t *testing.T) {
		is(t, one("macos10.9", "kern.ipc.nmbclusters", "65536", "kern.ipc.maxsockbuf", "4194304"), "The boot argument ncl=262144",
			"kern.ipc.maxsockbuf 4194304 -> 8388608", "net.inet.tcp.autorcvbufmax 524288 -> 7456536")
		is(t, one("macos10.9", "kern.ipc.nmbclusters", "65535", "kern.ipc.maxsockbuf", "4194304"), "The boot argument ncl=262144",
			"net.inet.tcp.autorcvbufmax 524288 -> 3728264")
	})
	t.Run("a pool of which the size is not known", func(t *testing.T) {
		in := one("macos10.9", "kern.ipc.nmbclusters", "")
		is(t, in, `If macos10.9 refuses kern.ipc.maxsockbuf with "Result too large", its pool of mbuf clusters is too small: the limit is a sixteenth of it, and the boot argument ncl=262144 makes`,
			"kern.ipc.maxsockbuf 8388608 -> 33554432", "net.inet.tcp.autorcvbufmax 524288 -> 16777216")
		in.Path = between(100*unit.Mbps, 10*ms) // for which the limit stays
		in.Receiver.Tunables["net.inet.tcp.doautorcvbuf"] = "0"
		is(t, in, "", "net.inet.tcp.doautorcvbuf 0 -> 1")
		says(t, in, "Result too large", false)
		in.Receiver.Tunables["kern.ipc.nmbclusters"] = "9223372036854775807" // nor a pool that no memory holds
		in.Path = wan
		says(t, in, "sixteenth", false)
	})
	t.Run("static: as much as memory allows, within one scale", func(t *testing.T) {
		for memory, want := range map[int64]string{
			512 << 20:     "16776960", // 1/32 is 16777216, and one byte above 65535 << 8 would make it twice as large
			32 * 16776960: "16776960",
			32 * 16776959: "8388480",
		} {
			in := one("macos10.5", "kern.ipc.maxsockbuf", "67108864")
			in.Receiver.Memory = memory
			is(t, in, "small part of its", "net.inet.tcp.recvspace 556032 -> "+want)
		}
		in := one("macos10.9", "kern.ipc.maxsockbuf", "67108864", "kern.ipc.nmbclusters", "524288")
		in.Receiver.Memory = 500 << 20
		is(t, in, "small part of its", "net.inet.tcp.autorcvbufmax 524288 -> 16384000") // what tunes itself needs no scale
	})
	t.Run("static: enough is left alone, also below 4 MB", func(t *testing.T) {
		near := Input{Path: between(unit.Gbps, 1200*time.Microsecond), OneEnd: true}
		near.Receiver = facts(t, "macos10.4", "net.inet.tcp.recvspace", "1048560", "kern.ipc.maxsockbuf", "8388608") // 65535 << 4
		is(t, near, "")
		near.Receiver.Tunables["net.inet.tcp.recvspace"] = "1048559"
		is(t, near, "", "net.inet.tcp.recvspace 1048559 -> 4194240")
	})
	t.Run("a limit of which 8/9 are just enough is left alone", func(t *testing.T) {
		in := one("macos15", "net.inet.tcp.autorcvbufmax", "16777216", "kern.ipc.maxsockbuf", "18874368", "kern.ipc.nmbclusters", "262144")
		is(t, in, "")
		in.Receiver.Tunables["kern.ipc.maxsockbuf"] = "18874367"
		is(t, in, "", "kern.ipc.maxsockbuf 18874367 -> 33554432")
	})
	t.Run("a larger window answers the lack of a scale, a larger send buffer does not", func(t *testing.T) {
		in := one("macos10.9", "kern.ipc.nmbclusters", "262144")
		in.Diagnosis = found(diagnose.WindowScale)
		says(t, in, unplannable[diagnose.WindowScale], false)
		in.Sender, in.Receiver = in.Receiver, nil
		says(t, in, unplannable[diagnose.WindowScale], true)
	})
	t.Run("a switch that is gone", func(t *testing.T) {
		in := one("macos15", "net.inet.tcp.autorcvbufmax", "67108864", "kern.ipc.maxsockbuf", "67108864")
		says(t, in, "rfc1323", false)
		in.Receiver.Tunables["net.inet.tcp.rfc1323"] = "0" // reported all the same: said once, as what does nothing
		says(t, in, "net.inet.tcp.rfc1323 is 0 on macos15, where it does nothing", true)
		says(t, in, "net.inet.tcp.rfc1323 is not set on macos15", false)
	})
	t.Run("no autotuning", func(t *testing.T) {
		in := one("macos15", "net.inet.tcp.doautorcvbuf", "0")
		in.Path = between(100*unit.Mbps, 10*ms)
		is(t, in, "", "net.inet.tcp.doautorcvbuf 0 -> 1")
	})
	t.Run("no window scale", func(t *testing.T) {
		in := one("macos10.5", "net.inet.tcp.rfc1323", "0")
		in.Path = between(100*unit.Mbps, ms)
		is(t, in, "", "net.inet.tcp.rfc1323 0 -> 1")
	})
	t.Run("the application asks for more than is granted", func(t *testing.T) {
		in := one("macos10.4")
		in.Diagnosis, in.Baseline = found(diagnose.ReceiverBuffer), &bulk.Result{Spec: bulk.Spec{RecvBuf: 1 << 20}}
		is(t, in, "sets SO_RCVBUF to 1 MiB itself", "kern.ipc.maxsockbuf 262144 -> 2097152")
	})
}

// The windows of each release, worked out by hand from its source.
func TestMacosWindow(t *testing.T) {
	receive := macosDirection{receiving: true, space: "net.inet.tcp.recvspace", most: "net.inet.tcp.autorcvbufmax", does: "net.inet.tcp.doautorcvbuf"}
	send := macosDirection{space: "net.inet.tcp.sendspace", most: "net.inet.tcp.autosndbufmax", does: "net.inet.tcp.doautosndbuf"}
	for _, c := range []struct {
		system string
		d      macosDirection
		set    []string
		want   unit.Size
	}{
		{"macos10.2", receive, nil, 16384},
		{"macos10.3", receive, nil, 65535}, // TCP_INCREASED_SPACE
		{"macos10.4", receive, nil, 65535},
		{"macos10.4", send, []string{"net.inet.tcp.sendspace", "131072"}, 131072},
		{"macos10.6", receive, nil, 65535 << 4}, // 556032 needs a scale of 4, and fills it
		{"macos10.6", receive, []string{"net.inet.tcp.recvspace", "65536"}, 65535 << 3},
		{"macos10.6", receive, []string{"net.inet.tcp.win_scale_factor", "8"}, 7456536}, // 8/9 of 8 MiB
		{"macos10.6", send, nil, 370688},
		{"macos10.9", receive, nil, 524288},
		{"macos15", receive, []string{"net.inet.tcp.autorcvbufmax", "33554432"}, 7456536},
		{"macos15", send, []string{"net.inet.tcp.doautosndbuf", "0"}, 370688},
	} {
		h := facts(t, c.system, c.set...)
		if got := macosWindow(h, c.d, macosPresent(h)); got != c.want {
			t.Errorf("%s %v: %d, want %d", c.system, c.set, int64(got), int64(c.want))
		}
	}
}

func TestOneScale(t *testing.T) {
	for buffer, want := range map[unit.Size]unit.Size{0: 65535, 65535: 65535, 65536: 131070, 4_000_000: 65535 << 6, 65535 << 6: 65535 << 6, 65535<<6 + 1: 65535 << 7, 1 << 40: 65535 << 14} {
		if got := oneScale(buffer); got != want {
			t.Errorf("%d: %d, want %d", int64(buffer), int64(got), int64(want))
		}
	}
}
