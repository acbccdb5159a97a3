package regular

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fullbore/fullbore/record"
)

// world is a mesh that is measured again and again.
type world struct {
	hosts   int
	scatter float64                             // of one measurement, as a share
	carries func(from, to int, run int) float64 // bit/s
}

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// measure gives what so many runs came to, the oldest first.
func (w *world) measure(r *rand.Rand, runs int) (all []record.Measured) {
	for run := range runs {
		for from := range w.hosts {
			for to := range w.hosts {
				if from != to {
					all = append(all, record.Measured{
						Run: fmt.Sprint(run), Started: began.Add(time.Duration(run) * time.Hour), From: fmt.Sprint("h", from), To: fmt.Sprint("h", to),
						Goodput: w.carries(from, to, run) * math.Exp(w.scatter*r.NormFloat64()),
					})
				}
			}
		}
	}
	return all
}

// live is what is found run after run, as a hub looks.
func (w *world) live(r *rand.Rand, runs int) (found []record.Shift) {
	all := w.measure(r, runs)
	each := len(all) / runs
	for run := 1; run <= runs; run++ {
		at := began.Add(time.Duration(run-1)*time.Hour + 10*time.Minute)
		found = append(found, newShifts("mesh", fmt.Sprint(run-1), at, all[max(0, run-lookBack)*each:run*each], found)...)
	}
	return found
}

func steady(int, int, int) float64 { return 9e8 }

// TestNothingShifts: where nothing changes, nobody is told so. Of 60 fleets with 30 runs each, which scatter
// by up to 10 %, there may be one false alarm.
func TestNothingShifts(t *testing.T) {
	t.Parallel()
	var found []record.Shift
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := world{hosts: 2 + r.IntN(4), scatter: 0.1 * r.Float64(), carries: steady}
		found = append(found, w.live(r, 30)...)
	}
	t.Logf("%d false alarms", len(found))
	if len(found) > 1 {
		t.Errorf("%d false alarms: %v", len(found), found)
	}
}

// TestShiftsAreFound: a host that sends less than before is one shift, a way that does is one, each is told of
// once, soon after it begins, with both levels.
func TestShiftsAreFound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		carries func(from, to, run int) float64
		want    record.Shift
	}{
		"a host sends": {func(from, _, run int) float64 {
			if from == 2 && run >= 15 {
				return 5e8
			}
			return 9e8
		}, record.Shift{Kind: record.ShiftSends, From: "h2", After: 5e8}},
		"a host receives": {func(_, to, run int) float64 {
			if to == 1 && run >= 15 {
				return 7e8
			}
			return 9e8
		}, record.Shift{Kind: record.ShiftReceives, To: "h1", After: 7e8}},
		"a way": {func(from, to, run int) float64 {
			if from == 0 && to == 3 && run >= 15 {
				return 6e8
			}
			return 9e8
		}, record.Shift{Kind: record.ShiftLink, From: "h0", To: "h3", After: 6e8}},
		"a way gets better": {func(from, to, run int) float64 {
			if from == 0 && to == 3 && run < 15 {
				return 6e8
			}
			return 9e8
		}, record.Shift{Kind: record.ShiftLink, From: "h0", To: "h3", After: 9e8}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			right := 0
			const worlds = 20
			for seed := range uint64(worlds) {
				w := world{hosts: 5, scatter: 0.03, carries: test.carries}
				found := w.live(rand.New(rand.NewPCG(seed, 3)), 30)
				if len(found) != 1 {
					t.Logf("seed %d: %v", seed, found)
					continue
				}
				f := found[0]
				late := f.Found.Sub(began.Add(15 * time.Hour))
				if f.Kind == test.want.Kind && f.From == test.want.From && f.To == test.want.To && math.Abs(float64(f.After/test.want.After)-1) < 0.05 && late >= 0 && late < 8*time.Hour {
					right++
				} else {
					t.Logf("seed %d: %v, %v late", seed, f, late)
				}
			}
			if right < worlds-1 {
				t.Errorf("%d of %d were found once, as they are", right, worlds)
			}
		})
	}
}

// TestTwoHosts: of two hosts nobody can say which one it is: it is the way.
func TestTwoHosts(t *testing.T) {
	t.Parallel()
	w := world{hosts: 2, scatter: 0.02, carries: func(from, _, run int) float64 {
		if from == 0 && run >= 10 {
			return 4e8
		}
		return 9e8
	}}
	found := w.live(rand.New(rand.NewPCG(1, 4)), 20)
	if len(found) != 1 || found[0].Kind != record.ShiftLink || found[0].From != "h0" {
		t.Errorf("%v", found)
	}
}
