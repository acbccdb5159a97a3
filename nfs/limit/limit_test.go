package limit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/fullbore/fullbore/diagnose"
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
	w.known = seed%2 == 1
	return w
}

// A thread that waits for the disk is the disk's, unless all threads are known to be at work
// while the disk reads as fast as for one: then more of them get more out of it.
func TestThreadsBeforeDisk(t *testing.T) {
	one := world{rtt: time.Millisecond, link: 10 * unit.Gbps, window: 1 << 20, connections: 1, depth: 16, size: 4 << 10, work: 10 * time.Microsecond, disk: 5 * time.Millisecond, ahead: -1, seed: 1}
	for _, test := range []struct {
		name              string
		threads, spindles int
		known             bool
		want              string
	}{
		{"two threads, a disk that reads many blocks at once", 2, 16, true, Threads},
		{"the same, and nobody says how many threads there are", 2, 16, false, Disk},
		{"eight threads, a disk that reads one block at a time", 8, 1, true, Disk},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := one
			w.threads, w.spindles, w.known = test.threads, test.spindles, test.known
			e := w.evidence()
			found := Diagnose(e)
			if len(found) == 0 || found[0].Cause != test.want {
				t.Fatalf("want %s: %+v\n%+v", test.want, found, *e)
			}
			if more := w; test.want == Threads {
				more.threads *= 16
				if came := more.run(w.depth, 1, many, false).look().IOPS; math.Abs(math.Log(found[0].Predicted/came)) > 0.2 {
					t.Errorf("%.0f predicted, with more threads %.0f", found[0].Predicted, came)
				}
			}
		})
	}
}

// One request in flight waits for no other, also where the host was slower than a moment
// before; and what fits no limit is said to be so.
func TestNothingWaits(t *testing.T) {
	const ms = time.Millisecond
	e := &Evidence{Connections: 1, Depth: 1, Size: 4096, Idle: Beside{10 * ms, 10 * ms}, Again: Look{IOPS: 100, Mean: 10 * ms}, Alone: Look{IOPS: 100, Mean: 10 * ms}, Now: Look{IOPS: 70, Mean: 14 * ms}, Loaded: Beside{10 * ms, 10 * ms}}
	if f := Diagnose(e)[0]; f.Cause != OneReader {
		t.Errorf("%+v", f)
	}
	e.Depth, e.Now.Median, e.More = 8, 10*ms, Look{IOPS: 70, Mean: 200 * ms, Median: 10 * ms}
	if f := Diagnose(e); f[0].Cause != diagnose.Unknown || len(f) != 1 {
		t.Errorf("%+v", f)
	}
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
