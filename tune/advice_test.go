package tune

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/plan/format"
	"github.com/fullbore/fullbore/unit"
)

// What the other end's administrator is told is the system's own way of setting
// each tunable, and what no command sets is told in words.
func TestAdviseStep(t *testing.T) {
	tuning := tuned(&hole{}, time.Minute)
	tuning.adviseStep(plan.Step{Idea: "try", Changes: []plan.Change{
		{Role: plan.Receiver, Host: "b", Tunable: "link.qdisc@eth0", From: "pfifo_fast", To: "fq"},
		{Role: plan.Receiver, Host: "b", Tunable: "net.ipv4.tcp_sack", From: "0", To: "1"},
		{Role: plan.Receiver, Host: "b", Tunable: "nfs.rsize@/srv", From: "65536", To: "1048576"},
		{Role: plan.Receiver, Host: "b", Tunable: "link.mtu@eth0; reboot", From: "1500", To: "9000"},
		{Role: plan.Sender, Host: "a", Tunable: "net.ipv4.tcp_sack", From: "0", To: "1"},
	}}, func(c plan.Change) bool { return c.Role == plan.Receiver })
	if len(tuning.result.Advice) != 1 {
		t.Fatalf("advice %+v", tuning.result.Advice)
	}
	a := tuning.result.Advice[0]
	want := []string{"tc qdisc replace dev eth0 root fq", "sysctl -w net.ipv4.tcp_sack='1'", "ip link set dev 'eth0; reboot' mtu 9000"}
	if !slices.Equal(a.Commands, want) || !strings.Contains(a.Says, "rsize=1048576 among the options of /srv in /etc/fstab") || a.Host != "b" {
		t.Errorf("advice %+v, want the commands %q", a, want)
	}
}

// A far end that does not report its settings is told what to raise, if the verdict
// says that it is the limit; one that does, or that is not the limit, is told nothing.
func TestAdviseUnseen(t *testing.T) {
	seen := &host.Facts{Name: "a", OS: "linux"}
	for _, test := range []struct {
		cause            string
		sender, receiver *host.Facts
		says             string
	}{
		{diagnose.ReceiverBuffer, seen, nil, "net.ipv4.tcp_rmem"},
		{diagnose.ReceiverBuffer, nil, seen, ""},
		{diagnose.SenderBuffer, nil, seen, "net.ipv4.tcp_wmem"},
		{diagnose.SenderBuffer, seen, nil, ""},
		{diagnose.ReceiverBuffer, seen, seen, ""},
		{diagnose.RandomLoss, seen, nil, ""},
	} {
		tuning := tuned(&hole{}, time.Minute)
		in := plan.Input{
			Path: plan.Given(unit.Gbps, 100*time.Millisecond, 1500), Direction: bulk.Forward,
			Sender: test.sender, Receiver: test.receiver, Diagnosis: plan.Assumed(test.cause),
		}
		receive, send := plan.Unseen(in)
		most := map[string]unit.Size{"net.ipv4.tcp_rmem": receive, "net.ipv4.tcp_wmem": send}[test.says]
		tuning.adviseUnseen(in)
		if test.says == "" {
			if len(tuning.result.Advice) > 0 {
				t.Errorf("%s, sender %v, receiver %v: %+v", test.cause, test.sender, test.receiver, tuning.result.Advice)
			}
			continue
		}
		want := []Advice{{
			Host: "b", Says: fmt.Sprintf("its buffer maximum is too small for this path: on Linux, let the third value of %s be at least %d (%s); its administrator should run", test.says, most, most),
			Commands: []string{format.RaiseUnseen(test.says, most)},
		}}
		if d := cmp.Diff(want, tuning.result.Advice); d != "" {
			t.Errorf("%s (-want +got):\n%s", test.cause, d)
		}
		dry := tuned(&hole{}, time.Minute)
		dry.adviseAll(in)
		if len(dry.result.Advice) == 0 || !cmp.Equal(dry.result.Advice[0], want[0]) {
			t.Errorf("%s: a dry run advises %+v", test.cause, dry.result.Advice)
		}
	}
}

// The same advice is given once, and to each host that it is for.
func TestAdviseOnce(t *testing.T) {
	tuning := at(&scripted{}, time.Minute)
	for _, a := range []Advice{{Host: "a", Says: "x"}, {Host: "b", Says: "x"}, {Host: "a", Says: "x"}, {Host: "a", Says: "y"}} {
		tuning.advise(a)
	}
	if d := cmp.Diff([]Advice{{Host: "a", Says: "x"}, {Host: "b", Says: "x"}, {Host: "a", Says: "y"}}, tuning.result.Advice); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Where only one of the hosts may be changed, a step is tried there, and the other's
// administrator is told the rest of it; a step that is all the other's is advice, and
// the next one is tried. A far end that reports nothing is told what it may lack.
func TestNextOfOneHost(t *testing.T) {
	step := func(changes ...plan.Change) plan.Step { return plan.Step{Idea: "grow", Changes: changes} }
	for _, test := range []struct {
		name    string
		steps   []plan.Step
		may     []string // the hosts that may be changed
		tries   []string // tunables
		advised []string // hosts
		tried   int
	}{
		{"both may", []plan.Step{step(set("a", "x", "2"), set("b", "y", "2"))}, []string{"a", "b"}, []string{"x", "y"}, nil, 1},
		{"one may", []plan.Step{step(set("a", "x", "2"), set("b", "y", "2"))}, []string{"a"}, []string{"x"}, []string{"b"}, 1},
		{"the first step is the other's", []plan.Step{step(set("b", "y", "2")), step(set("a", "x", "2"))}, []string{"a"}, []string{"x"}, []string{"b"}, 2},
		{"none may", []plan.Step{step(set("b", "y", "2")), step(set("a", "x", "2"))}, nil, nil, []string{"b", "a"}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			tuning := tuned(&hole{}, time.Minute)
			tuning.hooks.plan = func(in plan.Input) *plan.Plan { return &plan.Plan{Steps: test.steps[len(in.Tried):]} }
			for _, e := range []*end{tuning.hosts.near, tuning.hosts.far} {
				if !slices.Contains(test.may, e.name) {
					e.held.Host = nil
				}
			}
			in := plan.Input{Path: tuning.path, Direction: bulk.Forward, Sender: tuning.hosts.near.facts, Diagnosis: plan.Assumed(diagnose.ReceiverBuffer)}
			got, tried, _ := tuning.next(in, nil)
			var tries, advised []string
			if got != nil {
				for _, c := range got.Changes {
					tries = append(tries, c.Tunable)
				}
			}
			for _, a := range tuning.result.Advice[1:] {
				advised = append(advised, a.Host)
			}
			if !slices.Equal(tries, test.tries) || !slices.Equal(advised, test.advised) || len(tried) != test.tried {
				t.Errorf("tries %q, advises %q, after %d steps", tries, advised, len(tried))
			}
			if first := tuning.result.Advice[0]; first.Host != "b" || !strings.Contains(first.Says, "tcp_rmem") {
				t.Errorf("the first advice is %+v", first)
			}
		})
	}
}
