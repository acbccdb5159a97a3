package record

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/internal/postgres"
)

// aFlow is what a way of a run came to.
func aFlow(run, from, to string, round int, goodput float64) Flow {
	return Flow{
		Run: run, Round: round, From: from, To: to, Kind: "transfer", Ended: time.Now().UTC().Truncate(time.Microsecond),
		Goodput: 1, Bytes: 1000, Data: json.RawMessage(fmt.Sprintf(`{"goodput":%v}`, goodput)),
	}
}

// Flows are kept once, however often they come, with their run: also where that is not there.
func TestFlowsAreKeptOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		r := Start(place, Header{Kind: Fleet, Tags: []string{"mesh"}})
		if err := r.Begun(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := opened(t, place)
		first := []Flow{aFlow(r.ID(), "a", "b", 0, 1e9), aFlow(r.ID(), "b", "a", 1, 2e9)}
		for i, want := range []int{2, 0} {
			if added, err := s.KeepFlows(t.Context(), "mesh", first); added != want || err != nil {
				t.Errorf("time %d: %d new, %v", i+1, added, err)
			}
		}
		failed := aFlow(r.ID(), "c", "a", 1, 0)
		failed.Error = "nobody answers"
		if added, err := s.KeepFlows(t.Context(), "mesh", append(first, failed)); added != 1 || err != nil {
			t.Errorf("%d new, %v", added, err)
		}
		if err := r.End(Outcome{State: Done}); err != nil {
			t.Fatal(err)
		}
		run, err := s.Load(t.Context(), r.ID())
		if err != nil || len(run.Flows) != 3 || !reflect.DeepEqual(run.Flows[0], first[0]) || run.Flows[2].Error != "nobody answers" {
			t.Fatalf("%+v, %v", run.Flows, err)
		}

		stray := NewID()
		if added, err := s.KeepFlows(t.Context(), "another hub's", []Flow{aFlow(stray, "x", "y", 3, 1e9)}); added != 1 || err != nil {
			t.Fatalf("%d, %v", added, err)
		}
		if h, err := s.Get(t.Context(), stray); err != nil || h.State != Interrupted || h.Tags[0] != "another hub's" || time.Since(h.Started) > time.Minute {
			t.Errorf("%+v, %v", h, err)
		}
		if err := s.Amend(t.Context(), stray, Outcome{State: Interrupted, From: "x", To: "y", Document: json.RawMessage(`{"schema":"x"}`)}); err != nil {
			t.Error(err)
		}
		if run, err := s.Load(t.Context(), stray); err != nil || run.From != "x" || string(run.Document) != `{"schema":"x"}` {
			t.Errorf("%+v, %v", run, err)
		}

		moved, err := s.Moved(t.Context(), time.Now().Add(-time.Minute))
		if err != nil || !reflect.DeepEqual(moved, map[string]int64{"a": 3000, "b": 2000, "c": 1000, "x": 1000, "y": 1000}) {
			t.Errorf("%v, %v", moved, err)
		}
		if moved, err = s.MovedIn(t.Context(), stray); err != nil || len(moved) != 2 {
			t.Errorf("%v, %v", moved, err)
		}
		if last, found, err := s.LastOf(t.Context(), Fleet, "mesh"); !found || last.ID != r.ID() || err != nil {
			t.Errorf("%+v, %v", last, err)
		}

		// They go with their run, to another store and away.
		other := opened(t, t.TempDir()+"/other.db")
		if _, err := other.Import(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		if there, err := other.Load(t.Context(), run.ID); err != nil || !reflect.DeepEqual(there.Flows, run.Flows) {
			t.Errorf("%+v, %v", there, err)
		}
		if n, err := s.Prune(t.Context(), Keep{}); n != 2 || err != nil {
			t.Errorf("%d removed, %v", n, err)
		}
		if moved, err = s.Moved(t.Context(), time.Time{}); len(moved) != 0 || err != nil {
			t.Errorf("%v, %v", moved, err)
		}
	})
}

// What cannot be a flow is not kept, and nothing of what came with it.
func TestFlowsAreChecked(t *testing.T) {
	s := opened(t, t.TempDir()+"/record.db")
	id := NewID()
	for name, spoil := range map[string]func(*Flow){
		"no run":         func(f *Flow) { f.Run = "../../etc" },
		"no time in it":  func(f *Flow) { f.Run = "6ba7b810-9dad-11d1-80b4-00c04fd430c8" },
		"of the year 1":  func(f *Flow) { f.Run = "00000000-0000-7000-8000-000000000000" },
		"a NUL":          func(f *Flow) { f.From = "a\x00" },
		"an endless one": func(f *Flow) { f.Error = string(make([]byte, 1<<17)) },
	} {
		bad := aFlow(id, "a", "b", 0, 1)
		spoil(&bad)
		if added, err := s.KeepFlows(t.Context(), "x", []Flow{aFlow(id, "a", "b", 0, 1), bad}); err == nil || added != 0 {
			t.Errorf("%s: %d, %v", name, added, err)
		}
	}
	if n, err := s.Count(t.Context()); n != 0 || err != nil {
		t.Errorf("%d runs, %v", n, err)
	}
}

// Of each run of an experiment each way counts as it was first measured, and failed ones not.
func TestAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		s := opened(t, place)
		for i := range 3 {
			r := Start(place, Header{Kind: Fleet, Tags: []string{"mesh"}})
			if err := r.Begun(t.Context()); err != nil {
				t.Fatal(err)
			}
			first, again, failed := aFlow(r.ID(), "a", "b", 0, 1), aFlow(r.ID(), "a", "b", 5, 1), aFlow(r.ID(), "b", "a", 0, 1)
			first.Goodput, again.Goodput, failed.Error = 100, 50, "lost"
			first.N, failed.N = 1, 0
			if _, err := s.KeepFlows(t.Context(), "mesh", []Flow{again, first, failed}); err != nil {
				t.Fatal(i, err)
			}
			if err := r.End(Outcome{State: Done}); err != nil {
				t.Fatal(err)
			}
		}
		all, err := s.Again(t.Context(), "mesh", 2)
		if err != nil || len(all) != 2 || all[0].Goodput != 100 || all[0].From != "a" || !all[0].Started.Before(all[1].Started) {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// Shifts are kept once, and somebody is told of each once; with them goes what became different on their hosts.
func TestShifts(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		s := opened(t, place)
		now := time.Now().UTC().Truncate(time.Second)
		a := Shift{Experiment: "mesh", Kind: ShiftSends, From: "a", Since: now.Add(-time.Hour), Run: "r", Found: now, Before: 9e8, After: 5e8}
		b := Shift{Experiment: "mesh", Kind: ShiftLink, From: "a", To: "b", Since: now, Run: "r", Found: now.Add(time.Second), Before: 9e8, After: 5e8}
		for range 2 {
			if err := s.KeepShifts(t.Context(), []Shift{a, b}); err != nil {
				t.Fatal(err)
			}
		}
		if all, err := s.Shifts(t.Context(), "mesh", 10); err != nil || !reflect.DeepEqual(all, []Shift{b, a}) {
			t.Errorf("%+v, %v", all, err)
		}
		if err := s.Told(t.Context(), []Shift{a}); err != nil {
			t.Fatal(err)
		}
		if all, err := s.Untold(t.Context(), now.Add(-time.Minute)); err != nil || !reflect.DeepEqual(all, []Shift{b}) {
			t.Errorf("%+v, %v", all, err)
		}
		if says := a.String(); says != "what a sends: 500 Mb/s instead of 900 Mb/s since "+a.Since.Format(time.DateTime)+" UTC" {
			t.Error(says)
		}

		since := time.Now()
		for _, size := range []string{"1", "1", "2"} {
			r := Start(place, Header{Kind: Fleet, Tags: []string{"mesh"}})
			for _, name := range []string{"a", "c"} {
				r.Host(Host{Side: Member, When: Before, Is: &host.Facts{Name: name, Tunables: map[string]string{"x": size}}})
			}
			if err := r.End(Outcome{State: Done}); err != nil {
				t.Fatal(err)
			}
		}
		changes, err := s.ChangesOf(t.Context(), &Shift{Experiment: "mesh", Kind: ShiftLink, From: "a", To: "b", Since: since, Found: time.Now()})
		if err != nil || len(changes) != 1 || changes[0].Host != "a" || changes[0].From != "1" || changes[0].To != "2" || changes[0].Who != BySomeone {
			t.Errorf("%+v, %v", changes, err)
		}
	})
}

// A server that is stopped in the middle, cleanly or not, and comes back loses nothing that is being written, and has
// nothing twice.
func TestServerRestarts(t *testing.T) {
	server := postgres.New(t)
	s := opened(t, server.Address)
	r := Start(server.Address, Header{Kind: Fleet, Tags: []string{"mesh"}})
	if err := r.Begun(t.Context()); err != nil {
		t.Fatal(err)
	}
	const rounds, flows = 100, 20
	var writers sync.WaitGroup
	writers.Go(func() {
		for round := range rounds {
			var all []Flow
			for i := range flows {
				f := aFlow(r.ID(), fmt.Sprint(i), "b", round, 1e9)
				f.N = i
				all = append(all, f)
			}
			if added, err := s.KeepFlows(t.Context(), "mesh", all); err != nil || added > flows {
				t.Errorf("round %d: %d, %v", round, added, err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	writers.Go(func() {
		for i := range rounds {
			r.Event(Phase, fmt.Sprint(i))
			r.Transfer(time.Now(), aTransfer(fmt.Sprint(i)))
			time.Sleep(5 * time.Millisecond)
		}
	})
	for _, how := range []os.Signal{os.Interrupt, syscall.SIGQUIT} {
		time.Sleep(100 * time.Millisecond)
		server.Stop(how)
		time.Sleep(300 * time.Millisecond)
		server.Run()
	}
	writers.Wait()
	if err := r.EndWithin(Outcome{State: Done}, time.Minute); err != nil {
		t.Fatal(err)
	}
	run, err := s.Load(t.Context(), r.ID())
	if err != nil || run.State != Done || len(run.Flows) != rounds*flows || len(run.Events) != rounds || len(run.Transfers) != rounds {
		t.Fatalf("%v: %s, %d flows, %d events, %d transfers", err, run.State, len(run.Flows), len(run.Events), len(run.Transfers))
	}
	for i := range run.Events {
		if run.Events[i].Text != fmt.Sprint(i) || len(run.Transfers[i].Result.Client.Streams[0].Samples) != 50 {
			t.Errorf("event %d is %q", i, run.Events[i].Text)
		}
	}
}
