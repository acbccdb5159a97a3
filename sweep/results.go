package sweep

import (
	"slices"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// results sums up what was measured of each point.
func results(points []Point, found Point, measured []Measured, shared bool) []PointResult {
	byKey := map[string][]Measured{}
	for _, m := range measured {
		byKey[m.Key] = append(byKey[m.Key], m)
	}
	usual := found.Key()
	base := byBlock(byKey[usual])
	var all []PointResult
	for _, p := range points {
		r := PointResult{Factors: p.Values(), Taken: map[string]Value{}, Present: p.Key() == usual, point: p, Each: []float64{}, Blocks: []int{}}
		r.sum(byKey[p.Key()], shared)
		if !r.Present && r.Runs > 1 && p.onPathOf(found) {
			if a, b := paired(base, byBlock(byKey[p.Key()])); len(a) > 1 {
				e := stat.PairedAt(0.95, a, b)
				r.Gain = &e
			}
		}
		all = append(all, r)
	}
	return all
}

// byBlock are the goodputs of runs by their block.
func byBlock(all []Measured) map[int]float64 {
	runs := map[int]float64{}
	for _, m := range all {
		if m.Run != nil && m.Run.Goodput > 0 {
			runs[m.Block] = float64(m.Run.Goodput)
		}
	}
	return runs
}

func (r *PointResult) sum(all []Measured, shared bool) {
	var loaded, repeated, perACK, iops []float64
	host, process := [2][]float64{}, [2][]float64{}
	numbers := map[string][]float64{}
	for _, m := range all {
		for _, note := range m.Notes {
			if !slices.Contains(r.Notes, note) && len(r.Notes) < 10 {
				r.Notes = append(r.Notes, note)
			}
		}
		if m.Run == nil || m.Run.Goodput <= 0 {
			r.Failed++
			if note := "failed: " + m.Error; !slices.Contains(r.Notes, note) && len(r.Notes) < 10 {
				r.Notes = append(r.Notes, note)
			}
			continue
		}
		r.Runs++
		r.Each, r.Blocks = append(r.Each, float64(m.Run.Goodput)), append(r.Blocks, m.Block)
		if m.IOPS > 0 {
			iops = append(iops, m.IOPS)
		}
		for name, v := range m.Taken {
			if v.IsNumber() {
				numbers[name] = append(numbers[name], v.Number)
			} else {
				r.Taken[name] = v
			}
		}
		if len(m.Run.Figures) == 0 {
			continue
		}
		f := &m.Run.Figures[0]
		for i, cost := range []*bulk.Cost{f.SenderCPU, f.ReceiverCPU} {
			if cost != nil {
				process[i] = append(process[i], cost.Process)
				if cost.Host != nil {
					host[i] = append(host[i], *cost.Host)
				}
			}
		}
		if f.LoadedRTT != nil {
			loaded = append(loaded, f.LoadedRTT.Median.Seconds())
		}
		if f.Repeated != nil && f.Repeated.Share != nil {
			repeated = append(repeated, *f.Repeated.Share)
		}
		if f.SenderACKs != nil {
			perACK = append(perACK, f.SenderACKs.Ratio)
		}
		if m.ACKs != nil {
			r.Series = append(r.Series, m.ACKs)
		}
	}
	for name, x := range numbers {
		r.Taken[name] = number(stat.Median(x))
	}
	if len(iops) > 0 {
		r.IOPS = stat.Typical(iops).Typical
	}
	if r.Runs > 0 {
		interval := stat.Typical(r.Each)
		r.Goodput = unit.Rate(interval.Typical)
		if r.Runs > 1 {
			r.CI95 = &[2]float64{interval.Low, interval.High}
		}
	}
	r.Host = CPUs{mean(host[0]), mean(host[1])}
	r.Process = CPUs{mean(process[0]), mean(process[1])}
	r.CPUs = r.Host
	if shared {
		r.CPUs = r.Process
	}
	r.Loaded, r.Repeated, r.PerACK = middle(loaded), middle(repeated), middle(perACK)
	_, byPath := r.Factors["path.loss"]
	r.needed(all, byPath)
	r.RTT = r.rtt.Seconds()
}

func mean(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	m := stat.Mean(x)
	return &m
}

func middle(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	m := stat.Median(x)
	return &m
}

// newMeasured keeps of a transfer what a sweep needs.
func newMeasured(t turn, began time.Time, r *bulk.Result, also []string) Measured {
	run := experiment.NewRun(began, r)
	m := Measured{Block: t.block, Key: t.point.Key(), Began: began, Run: &run}
	if slices.Contains(also, "acks") {
		if f := r.Figures(r.Spec.Directions()[0]); f.SenderACKs != nil {
			m.ACKs = f.SenderACKs.Series
		}
	}
	return m
}
