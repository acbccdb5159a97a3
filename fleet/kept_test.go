package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/peer"
)

// ledger keeps results, unless it fails.
type ledger struct {
	kept  map[string]*job.Result
	fails error
}

func (l *ledger) keep(_ context.Context, results []*job.Result) error {
	if l.fails != nil {
		return l.fails
	}
	for _, r := range results {
		l.kept[r.Part.Key()] = r
	}
	return nil
}

func (s *simulated) shelved() (n int) {
	for _, h := range s.hosts {
		n += len(h.shelved)
	}
	return n
}

// TestResultsAreKept: what each flow comes to is kept, with a part of its own for each, also what is measured
// again and diagnosed; and the hosts have nothing any more.
func TestResultsAreKept(t *testing.T) {
	t.Parallel()
	s := simulate(6, func(from, to int) float64 {
		if from == 2 && to == 4 {
			return 3e8
		}
		return 1e9
	})
	l := &ledger{kept: map[string]*job.Result{}}
	e := experiment(t, "pairs")
	e.Name, e.Keep = "mesh", l.keep
	r, err := Run(t.Context(), s.members(), e, &said{})
	if err != nil {
		t.Fatal(err)
	}
	flows := len(r.Causes)
	for _, round := range r.Rounds {
		flows += len(round.Flows)
	}
	if len(r.Causes) != 1 || len(l.kept) != flows || s.shelved() != 0 {
		t.Errorf("%d kept of %d, %d on the hosts, causes %v", len(l.kept), flows, s.shelved(), r.Causes)
	}
	ids := map[string]bool{}
	for key, k := range l.kept {
		ids[k.Part.Experiment] = true
		if err := k.Check(); err != nil || k.Part.Name != "mesh" || !strings.HasPrefix(k.Part.From, "h") {
			t.Errorf("%s: %+v, %v", key, k.Part, err)
		}
	}
	if len(ids) != 1 {
		t.Errorf("experiments %v", ids)
	}
}

// TestCollect: what cannot be kept stays with the hosts, the experiment goes on, and it is all fetched later; a
// host says nothing about others.
func TestCollect(t *testing.T) {
	t.Parallel()
	s := simulate(4, func(_, _ int) float64 { return 1e9 })
	l := &ledger{kept: map[string]*job.Result{}, fails: errors.New("the database is away")}
	e := experiment(t, "shift")
	e.Keep = l.keep
	watch := &said{}
	if _, err := Run(t.Context(), s.members(), e, watch); err != nil {
		t.Fatal(err)
	}
	if s.shelved() != 12 || !strings.Contains(strings.Join(watch.lines, "\n"), "4 results not kept yet: the database is away") {
		t.Errorf("%d on the hosts: %v", s.shelved(), watch.lines)
	}
	if fetched, err := Collect(t.Context(), s.members(), l.keep); err == nil || len(fetched) != 0 || s.shelved() != 12 {
		t.Errorf("%d, %v", len(fetched), err)
	}
	l.fails = nil
	for _, r := range s.hosts[1].shelved {
		r.Part.From = "h0" // it lies
	}
	s.hosts[2].fails = func(call string) error {
		if call == "drop" {
			return errors.New("gone")
		}
		return nil
	}
	fetched, err := Collect(t.Context(), s.members(), l.keep)
	if len(fetched) != 12 || err == nil || !strings.Contains(err.Error(), "results of h2: gone") {
		t.Errorf("%d, %v", len(fetched), err)
	}
	of := map[string]int{}
	for _, r := range l.kept {
		of[r.Part.From]++
	}
	if fmt.Sprint(of) != "map[h0:3 h1:3 h2:3 h3:3]" {
		t.Errorf("%v", of)
	}
}

// TestShortOutage: a host that cannot be reached for a moment is asked again, and what it measured meanwhile counts; one
// that says that it has no such job is not.
func TestShortOutage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err   error
		fails bool
	}{"nothing answers": {peer.ErrUnreachable, false}, "went away": {peer.ErrLost, false}, "no such job": {peer.ErrGone, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := simulate(2, func(_, _ int) float64 { return 1e9 })
			asked := 0
			s.hosts[0].fails = func(call string) error {
				if call != "status" {
					return nil
				}
				if asked++; asked == 2 || asked == 3 {
					return fmt.Errorf("host: %w", test.err)
				}
				return nil
			}
			r, err := Run(t.Context(), s.members(), experiment(t, "fan-out"), &said{})
			if failed := err != nil; failed != test.fails {
				t.Errorf("%v: %+v", err, r.Rounds[0].Flows)
			}
		})
	}
}
