package plan

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// linux is a host as Linux 6.18 comes, with what a test changes.
func linux(name string, changes ...string) *host.Facts {
	h := &host.Facts{Name: name, OS: "linux", Version: "6.18.44", Memory: 24 << 30, CanChange: true, Tunables: map[string]string{
		"net.ipv4.tcp_rmem": "4096 131072 33554432", "net.ipv4.tcp_wmem": "4096 16384 4194304",
		"net.core.rmem_max": "4194304", "net.core.wmem_max": "4194304",
		"net.ipv4.tcp_window_scaling": "1", "net.ipv4.tcp_moderate_rcvbuf": "1", "net.ipv4.tcp_mtu_probing": "0",
		"net.ipv4.tcp_slow_start_after_idle": "1", "net.ipv4.tcp_congestion_control": "cubic",
		"net.ipv4.tcp_available_congestion_control": "reno bbr cubic", "net.ipv4.tcp_allowed_congestion_control": "reno bbr cubic",
	}}
	for i := 0; i < len(changes); i += 2 {
		h.Tunables["net.ipv4."+changes[i]] = changes[i+1]
	}
	return h
}

func between(rate unit.Rate, rtt time.Duration) *path.Estimate {
	way := path.Direction{MTU: path.MTU{Bytes: 1500, Link: 1500}, Capacity: path.Capacity{Rate: rate, Low: rate, High: rate, Method: "packet trains"}}
	return &path.Estimate{RTT: path.RTT{Min: rtt, Median: rtt, Max: rtt, Count: 10}, Forward: way, Reverse: way}
}

func found(causes ...string) *diagnose.Diagnosis {
	d := &diagnose.Diagnosis{}
	for _, c := range causes {
		d.Findings = append(d.Findings, diagnose.Finding{Cause: c, Confidence: 0.9})
	}
	d.Verdict = d.Findings[0]
	return d
}

const ms = time.Millisecond

// Whatever the verdict is, whoever reads the plan learns what helps.
func TestWords(t *testing.T) {
	for _, c := range diagnose.Causes {
		in := Input{Path: between(100*unit.Mbps, 40*ms), Direction: bulk.Forward, Sender: linux("a", "tcp_congestion_control", "bbr", "tcp_mtu_probing", "1"), Receiver: linux("b"), Diagnosis: found(c.ID)}
		p := Make(in)
		if len(p.Steps) != 0 || !slices.Contains(p.Notes, unplannable[c.ID]) {
			t.Errorf("%s: steps %v, notes %q: want no step on hosts that are right, and why", c.ID, p.Steps, p.Notes)
		}
	}
	for cause := range unplannable {
		if !diagnose.Known(cause) {
			t.Errorf("there is no cause %s", cause)
		}
	}
}

// brief is a plan in a line per change, with the prediction of each step.
func brief(p *Plan) []string {
	var out []string
	for _, s := range p.Steps {
		for _, c := range s.Changes {
			out = append(out, c.Host+" "+strings.TrimPrefix(c.Tunable, "net.")+" = "+c.To+" -> "+s.Predicted.String())
		}
	}
	return out
}

func TestMake(t *testing.T) {
	california := func() Input {
		return Input{Path: between(unit.Gbps, 150*ms), Direction: bulk.Forward, Streams: 1,
			Sender: linux("a"), Receiver: linux("b", "tcp_rmem", "4096 65536 87380"), Diagnosis: found(diagnose.ReceiverBuffer)}
	}
	for _, c := range []struct {
		name   string
		change func(*Input)
		want   []string
		note   string // must appear among the notes
	}{
		{"california to uk: receiver, then sender, then congestion control", func(*Input) {}, []string{
			"b ipv4.tcp_rmem = 4096 65536 134217728 -> 186 Mb/s", // 2.5 BDP of 18.75 MB; limited next by the send buffer
			"a ipv4.tcp_wmem = 4096 16384 67108864 -> 965 Mb/s",
			"a ipv4.tcp_congestion_control = bbr -> 965 Mb/s",
		}, "tcp_mem is left alone"},
		{"the same by the far end", func(in *Input) {
			in.Direction = bulk.Reverse
			in.Sender, in.Receiver = linux("b"), linux("a", "tcp_rmem", "4096 65536 87380")
		}, []string{
			"a ipv4.tcp_rmem = 4096 65536 134217728 -> 186 Mb/s",
			"b ipv4.tcp_wmem = 4096 16384 67108864 -> 965 Mb/s",
			"b ipv4.tcp_congestion_control = bbr -> 965 Mb/s",
		}, ""},
		{"the verdict comes first", func(in *Input) { in.Diagnosis = found(diagnose.SenderBuffer) }, []string{
			"a ipv4.tcp_wmem = 4096 16384 67108864 -> 2.33 Mb/s",
			"b ipv4.tcp_rmem = 4096 65536 134217728 -> 965 Mb/s",
			"a ipv4.tcp_congestion_control = bbr -> 965 Mb/s",
		}, ""},
		{"a BBR sender keeps three windows", func(in *Input) {
			in.Sender = linux("a", "tcp_congestion_control", "bbr")
			in.Path = between(unit.Gbps, 100*ms) // BDP 12.5 MB: 25 for CUBIC, 37.5 for BBR
		}, []string{
			"b ipv4.tcp_rmem = 4096 65536 67108864 -> 280 Mb/s",
			"a ipv4.tcp_wmem = 4096 16384 67108864 -> 965 Mb/s",
		}, ""},
		{"a short path gets this kernel's default, not less", func(in *Input) {
			in.Path = between(unit.Gbps, 150*time.Microsecond)
			in.Receiver = linux("b", "tcp_rmem", "4096 24576 24576")
		}, []string{"b ipv4.tcp_rmem = 4096 24576 33554432 -> 965 Mb/s"}, ""},
		{"enough is left alone, also below the default", func(in *Input) {
			in.Path = between(unit.Gbps, 150*time.Microsecond)
			in.Receiver = linux("b", "tcp_rmem", "4096 131072 16777216")
		}, nil, ""},
		{"just enough is left alone, also below the default", func(in *Input) {
			in.Path = between(unit.Gbps, 150*time.Microsecond)
			in.Receiver = linux("b", "tcp_rmem", "4096 24576 262144")
		}, nil, ""},
		{"an old kernel's short path gets what it needs", func(in *Input) {
			in.Path = between(unit.Gbps, ms)
			in.Receiver = linux("b", "tcp_rmem", "4096 24576 24576")
			in.Receiver.Version = "2.4.37"
		}, []string{"b ipv4.tcp_rmem = 4096 24576 524288 -> 965 Mb/s"}, ""},
		{"small memory", func(in *Input) {
			in.Receiver.Memory = 1 << 30
			in.Sender = nil
		}, []string{"b ipv4.tcp_rmem = 4096 65536 33554432 -> 895 Mb/s"}, "small part of its 1 GiB"},
		{"more than memory allows already", func(in *Input) {
			in.Receiver = linux("b", "tcp_rmem", "4096 65536 41943040")
			in.Receiver.Memory, in.Sender = 1<<30, nil
		}, nil, "stays at 40 MiB instead of 128 MiB"},
		{"as much as memory allows already", func(in *Input) {
			in.Receiver = linux("b", "tcp_rmem", "4096 65536 33554432")
			in.Receiver.Memory, in.Sender = 1<<30, nil
		}, nil, "stays at 32 MiB instead of 128 MiB"},
		{"a lowered tcp_mem", func(in *Input) {
			in.Receiver = linux("b", "tcp_rmem", "4096 65536 87380", "tcp_mem", "1000 2000 3000")
			in.Receiver.Memory, in.Sender = 1<<30, nil
		}, []string{"b ipv4.tcp_rmem = 4096 65536 8388608 -> 224 Mb/s"}, "small part"},
		{"ten streams share the path", func(in *Input) {
			in.Streams = 10
			in.Sender = linux("a", "tcp_wmem", "4096 16384 1048576")
		}, []string{
			"b ipv4.tcp_rmem = 4096 65536 33554432 -> 466 Mb/s",
			"a ipv4.tcp_wmem = 4096 16384 4194304 -> 965 Mb/s",
		}, ""},
		{"healthy", func(in *Input) { in.Diagnosis = found(diagnose.Healthy) }, nil, "what the path can carry"},
		{"a router is not tuned", func(in *Input) { in.Receiver.Forwards = true }, []string{
			"a ipv4.tcp_wmem = 4096 16384 67108864 -> 965 Mb/s", "a ipv4.tcp_congestion_control = bbr -> 965 Mb/s",
		}, "b routes packets"},
		{"the far end does not tell", func(in *Input) { in.Receiver = nil }, []string{
			"a ipv4.tcp_wmem = 4096 16384 67108864 -> 965 Mb/s", "a ipv4.tcp_congestion_control = bbr -> 965 Mb/s",
		}, "receiver's settings are not known"},
		{"an unknown system", func(in *Input) { in.Sender, in.Receiver.OS = nil, "plan9" }, nil, "no rules"},
		{"capacity assumed: no predictions", func(in *Input) {
			in.Path.Forward.Capacity = path.Capacity{Rate: path.AssumedRate, Assumed: true}
		}, []string{"b ipv4.tcp_rmem = 4096 65536 33554432 -> 0 b/s"}, "assumes 100 Mb/s"},
		{"an uncertain capacity is planned by its high end", func(in *Input) {
			in.Path = between(unit.Gbps, 100*ms)
			in.Path.Forward.Capacity.High = 1.5 * unit.Gbps
			in.Sender = nil
		}, []string{"b ipv4.tcp_rmem = 4096 65536 134217728 -> 965 Mb/s"}, ""},
		{"no window scale", func(in *Input) {
			in.Diagnosis = found(diagnose.WindowScale)
			in.Receiver = linux("b", "tcp_window_scaling", "0")
			in.Path = between(100*unit.Mbps, 40*ms)
		}, []string{"b ipv4.tcp_window_scaling = 1 -> 96.5 Mb/s"}, ""},
		{"no autotuning", func(in *Input) {
			in.Receiver = linux("b", "tcp_moderate_rcvbuf", "0")
			in.Path = between(100*unit.Mbps, 40*ms)
			in.Sender = linux("a", "tcp_wmem", "4096 16384 131072")
		}, []string{"b ipv4.tcp_moderate_rcvbuf = 1 -> 21.8 Mb/s", "a ipv4.tcp_wmem = 4096 16384 4194304 -> 96.5 Mb/s"}, ""},
		{"no autotuning, and the sender first: every receive buffer keeps its default until then", func(in *Input) {
			in.Diagnosis = found(diagnose.SenderBuffer)
			in.Receiver = linux("b", "tcp_moderate_rcvbuf", "0")
			in.Path = between(100*unit.Mbps, 40*ms)
			in.Sender = linux("a", "tcp_wmem", "4096 16384 131072")
		}, []string{"a ipv4.tcp_wmem = 4096 16384 4194304 -> 13.1 Mb/s", "b ipv4.tcp_moderate_rcvbuf = 1 -> 96.5 Mb/s"}, ""},
		{"a kernel that tunes, of which the switch is not known", func(in *Input) {
			in.Sender = nil
			delete(in.Receiver.Tunables, "net.ipv4.tcp_moderate_rcvbuf")
		}, []string{"b ipv4.tcp_rmem = 4096 65536 134217728 -> 965 Mb/s"}, ""},
		{"a kernel that does not tune: every connection keeps the second value", func(in *Input) {
			in.Path, in.Sender, in.Receiver = between(unit.Gbps, ms), nil, untuned("4096 24576 24576")
		}, []string{"b ipv4.tcp_rmem = 4096 524288 524288 -> 965 Mb/s"}, "Every connection of b may take 512 KiB then: say how many it serves at once"},
		{"the same, and its memory is not known", func(in *Input) {
			in.Path, in.Sender, in.Receiver = between(unit.Gbps, ms), nil, untuned("4096 24576 24576")
			in.Receiver.Memory = 0
		}, []string{"b ipv4.tcp_rmem = 4096 524288 524288 -> 965 Mb/s"}, ""},
		{"loss bounds what larger buffers bring, until the congestion control is another one", func(in *Input) {
			in.Path = between(100*unit.Mbps, 40*ms)
			in.Diagnosis = found(diagnose.ReceiverBuffer, diagnose.RandomLoss)
			in.Diagnosis.Findings[1].LossLimit = 50 * unit.Mbps
		}, []string{"b ipv4.tcp_rmem = 4096 65536 33554432 -> 50 Mb/s", "a ipv4.tcp_congestion_control = bbr -> 96.5 Mb/s"}, ""},
		{"random loss: BBR first", func(in *Input) {
			in.Path = between(100*unit.Mbps, 40*ms)
			in.Receiver = linux("b", "tcp_rmem", "4096 65536 87380")
			in.Diagnosis = found(diagnose.RandomLoss)
		}, []string{"a ipv4.tcp_congestion_control = bbr -> 8.74 Mb/s", "b ipv4.tcp_rmem = 4096 65536 33554432 -> 96.5 Mb/s"}, ""},
		{"BBR is not loaded", func(in *Input) {
			in.Path, in.Receiver = between(100*unit.Mbps, 40*ms), linux("b")
			in.Diagnosis, in.Sender = found(diagnose.RandomLoss), linux("a", "tcp_available_congestion_control", "reno cubic")
		}, nil, "modprobe tcp_bbr"},
		{"BBR is not allowed in this namespace", func(in *Input) {
			in.Path, in.Receiver = between(100*unit.Mbps, 40*ms), linux("b")
			in.Diagnosis, in.Sender = found(diagnose.RandomLoss), linux("a", "tcp_allowed_congestion_control", "reno cubic")
			in.Sender.ReadOnly = []string{"net.core.rmem_max"}
		}, nil, "allows only: reno cubic"},
		{"a shallow queue: pacing, which BBR does", func(in *Input) {
			in.Path, in.Receiver = between(100*unit.Mbps, 40*ms), linux("b")
			in.Diagnosis = found(diagnose.ShallowQueue)
		}, []string{"a ipv4.tcp_congestion_control = bbr -> 96.5 Mb/s"}, ""},
		{"a shallow queue, and BBR is there already", func(in *Input) {
			in.Path, in.Receiver, in.Sender = between(100*unit.Mbps, 40*ms), linux("b"), linux("a", "tcp_congestion_control", "bbr")
			in.Diagnosis = found(diagnose.ShallowQueue)
		}, nil, "fq queueing discipline"},
		{"a policer", func(in *Input) {
			in.Path, in.Receiver = between(100*unit.Mbps, 40*ms), linux("b")
			in.Diagnosis = found(diagnose.Policer)
		}, []string{"a ipv4.tcp_congestion_control = bbr -> 96.5 Mb/s"}, ""},
		{"a full queue does not get larger buffers", func(in *Input) { in.Diagnosis = found(diagnose.Bufferbloat) }, nil, "fq_codel"},
		{"others' share is not taken", func(in *Input) { in.Diagnosis = found(diagnose.CompetingTraffic) }, nil, "that others have a right to"},
		{"what no tunable changes", func(in *Input) {
			in.Path, in.Receiver = between(100*unit.Mbps, 40*ms), linux("b")
			in.Diagnosis = found(diagnose.ApplicationWindow)
		}, nil, "HPN-SSH"},
		{"large packets vanish, as the transfer showed", func(in *Input) {
			in.Path, in.Receiver = between(100*unit.Mbps, 40*ms), linux("b")
			in.Diagnosis = found(diagnose.MTUBlackHole)
		}, []string{"a ipv4.tcp_mtu_probing = 1 -> 96.5 Mb/s"}, ""},
		{"large packets vanish", func(in *Input) {
			in.Path, in.Receiver = between(100*unit.Mbps, 40*ms), linux("b")
			in.Path.Forward.MTU.BlackHole, in.Path.Forward.MTU.Note = true, "packets above 1400 bytes vanish without an ICMP error"
		}, []string{"a ipv4.tcp_mtu_probing = 1 -> 96.5 Mb/s"}, ""},
		{"whether jumbo frames pass is not known", func(in *Input) {
			in.Path, in.Receiver = between(100*unit.Mbps, 40*ms), linux("b")
			in.Path.Forward.MTU = path.MTU{Link: 9000}
		}, []string{"a ipv4.tcp_mtu_probing = 1 -> 96.5 Mb/s"}, ""},
		{"jumbo frames pass", func(in *Input) {
			in.Path, in.Receiver = between(100*unit.Mbps, 40*ms), linux("b")
			in.Path.Forward.MTU = path.MTU{Link: 9000, Bytes: 9000}
		}, nil, ""},
		{"whether usual packets pass is not known, but they do", func(in *Input) {
			in.Path, in.Receiver = between(100*unit.Mbps, 40*ms), linux("b")
			in.Path.Forward.MTU = path.MTU{Link: 1500}
		}, nil, ""},
		{"a known limit of packet size needs no probing", func(in *Input) {
			in.Path, in.Receiver = between(100*unit.Mbps, 40*ms), linux("b")
			in.Path.Forward.MTU.Note = "the kernel knows of the limit, by an ICMP error or from its routes"
		}, nil, ""},
		{"everything is right already", func(in *Input) {
			in.Path, in.Receiver = between(100*unit.Mbps, 40*ms), linux("b")
			in.Diagnosis = found(diagnose.Unknown)
		}, nil, ""},
		{"nothing is known", func(in *Input) { *in = Input{} }, nil, "not known"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := california()
			c.change(&in)
			p := Make(in)
			if diff := cmp.Diff(c.want, brief(p), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(strings.Join(p.Notes, "\n"), c.note) {
				t.Errorf("no note says %q: %q", c.note, p.Notes)
			}
			for _, s := range p.Steps {
				if s.Idea == "" || s.Risk == "" {
					t.Errorf("step without idea or risk: %+v", s)
				}
				for _, change := range s.Changes {
					if change.Why == "" || !strings.Contains(change.Source, "https://") {
						t.Errorf("change without reason or source: %+v", change)
					}
				}
			}
		})
	}
}

// untuned is a host of a kernel that does not tune its receive buffers.
func untuned(rmem string) *host.Facts {
	h := linux("b", "tcp_rmem", rmem)
	h.Version = "2.4.10"
	delete(h.Tunables, "net.ipv4.tcp_moderate_rcvbuf")
	return h
}

// What is left alone is only spoken of where something beside it changes, and was
// set by somebody.
func TestNotesBesideBuffers(t *testing.T) {
	const portion = "net.ipv4.tcp_adv_win_scale"
	old := func(portionIs string) *host.Facts {
		h := linux("b", "tcp_rmem", "4096 65536 87380")
		h.Version = "5.15.0"
		if portionIs != "" {
			h.Tunables[portion] = portionIs
		}
		return h
	}
	for name, c := range map[string]struct {
		h    *host.Facts
		says string
		want bool
	}{
		"a share of the buffer that somebody set": {old("-2"), portion + " is -2 on b and is left alone", true},
		"the usual share":                         {old("1"), portion, false},
		"a share that is not known":               {old(""), portion, false},
		"it bounds something else":                {old(""), "net.core.rmem_max is left alone", true},
		"nothing is raised":                       {linux("b"), "left alone", false},
		"every connection has enough already":     {untuned("4096 524288 524288"), "may take", false},
	} {
		_, notes := outcome(Input{Path: between(unit.Gbps, ms), Receiver: c.h, OneEnd: true})
		if strings.Contains(notes, c.says) != c.want {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
}

// Where a host's memory is not known, nothing is cut for it.
func TestMemoryNotKnown(t *testing.T) {
	forget := func(h *host.Facts) *host.Facts {
		h.Memory = 0
		return h
	}
	asks := &bulk.Result{Spec: bulk.Spec{RecvBuf: 16 << 20}}
	for name, c := range map[string]struct {
		in   Input
		want []string
	}{
		"what the application asks for": {Input{Path: between(unit.Gbps, 10*ms), Receiver: forget(linux("b")), Baseline: asks}, []string{"net.core.rmem_max 4194304 -> 16777216"}},
		"room for applications that ask": {Input{Path: between(unit.Gbps, 2*ms), Receiver: forget(facts(t, "solaris10", "tcp_max_buf", "65536", "tcp_cwnd_max", "65536"))},
			[]string{"tcp_max_buf 65536 -> 4194304", "tcp_cwnd_max 65536 -> 1048576", "tcp_recv_hiwat 49152 -> 1048576"}},
		"the limit of all sockets": {Input{Path: between(unit.Gbps, 67*ms), Receiver: forget(facts(t, "macos10.5"))},
			[]string{"kern.ipc.maxsockbuf 8388608 -> 67107840", "net.inet.tcp.recvspace 556032 -> 33553920"}},
	} {
		c.in.OneEnd = true
		if got, notes := outcome(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q; notes %s", name, got, c.want, notes)
		}
	}
	in := Input{Path: between(unit.Gbps, 10*ms), Receiver: forget(linux("b"))}
	step := Step{Changes: []Change{{Host: "b", Tunable: rmem, From: "4096 131072 4194304", To: "4096 131072 8388608"}}}
	if next := Double(step, in); next == nil || next.Changes[0].To != "4096 131072 16777216" {
		t.Errorf("doubled: %+v", next)
	}
	for _, c := range []struct {
		h    *host.Facts
		want unit.Size
	}{
		{&host.Facts{OS: "linux", Version: "6.18"}, 32 * unit.MiB},
		{&host.Facts{OS: "linux", Version: "6.18", Memory: 64 << 20}, 512 * unit.KiB}, // the kernel gives 1/128
		{&host.Facts{OS: "freebsd", Version: "14", Memory: 64 << 20}, 2 * unit.MiB},   // these do not go by memory
		{&host.Facts{OS: "freebsd", Version: "14"}, 2 * unit.MiB},
	} {
		name := map[string]string{"linux": rmem, "freebsd": "net.inet.tcp.recvbuf_max"}[c.h.OS]
		if got := defaultMax(c.h, name); got != c.want {
			t.Errorf("default of %s on %+v: %v, want %v", name, c.h, got, c.want)
		}
	}
}

// All buffers together may take half of what tcp_mem lets TCP have before it feels
// pressure, where an administrator lowered that.
func TestShareOfMemory(t *testing.T) {
	for pressure, want := range map[string]unit.Size{"": 32 * unit.MiB, "1000 2000 3000": 1000 * page, "1 9999999 9999999": 32 * unit.MiB, "x": 32 * unit.MiB, "1 9223372036854775807 9223372036854775807": 32 * unit.MiB} {
		h := linux("b", "tcp_mem", pressure)
		h.Memory = 1 << 30
		if got := share(h, 1); got != want {
			t.Errorf("tcp_mem %q: %v, want %v", pressure, got, want)
		}
		if got := share(h, 10); got != want/10 {
			t.Errorf("tcp_mem %q, ten connections: %v, want %v", pressure, got, want/10)
		}
	}
}

// A step that was tried without effect is not planned again, and no other one counts
// on what it changes; with another value, or on the other host, it was not tried.
func TestTried(t *testing.T) {
	in := Input{Path: between(unit.Gbps, 150*ms), Direction: bulk.Forward, Sender: linux("a"), Receiver: linux("b", "tcp_rmem", "4096 65536 87380"), Diagnosis: found(diagnose.ReceiverBuffer)}
	all := Make(in).Steps
	if len(all) < 2 {
		t.Fatalf("steps: %+v", all)
	}
	other := func(change func(*Change)) Step {
		c := all[0].Changes[0]
		change(&c)
		return Step{Changes: []Change{c}}
	}
	both := Step{Changes: append(slices.Clone(all[0].Changes), all[1].Changes...)}
	for name, c := range map[string]struct {
		tried []Step
		left  []Step
	}{
		"nothing":                       {nil, all},
		"the first step":                {all[:1], all[1:]},
		"the second step":               {all[1:2], append(slices.Clone(all[:1]), all[2:]...)},
		"the first two together":        {[]Step{both}, all[2:]},
		"the first with another value":  {[]Step{other(func(c *Change) { c.To = "4096 65536 1048576" })}, all},
		"the same at the other end":     {[]Step{other(func(c *Change) { c.Role, c.Host = Sender, "a" })}, all},
		"another one of the same value": {[]Step{other(func(c *Change) { c.Tunable = wmem })}, all},
	} {
		in.Tried = c.tried
		ideas := func(steps []Step) (out []string) {
			for _, s := range steps {
				out = append(out, s.Idea)
			}
			return out
		}
		if diff := cmp.Diff(ideas(c.left), ideas(Make(in).Steps), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("tried %s: %s", name, diff)
		}
	}
}

// What the baseline saw refines the plan.
func TestBaseline(t *testing.T) {
	baseline := func(rtt time.Duration, window, buffer int, congestion string, spec bulk.Spec) *bulk.Result {
		r := &bulk.Result{Spec: spec}
		sample := bulk.Sample{TCP: bulk.TCPInfo{RTT: uint32(rtt.Microseconds()), SndWnd: uint32(window), RTO: 200000, LastDataSent: 900}}
		r.Client.Streams = []bulk.Stream{{Sender: true, Congestion: congestion, Samples: []bulk.Sample{sample}}}
		r.Server.Streams = []bulk.Stream{{RecvBuf: buffer, Samples: []bulk.Sample{sample}}}
		return r
	}
	for _, c := range []struct {
		name     string
		path     *path.Estimate
		baseline *bulk.Result
		verdict  string
		want     []string
		note     string
	}{
		{"loaded round trip, at most twice the idle one", between(unit.Gbps, 60*ms), baseline(600*ms, 1<<20, 2<<20, "cubic", bulk.Spec{}), diagnose.ReceiverBuffer,
			[]string{"b ipv4.tcp_rmem = 4096 65536 67108864 -> 233 Mb/s", "a ipv4.tcp_wmem = 4096 16384 67108864 -> 965 Mb/s", "a ipv4.tcp_congestion_control = bbr -> 965 Mb/s"}, ""},
		{"little of the buffer becomes window: eight BDP", between(unit.Gbps, 100*ms), baseline(100*ms, 1<<20, 8<<20, "bbr", bulk.Spec{}), diagnose.ReceiverBuffer,
			[]string{"b ipv4.tcp_rmem = 4096 65536 134217728 -> 280 Mb/s", "a ipv4.tcp_wmem = 4096 16384 67108864 -> 965 Mb/s"}, ""},
		{"the application sets SO_RCVBUF", between(100*unit.Mbps, 40*ms), baseline(40*ms, 1<<20, 8<<20, "cubic", bulk.Spec{RecvBuf: 16 << 20}), diagnose.ReceiverBuffer,
			[]string{"b core.rmem_max = 16777216 -> 96.5 Mb/s"}, "leave it alone"},
		{"a route chooses the congestion control", between(100*unit.Mbps, 40*ms), baseline(40*ms, 1<<20, 2<<20, "reno", bulk.Spec{}), diagnose.RandomLoss,
			[]string{"b ipv4.tcp_rmem = 4096 65536 33554432 -> 96.5 Mb/s"}, "the application or a route chooses"},
		{"the application pauses", between(100*unit.Mbps, 40*ms), baseline(40*ms, 1<<20, 2<<20, "cubic", bulk.Spec{}), diagnose.SlowSender,
			[]string{"b ipv4.tcp_rmem = 4096 65536 33554432 -> 96.5 Mb/s", "a ipv4.tcp_slow_start_after_idle = 0 -> 96.5 Mb/s"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Make(Input{Path: c.path, Direction: bulk.Forward, Baseline: c.baseline, Diagnosis: found(c.verdict),
				Sender: linux("a"), Receiver: linux("b", "tcp_rmem", "4096 65536 87380")})
			if diff := cmp.Diff(c.want, brief(p)); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(strings.Join(p.Notes, "\n"), c.note) {
				t.Errorf("no note says %q: %q", c.note, p.Notes)
			}
		})
	}
}

// What was reached before is not lost by lifting a limit, however low the
// estimate of the next one is.
func TestPredictsNoLessThanWasReached(t *testing.T) {
	in := Input{Path: between(unit.Gbps, 150*ms), Direction: bulk.Forward, Sender: linux("a", "tcp_wmem", "4096 16384 131072"),
		Receiver: linux("b", "tcp_rmem", "4096 65536 87380"), Diagnosis: found(diagnose.ReceiverBuffer), Baseline: &bulk.Result{}}
	in.Baseline.Server.Streams = []bulk.Stream{{Bytes: 10e6, Elapsed: 8 * time.Second}}
	if p := Make(in); len(p.Steps) == 0 || p.Steps[0].Predicted != 10*unit.Mbps {
		t.Errorf("plan: %q, 10 Mb/s was reached", brief(p))
	}
}

func TestDouble(t *testing.T) {
	in := Input{Path: between(unit.Gbps, 150*ms), Direction: bulk.Forward, Sender: linux("a"), Receiver: linux("b", "tcp_rmem", "4096 65536 87380"), Diagnosis: found(diagnose.ReceiverBuffer)}
	in.Receiver.Memory = 8 << 30 // at most 256 MiB
	var sizes []string
	step := &Make(in).Steps[0]
	for step != nil {
		sizes = append(sizes, step.Changes[0].To)
		next := Double(*step, in)
		if next != nil && next.Changes[0].From != step.Changes[0].To {
			t.Errorf("doubling starts at %s, not at %s", next.Changes[0].From, step.Changes[0].To)
		}
		step = next
	}
	if diff := cmp.Diff([]string{"4096 65536 134217728", "4096 65536 268435456"}, sizes); diff != "" {
		t.Error(diff)
	}
	for _, c := range []Change{
		{Host: "a", Tunable: "net.ipv4.tcp_congestion_control", To: "bbr"}, {Host: "a", Tunable: "net.ipv4.tcp_mtu_probing", To: "1"},
		{Host: "a", Tunable: wmem, From: "1", To: "no numbers"}, {Host: "a", Tunable: wmem, From: "1", To: "0"},
	} {
		if next := Double(Step{Changes: []Change{c}}, in); next != nil {
			t.Errorf("there is nothing to double in %+v: %+v", c, next)
		}
	}
	if next := Double(Step{Changes: []Change{{Host: "c", Tunable: "net.ipv4.tcp_rmem", To: "1 2 3"}}}, in); next != nil {
		t.Errorf("nothing is known of c: %+v", next)
	}
}

// Sizes are doubled up to the largest there is, and who reads it learns what was
// doubled; a switch beside them is not touched again.
func TestDoubleSays(t *testing.T) {
	h := linux("b")
	h.Memory = 1 << 40
	in := Input{Receiver: h}
	change := func(name, from, to string) Change { return Change{Host: "b", Tunable: name, From: from, To: to} }
	for _, c := range []struct {
		step Step
		want []string // value, reason
	}{
		{Step{Changes: []Change{change(rmem, "1 2 3", "4096 131072 67108864"), change(moderate, "0", "1")}}, []string{"4096 131072 134217728", "64 MiB helped, so twice as much may help more"}},
		{Step{Changes: []Change{change(rmem, "1 2 3", "4096 131072 1073741822")}}, []string{"4096 131072 2147483644", "1024 MiB helped, so twice as much may help more"}},
		{Step{Changes: []Change{change(rmem, "1 2 3", "4096 131072 1073741823")}}, []string{"4096 131072 2147483647", "1024 MiB helped, so twice as much may help more"}},
		{Step{Changes: []Change{change("net.core.netdev_max_backlog", "1000", "2000")}}, []string{"4000", "2000 packets helped, so twice as much may help more"}},
	} {
		next := Double(c.step, in)
		if next == nil || len(next.Changes) != 1 || next.Changes[0].To != c.want[0] || next.Changes[0].Why != c.want[1] {
			t.Errorf("%+v doubled: %+v", c.step.Changes[0], next)
		}
	}
}

// Whose a change is, goes by its role; where that is not known, by the host's name.
func TestHostOf(t *testing.T) {
	in := Input{Sender: linux("a"), Receiver: linux("b")}
	one := Input{Receiver: linux("b")}
	for _, c := range []struct {
		in   Input
		c    Change
		want *host.Facts
	}{
		{in, Change{Role: Receiver, Host: "a"}, in.Receiver},
		{in, Change{Host: "a"}, in.Sender},
		{in, Change{Host: "b"}, in.Receiver},
		{in, Change{Host: "c"}, nil},
		{one, Change{Host: "b"}, one.Receiver},
		{one, Change{Role: Sender, Host: "b"}, nil},
	} {
		if got := c.in.HostOf(c.c); got != c.want {
			t.Errorf("%+v: %+v", c.c, got)
		}
	}
	// One that is both ends is the sender.
	for h, want := range map[*host.Facts]Role{in.Sender: Sender, in.Receiver: Receiver} {
		if got := in.roleOf(h); got != want {
			t.Errorf("%s: %s, want %s", h.Name, got, want)
		}
		if got := (&Input{Sender: h, Receiver: h}).roleOf(h); got != Sender {
			t.Errorf("%s is both ends: %s", h.Name, got)
		}
	}
	for _, c := range []struct {
		a, b Change
		want bool
	}{
		{Change{Role: Sender, Host: "a"}, Change{Role: Sender, Host: "b"}, true},
		{Change{Role: Sender, Host: "a"}, Change{Role: Receiver, Host: "a"}, false},
		{Change{Role: Sender, Host: "a"}, Change{Host: "a"}, true},
		{Change{Role: Sender, Host: "a"}, Change{Host: "b"}, false},
		{Change{Host: "a"}, Change{Host: "a"}, true},
	} {
		if c.a.onHostOf(c.b) != c.want || c.b.onHostOf(c.a) != c.want {
			t.Errorf("%+v, %+v: want %v", c.a, c.b, c.want)
		}
	}
}

func TestWriteText(t *testing.T) {
	p := &Plan{Steps: []Step{{Idea: "let the receiver's window grow", Predicted: 965 * unit.Mbps, Risk: "memory", Changes: []Change{
		{Host: "b", Tunable: "net.ipv4.tcp_rmem", From: "4096 65536 87380", To: "4096 65536 67108864", Why: "the path holds \x1b[31m17.9 MiB", Source: "Linux ip-sysctl, https://docs.kernel.org"}}}},
		Notes: []string{"net.ipv4.tcp_mem is left alone."}}
	var text bytes.Buffer
	if err := WriteText(&text, p); err != nil {
		t.Fatal(err)
	}
	want := `1. let the receiver's window grow (predicted: 965 Mb/s)
   b: net.ipv4.tcp_rmem
      from  4096 65536 87380
      to    4096 65536 67108864
      why   the path holds [31m17.9 MiB
      see   Linux ip-sysctl, https://docs.kernel.org
   Risk: memory

Notes:
- net.ipv4.tcp_mem is left alone.
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
	text.Reset()
	if err := WriteText(&text, &Plan{Steps: []Step{{Idea: "nobody knows what this brings"}}}); err != nil || text.String() != "1. nobody knows what this brings\n" {
		t.Errorf("%q, error %v: want neither prediction nor risk", text.String(), err)
	}
}

// Whatever the hosts and the path are, a plan never lowers, stays in range, in
// order and within memory, and has nothing left to do once it is carried out.
func TestPlanProperties(t *testing.T) {
	size := rapid.Int64Range(1, 1<<31-1)
	anyHost := func(t *rapid.T, name string) *host.Facts {
		if rapid.IntRange(0, 9).Draw(t, name+" unknown") == 0 {
			return nil
		}
		h := linux(name)
		h.Memory = rapid.SampledFrom([]int64{0, 64 << 20, 1 << 30, 24 << 30, 4 << 40}).Draw(t, name+" memory")
		h.Version = rapid.SampledFrom([]string{"2.4.37", "3.10.0", "5.15.0-91-generic", "6.18.44", "odd"}).Draw(t, name+" version")
		h.Forwards = rapid.IntRange(0, 9).Draw(t, name+" forwards") == 0
		for _, key := range []string{"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"} {
			h.Tunables[key] = rapid.SampledFrom([]string{"", "4096 65536 87380", "8388608 131072 4096", "no numbers here", "1 2", "4096 87380 2147483647"}).Draw(t, name+key)
			if rapid.Bool().Draw(t, name+key+" plain") {
				h.Tunables[key] = "4096 16384 " + fmt.Sprint(max(16384, size.Draw(t, name+key+" max")))
			}
		}
		for _, key := range []string{"tcp_window_scaling", "tcp_moderate_rcvbuf", "tcp_mtu_probing"} {
			h.Tunables["net.ipv4."+key] = rapid.SampledFrom([]string{"0", "1"}).Draw(t, name+key)
		}
		h.Tunables["net.ipv4.tcp_congestion_control"] = rapid.SampledFrom([]string{"cubic", "reno", "bbr"}).Draw(t, name+" cc")
		if rapid.Bool().Draw(t, name+" has tcp_mem") {
			h.Tunables["net.ipv4.tcp_mem"] = rapid.SampledFrom([]string{"1 2 3", "287901 383868 575802", "x"}).Draw(t, name+" tcp_mem")
		}
		if rapid.Bool().Draw(t, name+" inner") {
			h.ReadOnly = []string{"net.core.rmem_max", "net.core.wmem_max"}
		}
		return h
	}
	rapid.Check(t, func(t *rapid.T) {
		in := Input{Direction: bulk.Forward, Streams: rapid.IntRange(0, 128).Draw(t, "streams"), Sender: anyHost(t, "a"), Receiver: anyHost(t, "b")}
		in.Path = between(unit.Rate(rapid.Float64Range(0, 1e12).Draw(t, "rate")), time.Duration(rapid.Int64Range(0, 2e9).Draw(t, "rtt")))
		in.Path.Forward.Capacity.Assumed = rapid.Bool().Draw(t, "assumed")
		in.Path.Forward.MTU.BlackHole = rapid.Bool().Draw(t, "black hole")
		if c := rapid.SampledFrom(diagnose.Causes).Draw(t, "verdict"); rapid.Bool().Draw(t, "diagnosed") {
			in.Diagnosis = found(c.ID)
		}
		p := Make(in)
		for _, s := range p.Steps {
			if len(s.Changes) == 0 || s.Predicted < 0 {
				t.Fatalf("empty step: %+v", s)
			}
			for _, c := range s.Changes {
				h := in.HostOf(c)
				entry, ok := tunable.Lookup("linux", c.Tunable)
				switch {
				case !ok || h == nil || h.Forwards:
					t.Fatalf("change where there must be none: %+v", c)
				case c.From == c.To || c.From != tunable.Normalise(h.Tunables[c.Tunable]):
					t.Fatalf("not a change from what the host has: %+v", c)
				case entry.Check(c.To) != nil:
					t.Fatalf("out of range or order: %v", entry.Check(c.To))
				case entry.Rising && tunable.Lowers(c.From, c.To):
					t.Fatalf("lowers: %+v", c)
				}
				if bound := memoryBound(h, in.Streams); entry.Kind == tunable.Triplet && bound > 0 && unit.Size(number(c.To, 2)) > max(bound, unit.Size(number(c.From, 0)), unit.Size(number(c.From, 1))) {
					t.Fatalf("%v is more than %v of memory allow: %+v", unit.Size(number(c.To, 2)), bound, c)
				}
				h.Tunables[c.Tunable] = c.To
			}
			for next := Double(s, in); next != nil; next = Double(*next, in) {
				for i, c := range next.Changes {
					h := in.HostOf(c)
					bound := memoryBound(h, in.Streams)
					if to := unit.Size(number(c.To, len(strings.Fields(c.To))-1)); tunable.Lowers(c.From, c.To) || to > mostBuffer || bound > 0 && to > bound {
						t.Fatalf("doubling %d goes too far: %+v", i, c)
					}
				}
			}
		}
		if again := Make(in); len(again.Steps) != 0 {
			t.Fatalf("carried out, the plan still has steps: %+v", again.Steps)
		}
	})
}

// What is planned goes by what the sender's connections use: as the transfer shows,
// else by what the route to the receiver says, and only then by the host's default.
func TestCongestionInUse(t *testing.T) {
	const route = "route.congctl@198.18.0.0/15"
	for name, test := range map[string]struct {
		route, stream, want string
	}{
		"a route, and no transfer":                    {"cubic", "", "cubic"},
		"a route, and a transfer that went otherwise": {"cubic", "reno", "reno"},
		"no route, and a transfer":                    {"", "reno", "reno"},
		"neither":                                     {"", "", "bbr"},
	} {
		sender := linux("a", "tcp_congestion_control", "bbr", "tcp_wmem", "4096 16384 1048576")
		if test.route != "" {
			sender.Tunables[route] = test.route
		}
		// With and without a transfer of which the sender did not tell.
		for _, baseline := range []*bulk.Result{nil, {Client: bulk.End{Streams: []bulk.Stream{{ID: 1, Sender: true, Remote: "198.18.0.2:5201"}}}}} {
			if test.stream != "" {
				baseline = &bulk.Result{Client: bulk.End{Streams: []bulk.Stream{{ID: 1, Sender: true, Remote: "198.18.0.2:5201", Congestion: test.stream}}}}
			}
			p := Make(Input{Path: between(unit.Gbps, 10*ms), Direction: bulk.Forward, Sender: sender, Receiver: linux("b"), Baseline: baseline, Diagnosis: found(diagnose.SenderBuffer)})
			text := fmt.Sprint(p.Steps)
			if want := "for sending with " + test.want; !strings.Contains(text, want) {
				t.Errorf("%s: want %q in %s", name, want, text)
			}
		}
	}
}
