package html

import (
	"math"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/record"
)

// picked is a transfer that figures show.
type picked struct {
	name   string // "as found", "as left", "A", "B"; empty: the only one
	result *bulk.Result
}

// chosen are the transfers of a run that figures show: the path as it was found and as
// it was left, both variants of a comparison, or the one that the result is of.
func chosen(run *record.Run) []picked {
	var all []record.Transfer
	for _, t := range run.Transfers {
		if t.Result != nil && len(t.Result.Client.Streams)+len(t.Result.Server.Streams) > 0 {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return nil
	}
	last := len(all) - 1
	switch doc := read(run); {
	case doc.tune != nil && len(doc.tune.Kept) > 0 && last > 0:
		found := all[0]
		var left []record.Transfer
		for _, t := range all[1:] {
			if t.Phase == all[last].Phase {
				left = append(left, t)
			}
		}
		return []picked{{"as found", found.Result}, {"as left", nearest(left, float64(doc.tune.After.Goodput)).Result}}
	case doc.tune != nil:
		return []picked{{"", all[0].Result}}
	case doc.compare != nil && last > 0:
		var pair []picked
		for _, variant := range []string{"A", "B"} {
			for i := last; i >= 0; i-- {
				if strings.Contains(all[i].Phase, ", "+variant+":") {
					pair = append(pair, picked{variant, all[i].Result})
					break
				}
			}
		}
		if len(pair) > 0 {
			return pair
		}
	case doc.diagnosis != nil:
		return []picked{{"", nearest(all, doc.diagnosis.Goodput).Result}}
	}
	return []picked{{"", all[last].Result}}
}

// nearest is the transfer whose goodput comes nearest.
func nearest(all []record.Transfer, goodput float64) record.Transfer {
	best, least := all[0], math.Inf(1)
	for _, t := range all {
		if d := math.Abs(float64(goodputOf(t.Result)) - goodput); d < least {
			best, least = t, d
		}
	}
	return best
}
