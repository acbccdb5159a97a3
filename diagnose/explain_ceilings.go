package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/fullbore/fullbore/unit"
)

// Ceiling is the goodput that one part alone allows.
type Ceiling struct {
	Of   string // the part, in words
	Rate unit.Rate
}

// OfPath is the ceiling of the path itself.
const OfPath = "path"

// Ceilings compares the goodput, which comes first, with what each part allows
// as far as that is known, the lowest next. One that the goodput has surely
// passed is none, and left out.
func Ceilings(e *Evidence) []Ceiling {
	v := newView(better(e))
	if v.goodput <= 0 || v.rtt <= 0 {
		return nil
	}
	var ceilings []Ceiling
	add := func(of string, rate unit.Rate) {
		if (rate > v.goodput || Agrees(rate, v.goodput)) && !math.IsInf(float64(rate), 0) {
			ceilings = append(ceilings, Ceiling{of, rate})
		}
	}
	if limit, known := v.pathLimit(); known {
		add(OfPath, limit)
	}
	if max(v.rwnd, v.windowFull()) > 0.5 { // it is used up, whatever made it so small
		add("receive window", v.windowRate())
	} else {
		add("receive buffer", v.receiverLimit().rate)
	}
	add("send buffer", v.senderLimit().rate)
	add("loss, by model", v.lossLimit().rate)
	slices.SortStableFunc(ceilings, func(a, b Ceiling) int { return cmp.Compare(a.Rate, b.Rate) })
	return append([]Ceiling{{"goodput", v.goodput}}, ceilings...)
}
