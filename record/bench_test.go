package record

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/fullbore/fullbore/unit"
)

// runsOfBench is what an agent that tests 70 paths keeps in four years of a run a day.
const runsOfBench = 100_000

// filled makes a store of runsOfBench runs on 70 paths over three years, one in a hundred
// with samples.
func filled(b *testing.B, place string) *Store {
	b.Helper()
	s, err := Open(b.Context(), place)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	random := rand.New(rand.NewPCG(1, 2))
	document := []byte(`{"schema":"fullbore/test/1","text":"` + strings.Repeat("figures ", 100) + `"}`)
	transfer := aTransfer("")
	for from := 0; from < runsOfBench; from += 1000 {
		err := s.change(b.Context(), func(tx *transaction) error {
			for i := from; i < from+1000; i++ {
				started := time.Now().Add(-time.Duration(runsOfBench-i) * 15 * time.Minute)
				var id [16]byte
				for j := range id {
					id[j] = byte(random.Uint32())
				}
				ms := started.UnixMilli()
				for j := range 6 {
					id[j] = byte(ms >> (40 - 8*j))
				}
				h := Header{
					ID: uuid.UUID(id).String(), Kind: Test, State: Done, Started: started, Ended: started.Add(10 * time.Second),
					Command: []string{"test", "far"}, From: fmt.Sprintf("host%d", i%70), To: "server", Goodput: unit.Rate(1e9 * (1 + 0.05*random.NormFloat64())), Tags: []string{"daily"},
				}
				if err := insertRun(b.Context(), tx, &h, started); err != nil {
					return err
				}
				if err := insertPart(b.Context(), tx, h.ID, "document", 1, document); err != nil {
					return err
				}
				if i%100 == 0 {
					if err := insertTransfer(b.Context(), tx, h.ID, 1, &transfer); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkStore: what people wait for, in a store of many runs. Opening it is part of it.
func BenchmarkStore(b *testing.B) {
	b.Run("SQLite", func(b *testing.B) { benchmark(b, b.TempDir()+"/record.db") })
	b.Run("PostgreSQL", func(b *testing.B) { benchmark(b, newDatabase(b)) })
}

func benchmark(b *testing.B, place string) {
	s := filled(b, place)
	all, err := s.List(b.Context(), Filter{Most: 100})
	if err != nil {
		b.Fatal(err)
	}
	var withSamples string
	for _, h := range all {
		if r, err := s.Load(b.Context(), h.ID); err == nil && len(r.Transfers) > 0 {
			withSamples = h.ID
		}
	}
	size, err := s.Size(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	again := func(name string, what func(*Store) error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, err := Open(b.Context(), place)
				if err != nil {
					b.Fatal(err)
				}
				if err := what(s); err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size)/runsOfBench, "bytes/run")
		})
	}
	list := func(f Filter) func(*Store) error {
		return func(s *Store) error {
			if got, err := s.List(b.Context(), f); err != nil || len(got) == 0 {
				return fmt.Errorf("%d runs, %w", len(got), err)
			}
			_, err := s.Size(b.Context())
			return err
		}
	}
	again("history", list(Filter{Most: 25}))
	again("history of a host", list(Filter{Host: "host7", Most: 25}))
	again("history of a tag", list(Filter{Tag: "daily", Most: 25}))
	again("history of all", list(Filter{}))
	again("trend of a path", func(s *Store) error {
		t, err := s.Trend(b.Context(), Filter{From: "host7", To: "server", Kind: Test}, "")
		if err == nil && len(t.Runs) == 0 {
			return os.ErrNotExist
		}
		return err
	})
	again("the last of each path", func(s *Store) error {
		last, all, err := s.Latest(b.Context(), 1000)
		if err == nil && (len(last) != 70 || !all) {
			return fmt.Errorf("%d, all: %v", len(last), all)
		}
		return err
	})
	again("count", func(s *Store) error {
		n, err := s.Count(b.Context())
		if err == nil && n != runsOfBench {
			return fmt.Errorf("%d", n)
		}
		return err
	})
	again("find and load a run", func(s *Store) error {
		id, err := s.Find(b.Context(), withSamples[24:])
		if err != nil {
			return err
		}
		_, err = s.Load(b.Context(), id)
		return err
	})
}
