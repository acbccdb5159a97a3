package record

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Of a run about a file of NFS the record has its requests a second beside their payload;
// they are listed, exported, imported elsewhere, and its path has a trend of them.
func TestRequestsAreKept(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		r := Start(place, Header{Kind: NFSTest, Command: []string{"nfs", "test", "nfs://filer/export/file"}, From: "filer", To: "here"})
		if err := r.End(Outcome{State: Done, IOPS: 65000.5, Goodput: 2.1e9, Document: []byte(`{"schema":"fullbore/nfs-test/1"}`)}); err != nil {
			t.Fatal(err)
		}
		s := opened(t, place)
		latest, all, err := s.Latest(t.Context(), 10)
		if err != nil || !all || len(latest) != 1 || latest[0].IOPS != 65000.5 || latest[0].Goodput != 2.1e9 || latest[0].Kind != NFSTest {
			t.Fatalf("the latest are %+v, %v", latest, err)
		}
		var exported []*Run
		if err := s.Export(t.Context(), Filter{Kind: NFSTest}, func(r *Run) error { exported = append(exported, r); return nil }); err != nil || len(exported) != 1 {
			t.Fatalf("%d runs, %v", len(exported), err)
		}
		other := opened(t, t.TempDir()+"/other.db")
		if added, err := other.Import(t.Context(), exported[0]); !added || err != nil {
			t.Fatal(added, err)
		}
		if h, err := other.Get(t.Context(), exported[0].ID); err != nil || h.IOPS != 65000.5 {
			t.Errorf("elsewhere it is %+v, %v", h, err)
		}
	})
}

// The trend of a verb that counts requests has levels of those, also where they move no
// data; what its runs moved is said beside it.
func TestTrendOfRequests(t *testing.T) {
	for name, size := range map[string]float64{"reads of 4 KiB": 4096, "calls that do nothing": 0} {
		t.Run(name, func(t *testing.T) {
			s := opened(t, t.TempDir()+"/record.db")
			day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			for i := range 20 {
				iops := 1000 + float64(i%3)
				if i >= 10 {
					iops *= 60
				}
				h := Header{ID: NewID(), Kind: NFSTest, State: Done, Started: day.AddDate(0, 0, i), From: "filer", To: "here", IOPS: iops, Goodput: unit.Rate(8 * size * iops)}
				if _, err := s.begin(t.Context(), h); err != nil {
					t.Fatal(err)
				}
			}
			trend, err := s.Trend(t.Context(), Filter{From: "filer", To: "here", Kind: NFSTest}, "")
			if err != nil || len(trend.Runs) != 20 || len(trend.Levels) != 2 {
				t.Fatalf("%+v, %v", trend, err)
			}
			first, last := &trend.Levels[0], &trend.Levels[1]
			if was, is := trend.Level(first), trend.Level(last); was.Typical < 1000 || was.Typical > 1002 || is.Typical < 60_000 || is.Typical > 60_120 || is.Low <= was.High {
				t.Errorf("the levels are %+v and %+v", was, is)
			}
			if moved := last.Goodput.Typical; moved < 8*size*60_000 || moved > 8*size*60_120 {
				t.Errorf("which moved %v", moved)
			}
			if _, err := json.Marshal(trend); err != nil {
				t.Error(err)
			}
		})
	}
}
