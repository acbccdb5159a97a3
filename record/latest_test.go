package record

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What Latest finds by its walk is what reading every run finds: of each path, verb and
// state the one that started last, the latest first.
func TestLatestIsTheLastOfEach(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		s := opened(t, place)
		n := 0
		rapid.Check(t, func(t *rapid.T) {
			if _, err := s.write.Exec(`DELETE FROM run`); err != nil {
				t.Fatal(err)
			}
			last := map[string]Header{}
			for range rapid.IntRange(0, 12).Draw(t, "runs") {
				n++
				h := Header{
					ID:   fmt.Sprintf("%08x-0000-7000-8000-000000000000", n),
					From: rapid.SampledFrom([]string{"a", "b", "it's", "é", ""}).Draw(t, "from"), To: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "to"),
					Scenario: rapid.SampledFrom([]string{"", "lan"}).Draw(t, "scenario"), Kind: rapid.SampledFrom([]Kind{Test, Tune}).Draw(t, "kind"),
					State: rapid.SampledFrom([]State{Done, Failed}).Draw(t, "state"), Started: time.Unix(int64(1_700_000_000+n), 0),
				}
				if _, err := s.begin(t.Context(), h); err != nil {
					t.Fatal(err)
				}
				last[fmt.Sprint(h.From, "|", h.To, "|", h.Scenario, "|", h.Kind, "|", h.State)] = h
			}
			var want, got []string
			for _, h := range slices.SortedFunc(maps.Values(last), func(a, b Header) int { return b.Started.Compare(a.Started) }) {
				want = append(want, h.ID)
			}
			runs, all, err := s.Latest(t.Context(), 100)
			for _, h := range runs {
				got = append(got, h.ID)
			}
			if d := cmp.Diff(want, got); d != "" || !all || err != nil {
				t.Fatalf("all: %v, %v: %s", all, err, d)
			}
			some := rapid.IntRange(0, 12).Draw(t, "most")
			runs, all, err = s.Latest(t.Context(), some)
			if len(runs) != min(some, len(want)) || all != (len(want) <= some) || err != nil {
				t.Fatalf("of %d at most %d: %d, all: %v, %v", len(want), some, len(runs), all, err)
			}
		})
	})
}

// SQLite goes from path to path by the whole index: one that it used by its first column
// only would be read whole.
func TestLatestReadsNoOtherRuns(t *testing.T) {
	s := opened(t, filepath.Join(t.TempDir(), "record.db"))
	rows, err := s.read.Query("EXPLAIN QUERY PLAN "+latest, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&plan, step)
	}
	if rows.Err() != nil || !strings.Contains(plan.String(), "USING INDEX run_latest ((sender,receiver,scenario,kind,state,started)<") || strings.Count(plan.String(), "SCAN run ") != 1 {
		t.Errorf("%v: the plan is\n%s", rows.Err(), &plan)
	}
}

// A document is read by itself; one that is larger than asked for is left alone, and so
// is the size of what was not asked for.
func TestDocumentOfARun(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		r := Start(place, Header{Kind: Tune, From: "a", To: "b"})
		if err := r.End(Outcome{State: Done, Document: []byte(`{"gain":2}`)}); err != nil {
			t.Fatal(err)
		}
		s := opened(t, place)
		for most, want := range map[int64]bool{1 << 20: true, 9: false, 5: false} {
			var document struct{ Gain float64 }
			found, err := s.Document(t.Context(), r.ID(), most, &document)
			if found != want || err != nil || want != (document.Gain == 2) {
				t.Errorf("at most %d bytes: %v, %v, %+v", most, found, err, document)
			}
		}
		if found, err := s.Document(t.Context(), "none", 1<<20, nil); found || err != nil {
			t.Errorf("of no run: %v, %v", found, err)
		}
		if n, err := s.Count(t.Context()); n != 1 || err != nil {
			t.Errorf("%d runs, %v", n, err)
		}
	})
}
