package limit

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Two stretches of read-ahead are in flight: the next one is asked for when the program comes
// to the first page of the last one (Linux: the marked folio, mm/readahead.c).
const stretches = 2

// mostAhead is how far clients are made to read ahead at most: nfsrahead(5)'s example for
// Linux (nfs=15000, in KiB).
const mostAhead = 15000 * unit.KiB

// readAhead is Little's law for a program that reads in order through a client's cache: it
// has as many bytes in flight as the client reads ahead, and gets those in the time that one
// request takes. Reading further ahead brings more until something else is reached.
func (e *Evidence) readAhead(share, most float64) Finding {
	takes := e.Alone.Mean
	f := Finding{
		Cause: ReadAhead, Share: share,
		Says: fmt.Sprintf("A program reads in order, and the client reads %v ahead of it: %s of %v in flight, each of which takes %s also alone, make %.0f a second. None waits for another.",
			*e.ReadAhead, unit.Count(e.Depth, "request"), e.Size, unit.Milliseconds(takes), most),
	}
	if *e.ReadAhead == 0 {
		f.Says = fmt.Sprintf("A program reads in order, and the client does not read ahead of it: one request of %v in flight, which takes %s, makes %.0f a second.", e.Size, unit.Milliseconds(takes), most)
	}
	f.Predicted = e.ceiling(min(e.windows(), e.aheadRate(mostAhead)))
	need := ReadAheadFor(f.Predicted*float64(e.Size), takes, *e.ReadAhead)
	f.Action = fmt.Sprintf("have the client read further ahead: read_ahead_kb of the mount's device at %d, where something else is the limit by these laws (nfsrahead sets it for each mount)", need/unit.KiB)
	return f
}

// aheadRate is how many requests a second so much read-ahead makes.
func (e *Evidence) aheadRate(ahead unit.Size) float64 {
	if e.Size == 0 || e.Alone.Mean <= 0 {
		return math.Inf(1)
	}
	return stretches * float64(ahead) / float64(e.Size) / e.Alone.Mean.Seconds()
}

// ReadAheadFor is how far to read ahead so that a program which reads in order gets so many
// bytes a second, of which each takes that long: a power of two of KiB, more than now and at
// most what clients are made to.
func ReadAheadFor(bytes float64, takes time.Duration, now unit.Size) unit.Size {
	need := min(float64(mostAhead), bytes*takes.Seconds()/stretches)
	kib := uint64(max(1, math.Ceil(need/float64(unit.KiB))))
	return max(2*now, unit.Size(uint64(1)<<bits.Len64(kib-1))*unit.KiB)
}

// ReadAheadOf is how far a client reads ahead that has so many requests of a size in flight
// for a program that reads in order.
func ReadAheadOf(requests int, size unit.Size) unit.Size {
	return (unit.Size(requests)*size + stretches - 1) / stretches
}

// MostInOrder is how many requests of a size are in flight with all that clients are made to
// read ahead.
func MostInOrder(size unit.Size) int { return int(stretches * mostAhead / max(1, size)) }
