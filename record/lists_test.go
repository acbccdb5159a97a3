package record

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// imported keeps a run that came to its end.
func imported(t testing.TB, s *Store, r Run) string {
	t.Helper()
	r.Schema, r.ID = Schema, NewID()
	if r.State == "" {
		r.State = Done
	}
	if r.Ended.IsZero() {
		r.Ended = r.Started.Add(time.Second)
	}
	if _, err := s.Import(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	return r.ID
}

var day = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func aRun(from, to string, at time.Duration, goodput float64) Run {
	return Run{Header: Header{Kind: Test, Started: day.Add(at), From: from, To: to, Goodput: unit.Rate(goodput)}}
}

// A list that is read page by page is the list: no run is left out, none comes twice,
// however many began in one instant.
func TestPagesOfAList(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		s := opened(t, place)
		for i := range 30 {
			imported(t, s, aRun("a", "b", time.Duration(i/7)*time.Second, 1e9))
		}
		whole, err := s.List(t.Context(), Filter{})
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(r *rapid.T) {
			f := Filter{Most: rapid.IntRange(1, 31).Draw(r, "of a page")}
			var all []Header
			for {
				page, err := s.List(t.Context(), f)
				if err != nil {
					r.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				all = append(all, page...)
				f.After = MarkOf(&page[len(page)-1])
			}
			if fmt.Sprint(all) != fmt.Sprint(whole) {
				r.Fatalf("%d runs in pages of %d, %d in one list", len(all), f.Most, len(whole))
			}
		})
	})
}

// Paths are those of runs that came to their end, each with its last goodput; hosts are
// those at their ends, without the lab's; and what a host is like is what its latest
// run that asked found.
func TestPathsAndHosts(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		s := opened(t, place)
		first := aRun("nas1", "nas2", 0, 1e9)
		first.Hosts = []Host{
			{Side: Near, When: Before, At: day, Is: &host.Facts{Name: "nas1", Version: "old"}},
			{Side: Near, When: After, At: day, Is: &host.Facts{Name: "nas1", Version: "new"}},
		}
		asked := imported(t, s, first)
		imported(t, s, aRun("nas1", "nas2", time.Hour, 2e9))
		failed := aRun("nas1", "nas2", 2*time.Hour, 0)
		failed.State = Failed
		imported(t, s, failed)
		inLab := aRun("a", "b", 3*time.Hour, 3e9)
		inLab.Scenario = "clean-wan"
		imported(t, s, inLab)
		imported(t, s, aRun("nas2", "nas1", 30*time.Minute, 4e9))

		paths, err := s.Paths(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		want := []Path{
			{"a", "b", "clean-wan", Test, 1, day.Add(3 * time.Hour), day.Add(3 * time.Hour), 3e9},
			{"nas1", "nas2", "", Test, 2, day, day.Add(time.Hour), 2e9},
			{"nas2", "nas1", "", Test, 1, day.Add(30 * time.Minute), day.Add(30 * time.Minute), 4e9},
		}
		if fmt.Sprint(paths) != fmt.Sprint(want) {
			t.Errorf("paths are %v, want %v", paths, want)
		}
		if one, err := s.Paths(t.Context(), 1); err != nil || len(one) != 1 {
			t.Errorf("one path: %v, %v", one, err)
		}
		hosts, err := s.Hosts(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		if want := []Seen{{"nas1", 4, day, day.Add(2 * time.Hour)}, {"nas2", 4, day, day.Add(2 * time.Hour)}}; fmt.Sprint(hosts) != fmt.Sprint(want) {
			t.Errorf("hosts are %v, want %v", hosts, want)
		}
		is, by, err := s.LastSeen(t.Context(), "nas1")
		if err != nil || is == nil || is.Is.Version != "new" || by.ID != asked {
			t.Errorf("nas1 is %+v by run %s, %v", is, by.ID, err)
		}
		if is, _, err := s.LastSeen(t.Context(), "nas2"); err != nil || is != nil {
			t.Errorf("nas2, which no run asked, is %+v, %v", is, err)
		}
		for name, f := range map[string]Filter{"of a scenario": {Scenario: "clean-wan"}, "of a state": {State: Failed}} {
			if runs, err := s.List(t.Context(), f); err != nil || len(runs) != 1 {
				t.Errorf("runs %s: %d, %v", name, len(runs), err)
			}
		}
		if runs, err := s.List(t.Context(), Filter{Outside: true}); err != nil || len(runs) != 4 {
			t.Errorf("runs outside of the lab: %d, %v", len(runs), err)
		}
	})
}

// BenchmarkLists: what a page lists, in a store of many runs.
func BenchmarkLists(b *testing.B) {
	s := filled(b, b.TempDir()+"/record.db")
	for name, list := range map[string]func() (int, error){
		"paths": func() (int, error) { all, err := s.Paths(b.Context(), 200); return len(all), err },
		"hosts": func() (int, error) { all, err := s.Hosts(b.Context(), 200); return len(all), err },
		"a page of runs": func() (int, error) {
			all, err := s.List(b.Context(), Filter{Most: 51, After: Mark{time.Now().AddDate(-1, 0, 0), NewID()}})
			return len(all), err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if n, err := list(); err != nil || n < 50 {
					b.Fatal(n, err)
				}
			}
		})
	}
}
