package main

import (
	"math"

	"github.com/fullbore/fullbore/diagnose"
)

// score is how often verdicts were right.
type score struct {
	Runs    int     `json:"runs"` // valid ones
	Right   int     `json:"right"`
	Unknown int     `json:"unknown"` // said so
	Failed  int     `json:"failed"`  // no verdict at all
	Wrong   int     `json:"wrong"`
	Invalid int     `json:"invalid"` // not counted: the lab itself failed
	Share   float64 `json:"accuracy"`
	Low     float64 `json:"low"` // 95 % interval
	High    float64 `json:"high"`

	Healthy     int `json:"healthy_runs"`
	FalseAlarms int `json:"false_alarms"` // healthy, but called sick
}

func scoreOf(outcomes []outcome) score {
	var s score
	for i := range outcomes {
		o := &outcomes[i]
		if o.Invalid {
			s.Invalid++
			continue
		}
		s.Runs++
		switch {
		case o.right():
			s.Right++
		case o.Cause == "":
			s.Failed++
		case o.Cause == diagnose.Unknown:
			s.Unknown++
		default:
			s.Wrong++
		}
		if o.Expect == diagnose.Healthy {
			s.Healthy++
			if !o.right() && !o.unknown() {
				s.FalseAlarms++
			}
		}
	}
	s.Share, s.Low, s.High = wilson(s.Right, s.Runs)
	return s
}

// z95 leaves 2.5 % of a normal distribution on either side.
const z95 = 1.959964

// wilson is the share k/n with its 95 % score interval, which holds for few and
// for extreme outcomes too (E. B. Wilson, "Probable inference, the law of
// succession, and statistical inference", Journal of the American Statistical
// Association 22, 1927). Without any outcome it is the whole range.
func wilson(k, n int) (share, low, high float64) {
	if n == 0 {
		return math.NaN(), 0, 1
	}
	p, m := float64(k)/float64(n), float64(n)
	z2 := z95 * z95
	middle := (p + z2/(2*m)) / (1 + z2/m)
	reach := z95 / (1 + z2/m) * math.Sqrt(p*(1-p)/m+z2/(4*m*m))
	return p, max(0, middle-reach), min(1, middle+reach)
}

// matrix counts verdicts by what was planted.
type matrix struct {
	Causes []string                  `json:"causes"` // that were planted or named, in the manual's order
	Counts map[string]map[string]int `json:"counts"` // planted, then named
}

// failed stands in the matrix for runs without a verdict.
const failed = "failed"

func matrixOf(outcomes []outcome) matrix {
	m := matrix{Counts: map[string]map[string]int{}}
	seen := map[string]bool{}
	for i := range outcomes {
		o := &outcomes[i]
		if o.Invalid {
			continue
		}
		named := o.Cause
		if named == "" {
			named = failed
		}
		if m.Counts[o.Expect] == nil {
			m.Counts[o.Expect] = map[string]int{}
		}
		m.Counts[o.Expect][named]++
		seen[o.Expect], seen[named] = true, true
	}
	for _, c := range diagnose.Causes {
		if seen[c.ID] {
			m.Causes = append(m.Causes, c.ID)
		}
	}
	if seen[failed] {
		m.Causes = append(m.Causes, failed)
	}
	return m
}
