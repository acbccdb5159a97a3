package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/host/collector"
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
	return &end{name: name, facts: &host.Facts{Name: name}, changes: b, live: map[string]string{}}
}

func set(host, tunable, to string) plan.Change {
	return plan.Change{Host: host, Tunable: tunable, From: "1", To: to}
}

// Both hosts are brought to just what a configuration says, with no call more
// than that takes.
func TestHostsBring(t *testing.T) {
	near, far := &book{}, &book{}
	h := &hosts{near: newEnd("a", near), far: newEnd("b", far)}
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
			h := &hosts{near: newEnd("a", near), far: newEnd("b", far)}
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
	h := &hosts{near: newEnd("a", near), far: newEnd("b", &book{})}
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
	c = c.with([]plan.Change{{Host: "b", Tunable: "rmem", From: "1", To: "2", Why: "BDP"}})
	c = c.with([]plan.Change{{Host: "a", Tunable: "wmem", From: "1", To: "2"}})
	c = c.with([]plan.Change{{Host: "b", Tunable: "rmem", From: "2", To: "4", Why: "it helped"}})
	want := config{
		{Host: "b", Tunable: "rmem", From: "1", To: "4", Why: "BDP; it helped"},
		{Host: "a", Tunable: "wmem", From: "1", To: "2"},
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

// A comparison takes as many runs as it needs, and no more than there are.
func TestCompare(t *testing.T) {
	for _, test := range []struct {
		name   string
		old    []unit.Rate // measured already
		fresh  []unit.Rate // to be measured, old ones in between
		budget time.Duration
		want   stat.Decision
		runs   int
	}{
		{"ten times as much takes one run", []unit.Rate{100, 101}, []unit.Rate{1000}, time.Hour, stat.Better, 1},
		{"a tenth takes two: one may have gone astray", []unit.Rate{100, 101}, []unit.Rate{10, 10}, time.Hour, stat.Worse, 2},
		{"after steady runs one shows that there is more", []unit.Rate{100, 101}, []unit.Rate{200, 201}, time.Hour, stat.Better, 1},
		{"the same is found to be the same", []unit.Rate{1000, 1001}, []unit.Rate{1000, 1001, 1001, 1000}, time.Hour, stat.Same, 2},
		{"noise is not taken for a gain", []unit.Rate{80, 120}, []unit.Rate{90, 125, 100, 85, 110, 95, 105, 100}, time.Hour, stat.Same, 8},
		{"one run that went astray does not hide a fourfold gain", []unit.Rate{204, 203, 205, 120, 204}, []unit.Rate{60, 940, 950, 945, 930}, time.Hour, stat.Better, 5},
		{"without budget what is not proven is not kept", []unit.Rate{100, 130}, []unit.Rate{120}, 0, stat.Undecided, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			far := &scripted{rates: scale(test.fresh)}
			o := Options{Direction: bulk.Forward, Budget: test.budget, Watch: silent{}}
			tuning := &tuning{o: o, hosts: &hosts{near: newEnd("a", &book{}), far: newEnd("b", &book{})}, meter: &meter{far: far, o: o}}
			got, err := tuning.compare(t.Context(), candidateOf(scale(test.old)...), &candidate{})
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if runs := len(test.fresh) - len(far.rates); runs > test.runs || (test.runs < 8 && runs != test.runs && test.budget > 0) {
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

// A failing path ends a comparison with the reason.
func TestCompareFails(t *testing.T) {
	o := Options{Direction: bulk.Forward, Budget: time.Hour, Watch: silent{}}
	tuning := &tuning{o: o, hosts: &hosts{near: newEnd("a", &book{}), far: newEnd("b", &book{})}, meter: &meter{far: &scripted{}, o: o}}
	if _, err := tuning.compare(t.Context(), &candidate{}, &candidate{}); err == nil || !strings.Contains(err.Error(), "the path is gone") {
		t.Errorf("error %v, want the path's", err)
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
		fresh *candidate
		says  string
	}{
		{"faster at no cost", at(105, 21*time.Millisecond, 0.001), ""},
		{"a little faster, much more latency", at(105, 40*time.Millisecond, 0.001), "latency under load rises from 20ms to 40ms"},
		{"a little faster, much more loss", at(105, 20*time.Millisecond, 0.02), "retransmissions rise from 0.10 % to 2.00 %"},
		{"twice as fast may cost", at(200, 40*time.Millisecond, 0.02), ""},
	} {
		if got := worseElsewhere(old, test.fresh); got != test.says {
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

// What cannot be proven is not what stands, and its evidence is not either.
func TestProveUnproven(t *testing.T) {
	o := Options{Direction: bulk.Forward, Watch: silent{}} // without budget
	tuning := &tuning{o: o, effects: map[string]string{}, meter: &meter{o: o}, result: &Result{}}
	baseline, best := candidateOf(100, 130), candidateOf(120, 125)
	best.config = config{set("b", "rmem", "2")}
	proven, err := tuning.prove(t.Context(), baseline, best)
	if err != nil || proven != baseline {
		t.Errorf("what stands is %+v, %v, want the baseline", proven, err)
	}
	if len(tuning.result.PutBack) != 1 || tuning.result.Gain != 1 {
		t.Errorf("put back %v, gain %v: want the unproven change put back", tuning.result.PutBack, tuning.result.Gain)
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
			tuning := &tuning{hosts: &hosts{near: newEnd(h.Name, &book{}), far: newEnd("b", &book{})}, result: &Result{}}
			var tried []plan.Step
			for i, want := range []string{test.first, test.second} {
				var step *plan.Step
				if step, tried = tuning.next(in, tried); step == nil {
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
				if step, tried = tuning.next(in, tried); step == nil {
					return
				}
			}
			t.Error("the steps do not come to an end")
		})
	}
}
