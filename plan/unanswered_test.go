package plan

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/host/collector"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

func assume(t testing.TB, system string) *host.Facts {
	t.Helper()
	h, err := collector.Assume(system, 64<<30)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// others are a version of each system but Linux, old and new.
var others = []string{
	"solaris8", "solaris9", "solaris10", "solaris11", "illumos", "macos10.1", "macos10.4", "macos10.5", "macos10.7", "macos10.9", "macos15",
	"freebsd10", "freebsd15", "windows2000", "windowsxp", "windows2003", "windows2008", "windows2012r2", "windows2025",
}

// onlyLinux is what only Linux has.
var onlyLinux = regexp.MustCompile(`net\.(ipv4|core)|tcp_[rw]?mem\b|ethtool|modprobe|\btc -s|fq_codel|\bfq\b|mem_max|Linux|/proc`)

// A buffer of Solaris that is doubled has no effect unless the limits above it
// are raised with it, also where the first step did not have to.
func TestDoubleSolaris(t *testing.T) {
	for system, want := range map[string][]string{
		"solaris10": {"tcp_max_buf = 4194304", "tcp_cwnd_max = 2097152", "tcp_recv_hiwat = 2097152"},
		"illumos":   {"max_buf = 4194304", "_cwnd_max = 2097152", "recv_buf = 2097152"},
	} {
		h := assume(t, system)
		n := namesOf(h)
		h.Tunables[n.most] = "2097152"
		step := Step{Changes: []Change{
			{Host: h.Name, Tunable: n.most, From: "1048576", To: "2097152"},
			{Host: h.Name, Tunable: n.receive, From: "49152", To: "1048576"},
		}}
		next := Double(step, Input{Receiver: h})
		if next == nil {
			t.Fatalf("%s: nothing is doubled", system)
		}
		if diff := cmp.Diff(want, values(next.Changes)); diff != "" {
			t.Errorf("%s: %s", system, diff)
		}
		step.Changes[1].To = "262144" // its double is within the window that is there
		if next := Double(Step{Changes: step.Changes[1:]}, Input{Receiver: h}); next == nil || len(next.Changes) != 1 {
			t.Errorf("%s: doubled to %+v", system, next)
		}
	}
}

// The same for what is sent; and a limit that is far enough above, or that the host
// does not have, is left alone.
func TestDoubleSolarisSender(t *testing.T) {
	for _, c := range []struct {
		most, cwnd string // "": the host does not have it
		want       []string
	}{
		{"1048576", "1048576", []string{"max_buf = 2097152", "_cwnd_max = 2097152", "send_buf = 2097152"}},
		{"2097152", "1048576", []string{"_cwnd_max = 2097152", "send_buf = 2097152"}},
		{"4194304", "2097152", []string{"send_buf = 2097152"}},
		{"4194304", "", []string{"send_buf = 2097152"}},
	} {
		h := assume(t, "illumos")
		for name, value := range map[string]string{"max_buf": c.most, "_cwnd_max": c.cwnd} {
			h.Tunables[name] = value
			if value == "" {
				delete(h.Tunables, name)
			}
		}
		next := Double(Step{Changes: []Change{{Host: h.Name, Tunable: "send_buf", From: "49152", To: "1048576"}}}, Input{Sender: h})
		if next == nil {
			t.Fatalf("%+v: nothing is doubled", c)
		}
		if diff := cmp.Diff(c.want, values(next.Changes)); diff != "" {
			t.Errorf("%+v: %s", c, diff)
		}
	}
}

// Whatever the verdict is, whoever reads a plan for another system learns what
// helps, and nothing that only Linux has.
func TestWordsElsewhere(t *testing.T) {
	for _, system := range others {
		for _, c := range diagnose.Causes {
			h := assume(t, system)
			in := Input{Path: between(100*unit.Mbps, ms), Direction: bulk.Forward, Sender: h, Receiver: h, Diagnosis: found(c.ID)}
			p := Make(in)
			if Full(c.ID) {
				continue // what it says there is about the path, not about a host
			}
			text := strings.Join(p.Notes, "\n")
			for _, s := range p.Steps {
				text += s.Idea + s.Risk
				for _, change := range s.Changes {
					text += change.Why
				}
			}
			if found := onlyLinux.FindString(text); found != "" {
				t.Errorf("%s, %s: the plan tells of %q:\n%s", system, c.ID, found, text)
			}
			if len(p.Steps) == 0 && !slices.ContainsFunc(p.Notes, func(note string) bool {
				return strings.Contains(note, "What helps") || strings.Contains(note, "does not say")
			}) {
				t.Errorf("%s, %s: no step, and no word of what helps: %q", system, c.ID, p.Notes)
			}
		}
	}
	for name, rules := range systems {
		for cause := range rules.says {
			if !diagnose.Known(cause) {
				t.Errorf("%s speaks of %s, which is no cause", name, cause)
			}
		}
	}
}

// What helps is said in the words of the host that the cause is about: of the
// receiver's buffer, programs and processors at the receiver, of all else at the
// sender, or at the only host that is known.
func TestWhoseWords(t *testing.T) {
	mac, pc := assume(t, "macos15"), assume(t, "windows2025")
	for _, c := range []struct {
		in    Input
		cause string
		want  *host.Facts
	}{
		{Input{Sender: mac, Receiver: pc}, diagnose.ReceiverBuffer, pc},
		{Input{Sender: mac, Receiver: pc}, diagnose.SlowReceiver, pc},
		{Input{Sender: mac, Receiver: pc}, diagnose.ReceiverCPU, pc},
		{Input{Sender: mac, Receiver: pc}, diagnose.SenderBuffer, mac},
		{Input{Sender: mac, Receiver: pc}, diagnose.RandomLoss, mac},
		{Input{Receiver: pc}, diagnose.SenderBuffer, pc},
		{Input{Sender: mac}, diagnose.ReceiverBuffer, mac},
		{Input{}, diagnose.ReceiverBuffer, nil},
	} {
		if got := (&maker{came: c.in}).about(c.cause); got != c.want {
			t.Errorf("%s: %+v", c.cause, got)
		}
	}
}

// Doubled until nothing grows any more, buffers stay within what bounds them: up
// to 10.5, a Mac whose space is above 8/9 of kern.ipc.maxsockbuf makes no
// connection any more.
func TestDoubleElsewhere(t *testing.T) {
	for _, system := range others {
		h := assume(t, system)
		if _, ok := h.Tunables[clusters]; ok {
			h.Tunables[clusters] = "131072"
		}
		in := Input{Path: between(unit.Gbps, 100*ms), Direction: bulk.Forward, Sender: h, Receiver: h, Workload: NFS}
		doubled := 0
		steps := Make(in).Steps
		now := clone(h)
		for _, s := range steps {
			for _, c := range s.Changes {
				now.Tunables[c.Tunable] = c.To
			}
		}
		in.Sender, in.Receiver = now, now
		for _, s := range steps {
			for step := &s; step != nil; step = Double(*step, in) {
				for _, c := range step.Changes {
					now.Tunables[c.Tunable] = c.To
				}
				for _, c := range step.Changes {
					entry, _ := tunable.Lookup(h.OS, c.Tunable)
					most := number(now.Tunables[entry.Within], 0)
					if entry.Within == maxsockbuf {
						most = most / 9 * 8
					}
					if pool := int64(macosPool(h)); c.Tunable == maxsockbuf && pool > 0 {
						most = pool
					}
					if most > 0 && number(c.To, 0) > most {
						t.Fatalf("%s: %s is %s, and %s allows %d", system, c.Tunable, c.To, entry.Within, most)
					}
				}
				doubled++
			}
		}
		if doubled == 0 && (h.OS != "windows" || inRegistry(h)) {
			t.Errorf("%s: nothing was doubled", system)
		}
	}
}

// What makes the room for another change cannot be put back alone.
func TestNeeds(t *testing.T) {
	h := &host.Facts{Name: "m", OS: "macos", Version: "15"}
	room := Change{Host: "m", Tunable: maxsockbuf, From: "9000000", To: "18000000"}
	for to, want := range map[string]bool{"7999999": false, "8000000": false, "8000001": true, "16000000": true} { // 8/9 of what was there
		buffer := Change{Host: "m", Tunable: "net.inet.tcp.autorcvbufmax", From: "4194304", To: to}
		if got := Needs(h, buffer, room); got != want {
			t.Errorf("a buffer of %s needs more room: %v, want %v", to, got, want)
		}
		if Needs(h, room, buffer) || Needs(nil, buffer, room) {
			t.Error("the limit needs nothing, and of an unknown host nothing is said")
		}
	}
}
