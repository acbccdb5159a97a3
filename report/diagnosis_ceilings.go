package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// bars is how many columns the longest bar has.
const bars = 34

// ceilings draws the goodput beside what each part alone allows, on one scale
// that ends with the path: what allows more than that has an arrow.
func (s *sheet) ceilings(all []diagnose.Ceiling) {
	if len(all) < 2 {
		return
	}
	scale := all[0].Rate
	for _, c := range all {
		scale = max(scale, min(c.Rate, 8*all[0].Rate)) // without a path: goodput can still be seen
	}
	if i := slices.IndexFunc(all, func(c diagnose.Ceiling) bool { return c.Of == diagnose.OfPath }); i >= 0 {
		scale = max(all[0].Rate, all[i].Rate)
	}
	s.gap()
	for i, c := range all {
		line := fmt.Sprintf("%-15s %s %s", c.Of, bar(c.Rate, scale), c.Rate)
		if i == 0 {
			line = s.style.bold(line)
		}
		s.line(first(i, "compared"), line)
	}
}

// bar is a share of the scale, in eighths of a column.
func bar(rate, scale unit.Rate) string {
	if rate > scale {
		return strings.Repeat("█", bars-1) + "▶"
	}
	eighths := 0
	if scale > 0 {
		eighths = max(1, int(float64(rate/scale)*bars*8+0.5))
	}
	text := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[eighths%8-1])
	}
	return text + strings.Repeat(" ", bars-len([]rune(text)))
}
