package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// noted is a watcher that keeps what it was told.
type noted struct{ phases, results []string }

func (n *noted) Phase(text string)      { n.phases = append(n.phases, text) }
func (n *noted) Progress(bulk.Progress) {}
func (n *noted) Result(text string)     { n.results = append(n.results, text) }

// moved is a transfer in which one stream delivered data at a rate.
func moved(rate unit.Rate) *bulk.Result {
	bytes := int64(rate.BytesIn(time.Second))
	stream := bulk.Stream{ID: 1, Bytes: bytes, Elapsed: time.Second, Samples: []bulk.Sample{{}, {At: time.Second, Bytes: bytes}}}
	from := stream
	from.Sender = true
	return &bulk.Result{
		Spec:   bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: time.Second},
		Client: bulk.End{Streams: []bulk.Stream{from}}, Server: bulk.End{Streams: []bulk.Stream{stream}},
	}
}

// steady is a variant whose transfers differ by a few parts in a thousand.
func steady(rate unit.Rate) Variant {
	n := 0
	return Variant{Args: rate.String(), Transfer: func(context.Context, func(bulk.Progress)) (*bulk.Result, error) {
		n++
		return moved(rate * unit.Rate(1+0.001*float64(n%3))), nil
	}}
}

// However many variants there are: each runs once a round, and every second round
// is the one before turned round.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count, rounds := rapid.IntRange(2, 5).Draw(t, "variants"), rapid.IntRange(0, 7).Draw(t, "rounds")
		seed := rapid.Uint64().Draw(t, "seed")
		run := func() *turns {
			x := &turns{seed: seed, watch: &noted{}}
			for i := range count {
				v := steady(unit.Mbps)
				v.name = string(rune('A' + i))
				x.variants = append(x.variants, &v)
			}
			if err := x.run(t.Context(), func(n int) bool { return n >= rounds }); err != nil {
				t.Fatal(err)
			}
			return x
		}
		x := run()
		if len(x.order) != rounds*count || len(x.runs) != (rounds+1)*count {
			t.Fatalf("%d rounds of %d: %v, %d runs", rounds, count, x.order, len(x.runs))
		}
		for i, r := range x.runs {
			if r.WarmUp != (i < count) || !r.WarmUp && r.Variant != x.order[i-count] {
				t.Fatalf("run %d: warm-up %v, variant %s", i, r.WarmUp, r.Variant)
			}
		}
		for n := range rounds {
			round, seen := x.order[n*count:(n+1)*count], map[string]bool{}
			for i, name := range round {
				seen[name] = true
				if n%2 == 1 && name != x.order[n*count-1-i] {
					t.Fatalf("round %d does not turn the one before round: %v", n, x.order)
				}
			}
			if len(seen) != count {
				t.Fatalf("round %d: %v", n, round)
			}
		}
		if again := run(); strings.Join(again.order, "") != strings.Join(x.order, "") {
			t.Fatalf("the same seed gave %v, then %v", x.order, again.order)
		}
	})
}

// Over many seeds each of two variants begins half of the pairs of rounds.
func TestTurnsFair(t *testing.T) {
	begins := 0
	for seed := range uint64(1000) {
		a, b := steady(unit.Mbps), steady(unit.Mbps)
		a.name, b.name = "A", "B"
		x := &turns{variants: []*Variant{&a, &b}, seed: seed, watch: &noted{}}
		if err := x.run(t.Context(), func(n int) bool { return n >= 1 }); err != nil {
			t.Fatal(err)
		}
		if x.order[0] == "A" {
			begins++
		}
	}
	if begins < 420 || begins > 580 { // 500 give or take five standard deviations
		t.Errorf("A begins %d of 1000", begins)
	}
}

func TestAB(t *testing.T) {
	watch := &noted{}
	d, err := AB{A: steady(100 * unit.Mbps), B: steady(200 * unit.Mbps), Rounds: 4, Smallest: 0.03}.Run(t.Context(), watch)
	if err != nil {
		t.Fatal(err)
	}
	if d.Rounds != 4 || len(d.Order) != 8 || len(d.Runs) != 10 || d.Seed == 0 || d.Settled != nil || d.Goodput.Decision != More {
		t.Errorf("%+v", d)
	}
	if g := d.Goodput.Ratio.Gain; g < 1.99 || g > 2.01 {
		t.Errorf("the ratio is %v, want 2", g)
	}
	if watch.phases[0] != "warm-up, A: 100 Mb/s" || !strings.HasPrefix(watch.phases[2], "round 1, ") || len(watch.results) != 10 {
		t.Errorf("told: %q, %q", watch.phases, watch.results)
	}
}

// It ends when the ratio is known, or after the most runs that are worth it.
func TestABUntil(t *testing.T) {
	d, err := AB{A: steady(100 * unit.Mbps), B: steady(200 * unit.Mbps), UntilCI: 0.05, Smallest: 0.03}.Run(t.Context(), &noted{})
	if err != nil || d.Settled == nil || !*d.Settled || d.Rounds != 3 {
		t.Errorf("%v, %d rounds, settled %v", err, d.Rounds, d.Settled)
	}
	n := 0
	wild := Variant{Transfer: func(context.Context, func(bulk.Progress)) (*bulk.Result, error) {
		n++
		return moved(unit.Mbps * unit.Rate(1+n%7)), nil
	}}
	d, err = AB{A: wild, B: wild, UntilCI: 0.001, Smallest: 0.03}.Run(t.Context(), &noted{})
	if err != nil || d.Settled == nil || *d.Settled || d.Rounds != 30 {
		t.Errorf("%v, %d rounds, settled %v", err, d.Rounds, d.Settled)
	}
}

// What was measured before a failure is in the document.
func TestABFails(t *testing.T) {
	for _, test := range []struct {
		good   int // transfers that end well
		rounds int
	}{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 1}, {7, 2}} {
		for _, interrupted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, interrupted: %v", test.good, interrupted), func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				n := 0
				v := Variant{Transfer: func(context.Context, func(bulk.Progress)) (*bulk.Result, error) {
					if n++; n <= test.good {
						return moved(unit.Mbps), nil
					}
					if interrupted {
						stop()
					}
					return nil, errors.New("connection reset")
				}}
				d, err := AB{A: v, B: v, Rounds: 5, UntilCI: 0.1}.Run(ctx, &noted{})
				want := "connection reset"
				if interrupted {
					want = "interrupted: what was measured until then is reported"
				}
				if err == nil || !strings.HasSuffix(err.Error(), want) || d == nil || d.Error != err.Error() {
					t.Fatalf("%v, want %s; document %+v", err, want, d)
				}
				if len(d.Runs) != test.good || d.Rounds != test.rounds || (d.Comparison == nil) != (test.rounds == 0) || d.Settled == nil || *d.Settled {
					t.Errorf("%d runs, %d rounds, comparison %+v, settled %v", len(d.Runs), d.Rounds, d.Comparison, d.Settled)
				}
			})
		}
	}
}

func TestRepetition(t *testing.T) {
	runs := func(rates ...float64) (out []Run) {
		for _, r := range rates {
			out = append(out, Run{Goodput: unit.Rate(r)})
		}
		return out
	}
	many := make([]float64, 30)
	for i := range many {
		many[i] = float64(1 + i%5)
	}
	for _, test := range []struct {
		name string
		Repetition
		runs   []Run
		enough bool
	}{
		{"one is enough", Repetition{}, runs(1), true},
		{"once", Repetition{Times: 1}, runs(1), true},
		{"not yet", Repetition{Times: 3}, runs(1, 1), false},
		{"three", Repetition{Times: 3}, runs(1, 1, 1), true},
		{"too few to know", Repetition{UntilCI: 0.05}, runs(100, 101), false},
		{"settled", Repetition{UntilCI: 0.05}, runs(100, 101, 99), true},
		{"they scatter", Repetition{UntilCI: 0.05}, runs(100, 150, 50), false},
		{"no more than 30", Repetition{UntilCI: 0.05}, runs(many...), true},
	} {
		if got := test.Enough(test.runs); got != test.enough {
			t.Errorf("%s: enough is %v", test.name, got)
		}
	}
	if (Repetition{Times: 1}).Several() || !(Repetition{Times: 2}).Several() || !(Repetition{UntilCI: 0.1}).Several() {
		t.Error("several runs")
	}
	if r := (Repetition{Times: 2}).Repeat(nil); r != nil {
		t.Errorf("of no runs: %+v", r)
	}
	if r := (Repetition{UntilCI: 0.05}).Repeat(runs(100, 101, 99)); r.Runs != 3 || r.Settled == nil || !*r.Settled || r.Goodput.Median != 100 {
		t.Errorf("%+v", r)
	}
	if r := (Repetition{Times: 2}).Repeat(runs(100, 101)); r.Settled != nil {
		t.Errorf("nothing was to settle: %+v", r)
	}
}
