package main

import (
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/stat"
)

// summary is everything that is reported.
type summary struct {
	Schema   string    `json:"schema"` // "fullbore/accuracy/1"
	Halves   []result  `json:"halves"` // tuning, held-out or drawn, those that were run
	Outcomes []outcome `json:"outcomes"`
}

// result is the result of one half of the suite.
type result struct {
	Half        string       `json:"half"`
	Score       score        `json:"score"`
	Matrix      matrix       `json:"matrix"`
	Calibration *calibration `json:"calibration,omitempty"` // nil: no verdict
	Times       []timing     `json:"times"`
	Gains       []gains      `json:"gains"` // by cause, then of all; none where nothing was measured
}

// timing is the traffic that verdicts took on paths of a kind.
type timing struct {
	Paths  string        `json:"paths"`
	Runs   int           `json:"runs"`
	Median time.Duration `json:"median_ns"`
	Most   time.Duration `json:"most_ns"`
	Which  string        `json:"which"` // scenario that took most
}

// gains is how far predictions were off, as shares of the measured gain.
type gains struct {
	Cause string  `json:"cause"`
	Runs  int     `json:"runs"`
	Low   float64 `json:"low_quartile"`
	Mid   float64 `json:"median"`
	High  float64 `json:"high_quartile"`
}

func summarise(outcomes []outcome) summary {
	s := summary{Schema: "fullbore/accuracy/1", Outcomes: outcomes}
	for _, half := range []string{tuning, heldOut, drawnPaths} {
		var own []outcome
		for _, o := range outcomes {
			if o.Half == half {
				own = append(own, o)
			}
		}
		if own == nil {
			continue
		}
		r := result{Half: half, Score: scoreOf(own), Matrix: matrixOf(own), Times: timings(own), Gains: gainsOf(own)}
		if c := calibrate(own); c.Verdicts > 0 {
			r.Calibration = &c
		}
		s.Halves = append(s.Halves, r)
	}
	return s
}

// timings sorts paths by RTT: a LAN, what the goal for wide areas is about, and
// the rest.
func timings(outcomes []outcome) []timing {
	var all []timing
	for _, kind := range []struct {
		paths  string
		within func(rtt time.Duration) bool
	}{
		{"LAN, RTT up to 1 ms", func(rtt time.Duration) bool { return rtt <= time.Millisecond }},
		{"RTT up to 150 ms", func(rtt time.Duration) bool { return rtt > time.Millisecond && rtt <= 150*time.Millisecond }},
		{"RTT above 150 ms", func(rtt time.Duration) bool { return rtt > 150*time.Millisecond }},
	} {
		t := timing{Paths: kind.paths}
		var times []float64
		for i := range outcomes {
			o := &outcomes[i]
			if o.Traffic == 0 || !kind.within(o.RTT) {
				continue
			}
			times = append(times, float64(o.Traffic))
			if o.Traffic > t.Most {
				t.Most, t.Which = o.Traffic, o.Scenario
			}
		}
		if t.Runs = len(times); t.Runs > 0 {
			t.Median = time.Duration(stat.Median(times))
			all = append(all, t)
		}
	}
	return all
}

func gainsOf(outcomes []outcome) []gains {
	byCause, every := map[string][]float64{}, []float64{}
	for i := range outcomes {
		if share, ok := outcomes[i].gainError(); ok {
			byCause[outcomes[i].Expect] = append(byCause[outcomes[i].Expect], share)
			every = append(every, share)
		}
	}
	var all []gains
	add := func(cause string, errors []float64) {
		if len(errors) > 0 {
			g := gains{Cause: cause, Runs: len(errors)}
			g.Low, g.Mid, g.High = stat.Quartiles(errors)
			all = append(all, g)
		}
	}
	for _, c := range diagnose.Causes {
		add(c.ID, byCause[c.ID])
	}
	add("all", every)
	return all
}
