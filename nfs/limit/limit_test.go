package limit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// draw is a world that nobody chose.
func draw(seed uint64) world {
	c := rand.New(rand.NewPCG(seed, 3))
	between := func(low, high float64) float64 { return low * math.Pow(high/low, c.Float64()) } // on logarithms
	pick := func(of ...int) int { return of[c.IntN(len(of))] }
	w := world{
		rtt: time.Duration(between(1e5, 5e7)), link: unit.Rate(pick(1, 10, 25)) * unit.Gbps, window: int(between(32<<10, 16<<20)),
		connections: pick(1, 1, 4), size: pick(4<<10, 32<<10, 256<<10, 1<<20), threads: pick(1, 2, 8, 16, 64), work: time.Duration(between(5e3, 2e5)), spindles: pick(1, 4, 16), seed: seed,
	}
	if c.IntN(2) == 0 {
		w.disk = time.Duration(between(5e4, 1e7))
	}
	w.depth = w.connections * pick(1, 2, 8, 32, 64)
	if c.IntN(4) == 0 {
		w.connections, w.depth = 1, 1
	}
	w.ahead = -1
	switch c.IntN(4) {
	case 0: // one program reads in order, through the client's cache
		w.connections, w.ahead = 1, pick(0, 128<<10, 512<<10, 4<<20)
		w.size = min(max(w.size, 32<<10), w.ahead)
		if w.ahead == 0 {
			w.size = 4 << 10
		}
		if c.IntN(3) == 0 {
			w.slots = pick(2, 16, 64)
		}
	case 1: // more readers than the server lets ask at once
		if w.depth >= 4*w.connections {
			w.slots = w.depth / pick(2, 4)
		}
	}
	return w
}

// In worlds that are drawn, lifting the limit that is named makes requests faster, by half
// of what lifting any other one would bring at least.
func TestDrawnWorlds(t *testing.T) {
	count, wrong, clear := uint64(30), 0, 0
	if n, err := strconv.ParseUint(os.Getenv("FULLBORE_WORLDS"), 10, 32); err == nil {
		count = n
	}
	for seed := range count {
		w := draw(seed)
		e := w.evidence()
		gains := w.gains(e.Now.IOPS)
		most, best := 1.0, ""
		for cause, gain := range gains {
			if cause != Path && gain > most { // that nobody can lift
				most, best = gain, cause
			}
		}
		switch {
		case most < 1.3 && gains[Path] >= 1.3:
			most, best = gains[Path], Path
		case most < 1.3:
			continue // several limits at once: none of them alone is one
		}
		clear++
		found := Diagnose(e)
		if len(found) == 0 || gains[found[0].Cause]-1 < (most-1)/2 {
			wrong++
			verdict := "nothing"
			if len(found) > 0 {
				verdict = fmt.Sprintf("%s (x %.2f): %s", found[0].Cause, gains[found[0].Cause], found[0].Says)
			}
			t.Logf("world %d: %+v\n  %+v\n  it is %s (x %.2f), and was said to be %s", seed, w, *e, best, most, verdict)
		}
	}
	t.Logf("%d worlds, %d with one clear limit, %d named wrongly", count, clear, wrong)
	if wrong > clear/10 {
		t.Error("too many")
	}
}
