package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/host/collector"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// book is a change.Host that writes down what it is asked to do.
type book struct {
	asked []string
	fails string // the call that fails
}

func (b *book) note(format string, args ...any) error {
	line := fmt.Sprintf(format, args...)
	b.asked = append(b.asked, line)
	if b.fails != "" && strings.HasPrefix(line, b.fails) {
		return errors.New("no")
	}
	return nil
}

func (b *book) Begin(context.Context, string, time.Duration) (string, error) {
	return "1", b.note("begin")
}

func (b *book) Apply(_ context.Context, id string, settings []change.Setting) error {
	return b.note("apply %s %v", id, settings)
}

func (b *book) PutBack(_ context.Context, id string, tunables ...string) error {
	return b.note("put back %s %v", id, tunables)
}

func (b *book) Renew(_ context.Context, id string) error { return b.note("renew %s", id) }

func (b *book) Confirm(_ context.Context, id string, persist bool) error {
	return b.note("confirm %s %v", id, persist)
}

func (b *book) Revert(ctx context.Context, id string) (*change.Set, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return &change.Set{}, b.note("revert %s", id)
}

func (b *book) List(context.Context) ([]change.Set, error) { return nil, nil }

func newEnd(name string, b *book) *end {
	return &end{name: name, facts: &host.Facts{Name: name, OS: "linux"}, held: change.Held{Host: b}}
}

// set is a change of the sender a or the receiver b.
func set(host, tunable, to string) plan.Change {
	role := map[string]plan.Role{"a": plan.Sender, "b": plan.Receiver}[host]
	return plan.Change{Role: role, Host: host, Tunable: tunable, From: "1", To: to}
}

// Both hosts are brought to just what a configuration says, with no call more
// than that takes.
func TestHostsBring(t *testing.T) {
	near, far := &book{}, &book{}
	h := pair(bulk.Forward, newEnd("a", near), newEnd("b", far))
	for _, c := range []config{
		nil,
		{set("b", "rmem", "2")},
		{set("b", "rmem", "4"), set("a", "wmem", "2")},
		{set("b", "rmem", "4"), set("a", "wmem", "2")},
		{set("a", "wmem", "2")},
	} {
		if err := h.bring(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	// A host whose set stands is told so each time, or its deadline would pass.
	want := []string{"begin", "apply 1 [{wmem 2}]", "renew 1", "renew 1"}
	if d := cmp.Diff(want, near.asked); d != "" {
		t.Errorf("near host (-want +got):\n%s", d)
	}
	want = []string{"begin", "apply 1 [{rmem 2}]", "apply 1 [{rmem 4}]", "renew 1", "put back 1 [rmem]"}
	if d := cmp.Diff(want, far.asked); d != "" {
		t.Errorf("far host (-want +got):\n%s", d)
	}
}

// However a tuning ends, both hosts are dealt with, also after Ctrl-C and when
// one of them fails.
func TestHostsEnd(t *testing.T) {
	ended, stop := context.WithCancel(t.Context())
	stop()
	for _, test := range []struct {
		name      string
		kept      bool
		nearFails string
		near, far []string
	}{
		{"kept", true, "", nil, nil},
		{"interrupted", false, "", []string{"revert 1"}, []string{"revert 1"}},
		{"interrupted, and one host does not answer", false, "revert", []string{"revert 1"}, []string{"revert 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			near, far := &book{fails: test.nearFails}, &book{}
			h := pair(bulk.Forward, newEnd("a", near), newEnd("b", far))
			if err := h.bring(t.Context(), config{set("a", "wmem", "2"), set("b", "rmem", "2")}); err != nil {
				t.Fatal(err)
			}
			near.asked, far.asked = nil, nil
			if err := h.end(ended, test.kept); errors.Is(err, ErrNotUndone) != (test.nearFails != "") {
				t.Errorf("end: %v", err)
			}
			if d := cmp.Diff([][]string{test.near, test.far}, [][]string{near.asked, far.asked}); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// A set that is left empty, because nothing in it helped, is not kept.
func TestHostsEndEmpty(t *testing.T) {
	near := &book{}
	h := pair(bulk.Forward, newEnd("a", near), newEnd("b", &book{}))
	for _, c := range []config{{set("a", "wmem", "2")}, nil} {
		if err := h.bring(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.end(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if last := near.asked[len(near.asked)-1]; last != "revert 1" {
		t.Errorf("the last call is %q, want the empty set reverted", last)
	}
}

func TestConfig(t *testing.T) {
	var c config
	c = c.with([]plan.Change{{Role: plan.Receiver, Host: "b", Tunable: "rmem", From: "1", To: "2", Why: "BDP"}})
	c = c.with([]plan.Change{{Role: plan.Sender, Host: "a", Tunable: "wmem", From: "1", To: "2"}})
	c = c.with([]plan.Change{{Role: plan.Receiver, Host: "b", Tunable: "rmem", From: "2", To: "4", Why: "it helped"}})
	want := config{
		{Role: plan.Receiver, Host: "b", Tunable: "rmem", From: "1", To: "4", Why: "BDP; it helped"},
		{Role: plan.Sender, Host: "a", Tunable: "wmem", From: "1", To: "2"},
	}
	if d := cmp.Diff(want, c); d != "" {
		t.Errorf("with (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want[1:], c.without(want[0])); d != "" {
		t.Errorf("without (-want +got):\n%s", d)
	}
	if len(c) != 2 {
		t.Error("without changed the configuration that it was asked of")
	}
}

// scripted is a far end whose transfers reach what a list says, one after the other.
type scripted struct {
	Far
	rates []unit.Rate
}

func (s *scripted) Transfer(context.Context, bulk.Spec, func(bulk.Progress)) (*bulk.Result, error) {
	if len(s.rates) == 0 {
		return nil, errors.New("the path is gone")
	}
	rate := s.rates[0]
	s.rates = s.rates[1:]
	receiver := bulk.Stream{Bytes: int64(rate / 8), Elapsed: time.Second}
	return &bulk.Result{Spec: bulk.Spec{Direction: bulk.Forward, Duration: time.Second}, Server: bulk.End{Streams: []bulk.Stream{receiver}}}, nil
}

type silent struct{}

func (silent) Phase(string)           {}
func (silent) Progress(bulk.Progress) {}
func (silent) Result(string)          {}

func candidateOf(rates ...unit.Rate) *candidate {
	c := &candidate{}
	for _, r := range rates {
		c.readings = append(c.readings, reading{goodput: r})
	}
	return c
}

// at is a tuning of a path without delay, over which transfers come out as the far
// end's script says.
func at(far Far, budget time.Duration) *tuning {
	o := Options{Direction: bulk.Forward, Streams: 1, Budget: budget, Watch: silent{}}
	t := &tuning{
		o: o, path: &path.Estimate{}, meter: examine.NewMeter(far, 0, budget, silent{}),
		hosts: pair(bulk.Forward, newEnd("a", &book{}), newEnd("b", &book{})), result: &Result{}, effects: map[string]string{},
	}
	t.baseline = t.candidate(nil)
	return t
}

// A contest takes as many runs as it needs, and no more than there are.
func TestContest(t *testing.T) {
	for _, test := range []struct {
		name   string
		old    []unit.Rate // measured already
		fresh  []unit.Rate // to be measured, old ones in between
		budget time.Duration
		want   stat.Decision
		runs   int
	}{
		{"ten times as much takes one run", []unit.Rate{100, 101}, []unit.Rate{1000}, time.Hour, stat.Better, 1},
		{"a little more than three times as much, too", []unit.Rate{100, 101}, []unit.Rate{304}, time.Hour, stat.Better, 1},
		{"three times as much takes another", []unit.Rate{100, 101}, []unit.Rate{303, 304}, time.Hour, stat.Better, 2},
		{"a tenth takes two: one may be an outlier", []unit.Rate{100, 101}, []unit.Rate{10, 10}, time.Hour, stat.Worse, 2},
		{"a lone run is not enough, however steady the other side", []unit.Rate{100, 101}, []unit.Rate{200, 201}, time.Hour, stat.Better, 2},
		{"the same is found to be the same", []unit.Rate{1000, 1001}, []unit.Rate{1000, 1001}, time.Hour, stat.Same, 2},
		{"too little to matter is the same", []unit.Rate{1000, 1000.1}, []unit.Rate{1010, 1010.1}, time.Hour, stat.Same, 2},
		{"less is worse", []unit.Rate{1000, 1000.1}, []unit.Rate{900, 900.1}, time.Hour, stat.Worse, 2},
		{"one outlier does not hide a gain", []unit.Rate{204, 203}, []unit.Rate{60, 310, 309, 204}, time.Hour, stat.Better, 4},
		{"without budget nothing is decided", []unit.Rate{100, 130}, []unit.Rate{120}, 0, stat.Undecided, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			far := &scripted{rates: scale(test.fresh)}
			tuning := at(far, test.budget)
			fresh := tuning.candidate(config{set("b", "rmem", "2")})
			old := tuning.baseline
			old.readings = candidateOf(scale(test.old)...).readings
			got, failed, err := tuning.contest(t.Context(), old, fresh, tuning.meter.Left(), choosing)
			if err != nil || failed != nil {
				t.Fatal(err, failed)
			}
			if got != test.want {
				t.Errorf("got %s, want %s, of %v and %v", got, test.want, old.goodputs(), fresh.goodputs())
			}
			if runs := len(test.fresh) - len(far.rates); runs != test.runs {
				t.Errorf("took %d runs, want %d", runs, test.runs)
			}
		})
	}
}

// scale makes rates that are whole bytes a second.
func scale(rates []unit.Rate) []unit.Rate {
	out := slices.Clone(rates)
	for i := range out {
		out[i] *= unit.Mbps
	}
	return out
}

// A transfer that fails with a change makes that worse; one that fails without it
// ends the tuning, with the reason.
func TestContestFails(t *testing.T) {
	tuning := at(&scripted{}, time.Hour)
	fresh := tuning.candidate(config{set("b", "rmem", "2")})
	if _, _, err := tuning.contest(t.Context(), tuning.baseline, fresh, time.Hour, choosing); err == nil || !strings.Contains(err.Error(), "the path is gone") {
		t.Errorf("error %v, want the path's", err)
	}
	tuning.baseline.readings = candidateOf(100).readings
	d, failed, err := tuning.contest(t.Context(), tuning.baseline, fresh, time.Hour, choosing)
	if err != nil || d != stat.Worse || failed == nil || !strings.Contains(failed.Error(), "the path is gone") {
		t.Errorf("%s, %v, error %v: want the change to be worse, as the path was gone", d, failed, err)
	}
}

// A small gain must not be bought with latency or loss; a large one may cost.
func TestWorseElsewhere(t *testing.T) {
	at := func(rate unit.Rate, latency time.Duration, retrans float64) *candidate {
		return &candidate{readings: []reading{{goodput: rate, latency: latency, retrans: retrans}}}
	}
	old := at(100, 20*time.Millisecond, 0.001)
	for _, test := range []struct {
		name  string
		old   *candidate
		fresh *candidate
		says  string
	}{
		{"faster at no cost", old, at(105, 21*time.Millisecond, 0.001), ""},
		{"a little faster, much more latency", old, at(105, 40*time.Millisecond, 0.001), "latency under load rises from 20ms to 40ms"},
		{"a little faster, much more loss", old, at(105, 20*time.Millisecond, 0.02), "retransmissions rise from 0.10 % to 2.00 %"},
		{"twice as fast may cost", old, at(200, 40*time.Millisecond, 0.02), ""},
		{"a tenth is little", old, at(unit.Rate(smallGain*float64(old.goodput())), 40*time.Millisecond, 0.001), "latency under load rises from 20ms to 40ms"},
		{"half as much again, and 5 ms", at(100, 10*time.Millisecond, 0), at(105, 15*time.Millisecond, 0), ""},
		{"10 ms, and a tenth", at(100, 100*time.Millisecond, 0), at(105, 110*time.Millisecond, 0), ""},
		{"10 ms, and a quarter", at(100, 40*time.Millisecond, 0), at(105, 50*time.Millisecond, 0), ""},
		{"four times as much loss, and little", old, at(105, 20*time.Millisecond, 0.004), ""},
		{"five times as much loss, just half a per cent", old, at(105, 20*time.Millisecond, 0.005), ""},
		{"twice as much loss", at(100, 20*time.Millisecond, 0.003), at(105, 20*time.Millisecond, 0.006), ""},
		{"half as much loss again", at(100, 20*time.Millisecond, 0.008), at(105, 20*time.Millisecond, 0.012), ""},
	} {
		if got := worseElsewhere(test.old, test.fresh); got != test.says {
			t.Errorf("%s: %q, want %q", test.name, got, test.says)
		}
	}
}

// A tuning that ends early claims nothing about what it had not finished.
func TestNothingKept(t *testing.T) {
	before := Figure{Goodput: 3e6, Runs: []unit.Rate{3e6}}
	r := &Result{
		Before: before, After: Figure{Goodput: 965e6}, Gain: 300, GainCI95: [2]float64{290, 310}, Latency: LatencyPair{Before: 150, After: 244},
		Kept: []Outcome{{Host: "a"}}, ChangeSets: []ChangeSet{{Host: "a", ID: "1"}}, Remaining: &diagnose.Finding{},
	}
	r.nothingKept()
	want := &Result{Before: before, After: before, Gain: 1, GainCI95: [2]float64{1, 1}, Latency: LatencyPair{Before: 150, After: 150}, Kept: []Outcome{}}
	if d := cmp.Diff(want, r, cmpopts.IgnoreUnexported(diagnose.Finding{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What cannot be proven is not what stands.
func TestProveUnproven(t *testing.T) {
	tuning := at(&scripted{}, 0)
	tuning.baseline.readings = candidateOf(100, 130).readings
	best := tuning.candidate(config{set("b", "rmem", "2")})
	best.readings = candidateOf(120, 125).readings
	proven, err := tuning.prove(t.Context(), best)
	if err != nil || proven != tuning.baseline {
		t.Errorf("what stands is %+v, %v, want the baseline", proven, err)
	}
	r := tuning.result
	if len(r.PutBack) != 1 || r.Proof != nil || !strings.HasPrefix(r.PutBack[0].Effect, "not proven: what was left of the budget") {
		t.Errorf("put back %v, proof %v: want the unproven change put back", r.PutBack, r.Proof)
	}
}

// A proof in which a transfer fails with the changes puts them back; one that fails
// without them ends the tuning. One that does not end before the budget does is an
// outlier among six pairs or more, and more than that among fewer. Where nothing is gained, nothing is proven, and no run
// is left out to find that.
func TestProof(t *testing.T) {
	for _, test := range []struct {
		name   string
		rates  []unit.Rate // before, after, after, before, ...; 0: it fails; -1: it does not end
		proven bool
		fails  bool
		says   string // of what is put back, or of the error
		runs   int
	}{
		{"a gain", []unit.Rate{100, 200, 201, 101}, true, false, "<nil>", 4},
		{"it fails with the changes", []unit.Rate{100, 0}, false, false, "with this change the transfer failed: transfer failed: measure: it broke", 2},
		{"it fails without them", []unit.Rate{100, 200, 200, 0}, false, true, "transfer failed: measure: it broke", 4},
		{"one with the changes does not end, after a pair", []unit.Rate{100, 200, -1, 100}, false, false, "with this change the transfer failed: transfer failed: measure: the budget of test traffic was spent", 3},
		{"one with them does not end, after six pairs", []unit.Rate{100, 150, 300, 100, 100, 200, 180, 100, 100, 400, 160, 100, 100, -1}, true, false, "<nil>", 14},
		{"one without them does not", []unit.Rate{100, 150, 300, 100, 100, 200, 180, 100, 100, 400, 160, 100, -1, 100}, true, false, "<nil>", 13},
		{"nothing is gained", []unit.Rate{100, 100, 100, 100, 100, 100, 100, 100}, false, false, "not proven: 100 Mb/s -> 100 Mb/s", 8},
		{"one pair", []unit.Rate{100, 200}, false, false, "not proven: what was left of the budget did not cover two runs", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				far := &clocked{rates: scale(test.rates)}
				tuning := at(far, time.Duration(len(test.rates))*2*time.Second+200*time.Millisecond)
				tuning.baseline.readings = candidateOf(100, 101).readings
				best := tuning.candidate(config{set("b", "rmem", "2")})
				best.readings = candidateOf(200).readings
				proven, err := tuning.prove(t.Context(), best)
				says := fmt.Sprint(err)
				if err == nil && len(tuning.result.PutBack) > 0 {
					says = tuning.result.PutBack[0].Effect
				}
				want := map[bool]*candidate{true: best, false: tuning.baseline}[test.proven]
				if test.fails {
					want = nil
				}
				if proven != want || (err != nil) != test.fails || !strings.HasPrefix(says, test.says) || len(far.specs) != test.runs {
					t.Errorf("what stands is %+v, %s, after %d runs", proven, says, len(far.specs))
				}
			})
		})
	}
}

// A step that did not help is put back, and with it the limit that it raised: a
// later step raises that itself.
func TestNextCountsOnNothingRejected(t *testing.T) {
	for _, test := range []struct{ system, limit, first, second string }{
		{"macos10.4", "kern.ipc.maxsockbuf", "net.inet.tcp.recvspace", "net.inet.tcp.sendspace"},
		{"solaris10", "tcp_max_buf", "tcp_recv_hiwat", "tcp_xmit_hiwat"},
		{"freebsd14", "kern.ipc.maxsockbuf", "net.inet.tcp.recvbuf_max", "net.inet.tcp.sendbuf_max"},
	} {
		t.Run(test.system, func(t *testing.T) {
			h, err := collector.Assume(test.system, 64<<30)
			if err != nil {
				t.Fatal(err)
			}
			in := plan.Input{
				Path: plan.Given(unit.Gbps, 100*time.Millisecond, 1500), Direction: bulk.Forward,
				Sender: h, Receiver: h, Diagnosis: plan.Assumed(diagnose.ReceiverBuffer),
			}
			tuning := &tuning{hosts: pair(bulk.Forward, newEnd(h.Name, &book{}), newEnd("b", &book{})), hooks: hooks{plan: plan.Make}, result: &Result{}}
			var tried []plan.Step
			for i, want := range []string{test.first, test.second} {
				var step *plan.Step
				if step, tried, _ = tuning.next(in, tried); step == nil {
					t.Fatalf("there is no step %d", i+1)
				}
				var changed []string
				for _, c := range step.Changes {
					changed = append(changed, c.Tunable)
				}
				if changed[0] != test.limit || !slices.Contains(changed, want) {
					t.Errorf("step %d changes %q, want %s and then %s", i+1, changed, test.limit, want)
				}
			}
			for range 10 {
				var step *plan.Step
				if step, tried, _ = tuning.next(in, tried); step == nil {
					return
				}
			}
			t.Error("the steps do not come to an end")
		})
	}
}
