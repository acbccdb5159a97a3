package experiment

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/stat"
)

// AB compares two variants of a transfer, run in turns.
type AB struct {
	A, B     Variant
	Rounds   int     // runs of each variant, or
	UntilCI  float64 // until the ratio of their goodput is known to within this share
	Smallest float64 // difference that matters, as a share
	Seed     uint64  // of the random order; 0: one is drawn
}

// Run runs the comparison. Its document is there also with an error: of what was
// measured until then.
func (x AB) Run(ctx context.Context, watch examine.Watcher) (*ABDocument, error) {
	for x.Seed == 0 {
		x.Seed = rand.Uint64() >> 11 // JSON numbers hold 53 bits exactly
	}
	a, b := &x.A, &x.B
	a.name, b.name = "A", "B"
	settled := func() bool { return stat.SettledRatio(Goodputs(a.runs), Goodputs(b.runs), x.UntilCI) }
	t := &turns{variants: []*Variant{a, b}, seed: x.Seed, watch: watch}
	err := t.run(ctx, func(rounds int) bool {
		if x.UntilCI > 0 {
			return rounds >= stat.MostRuns || settled()
		}
		return rounds >= x.Rounds
	})
	d := &ABDocument{
		Schema: "fullbore/compare/1", Seed: x.Seed, Order: strings.Join(t.order, ""), Rounds: min(len(a.runs), len(b.runs)),
		A: ABSide{Args: a.Args, Spec: a.Spec}, B: ABSide{Args: b.Args, Spec: b.Spec},
		Smallest: x.Smallest, UntilCI: x.UntilCI, Runs: t.runs,
	}
	if d.Rounds > 0 {
		comparison := Compare(a.runs, b.runs, x.Smallest)
		d.Comparison = &comparison
		d.A.Summary, d.B.Summary = &comparison.A, &comparison.B
	}
	if x.UntilCI > 0 {
		known := settled()
		d.Settled = &known
	}
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted: what was measured until then is reported")
		}
		d.Error = err.Error()
	}
	return d, err
}

// ABDocument is the JSON contract of compare (docs/json.md).
type ABDocument struct {
	Schema   string  `json:"schema"` // "fullbore/compare/1"
	A        ABSide  `json:"a"`
	B        ABSide  `json:"b"`
	Seed     uint64  `json:"seed"`
	Order    string  `json:"order"` // as they ran, the warm-ups left out: "ABBA"
	Rounds   int     `json:"rounds"`
	Smallest float64 `json:"smallest_difference"` // share that matters
	UntilCI  float64 `json:"until_ci,omitempty"`
	Settled  *bool   `json:"settled,omitempty"` // whether the ratio is known to within that
	*Comparison
	Runs  []Run  `json:"runs"`
	Error string `json:"error,omitempty"` // why it ended early
}

// ABSide is what a document says of one of the variants.
type ABSide struct {
	Args string    `json:"args"`
	Spec bulk.Spec `json:"spec"`
	*Summary
}
