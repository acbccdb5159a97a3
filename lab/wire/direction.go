package wire

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Direction is one way of the path. A zero field means unlimited, or none.
//
// A segment meets the impairments in this order: black hole, policer, loss,
// queue (with ECN), rate, delay with jitter, and on the way reordering,
// duplication and corruption. Whatever is lost before the queue therefore takes
// nothing of the rate, as with netem; a duplicate arises behind the bottleneck.
//
// The ends agree on an option by the first SYN and its answer. Strip both
// directions, as middleboxes do: with "wscale" out of the answer only, the ends
// would disagree about every window. A clamp acts on the data that flows against
// the SYN it is in.
type Direction struct {
	Rate           unit.Rate     // of the bottleneck, counting IP bytes; 0: unlimited
	Delay          time.Duration // propagation, after the bottleneck
	Jitter         time.Duration // the delay wanders between Delay-Jitter and Delay+Jitter; never reorders
	Queue          Queue         // in front of the bottleneck; without a Rate there is none
	Loss           Loss
	Reorder        Reorder
	Duplicate      float64 // share of segments that arrive twice, 0..1
	Corrupt        float64 // share of segments that arrive with a flipped bit, 0..1
	Policer        Policer
	ECN            ECN
	BlackHoleAbove int      // IP packets larger than this many bytes vanish silently
	MSSClamp       int      // the MSS option of a SYN is lowered to this many bytes
	Strip          []string // TCP options taken out of a SYN (see below): "wscale", "sack", "timestamps"
	Seed           uint64   // of everything random in this direction
}

// Queue is the limit of a drop-tail queue; whichever limit is met first counts.
// With both zero it is one bandwidth-delay product of the path's two delays,
// but at least [MinQueuePackets] packets of the MTU.
type Queue struct {
	Bytes   unit.Size // IP bytes, including what is left of the segment being sent
	Packets int       // segments, including the one being sent
}

// MinQueuePackets is the least that the default queue holds, in packets of the
// MTU: a super-packet of 64 KB at MTU 1500 is 45 of them and arrives at once.
const MinQueuePackets = 64

// Loss is random loss. Random and Gilbert may be combined.
type Loss struct {
	Random  float64 // share of segments lost independently, 0..1
	Gilbert Gilbert
}

// Gilbert is the Gilbert-Elliott model of bursty loss: a good state that loses
// nothing and a bad one, with a possible change of state at each segment.
// Gilbert, Bell System Technical Journal 39 (1960). The share of time spent in
// the bad state is P/(P+R), the mean length of a burst 1/R segments.
type Gilbert struct {
	P    float64 // good to bad, per segment
	R    float64 // bad to good, per segment
	Loss float64 // lost while bad; 0 means 1, the simple Gilbert model
}

// Reorder holds back a share of the segments, so that later ones overtake them.
type Reorder struct {
	Share float64       // 0..1
	By    time.Duration // how much later they arrive
}

// Policer is a token bucket that drops what exceeds it and queues nothing.
type Policer struct {
	Rate  unit.Rate
	Burst unit.Size // depth of the bucket, at least one MTU
}

// ECN marks segments of ECN-capable transports with Congestion Experienced (RFC
// 3168) when they find the queue above a threshold; others pass unmarked.
type ECN struct {
	AbovePackets int
	AboveBytes   unit.Size
}

// maxTime bounds delays: beyond a minute TCP's own timers decide, not the path.
const maxTime = time.Minute

// tcpOptions are the options that Strip knows, by their kind (IANA, TCP Option
// Kind Numbers).
var tcpOptions = map[string]byte{"wscale": 3, "sack": 4, "timestamps": 8}

// Check says which field of the direction is out of its range, on a path of that
// MTU.
func (d Direction) Check(mtu int) error {
	for _, p := range []struct {
		name  string
		value float64
	}{
		{"loss", d.Loss.Random}, {"gilbert p", d.Loss.Gilbert.P}, {"gilbert r", d.Loss.Gilbert.R}, {"gilbert loss", d.Loss.Gilbert.Loss},
		{"reorder share", d.Reorder.Share}, {"duplicate", d.Duplicate}, {"corrupt", d.Corrupt},
	} {
		if !(p.value >= 0 && p.value <= 1) { // also catches NaN
			return fmt.Errorf("%s %v is not a share between 0 and 1", p.name, p.value)
		}
	}
	for _, t := range []struct {
		name  string
		value time.Duration
	}{{"delay", d.Delay}, {"jitter", d.Jitter}, {"reorder by", d.Reorder.By}} {
		if t.value < 0 || t.value > maxTime {
			return fmt.Errorf("%s %v is not between 0 and %v", t.name, t.value, maxTime)
		}
	}
	switch {
	case !validRate(d.Rate):
		return fmt.Errorf("rate %v is neither 0 (unlimited) nor between 1 kb/s and 10 Tb/s", float64(d.Rate))
	case !validRate(d.Policer.Rate):
		return fmt.Errorf("policer rate %v is neither 0 (none) nor between 1 kb/s and 10 Tb/s", float64(d.Policer.Rate))
	case d.Policer.Rate > 0 && d.Policer.Burst < unit.Size(mtu):
		return fmt.Errorf("policer burst %d is below the MTU %d: nothing of that size would ever pass", d.Policer.Burst, mtu)
	case d.Jitter > d.Delay:
		return fmt.Errorf("jitter %v is above the delay %v: it would deliver before it was sent", d.Jitter, d.Delay)
	case d.Loss.Gilbert.P > 0 && d.Loss.Gilbert.R == 0:
		return fmt.Errorf("gilbert r is 0: the first burst of loss would never end")
	case d.Reorder.Share > 0 && d.Reorder.By == 0:
		return fmt.Errorf("reorder by is 0: nothing would be overtaken")
	case d.Queue.Bytes < 0 || d.Queue.Packets < 0:
		return fmt.Errorf("queue limit is negative")
	case d.Rate > 0 && d.Queue.Bytes > 0 && d.Queue.Bytes < unit.Size(mtu):
		return fmt.Errorf("queue of %d bytes is below the MTU %d: nothing of that size would ever pass", d.Queue.Bytes, mtu)
	case d.ECN.AbovePackets < 0 || d.ECN.AboveBytes < 0:
		return fmt.Errorf("ecn threshold is negative")
	case d.ECN != (ECN{}) && d.Rate == 0:
		return fmt.Errorf("ecn needs a rate: without one there is no queue to be above")
	case d.BlackHoleAbove < 0:
		return fmt.Errorf("black hole size is negative")
	case d.MSSClamp != 0 && (d.MSSClamp < minMSS || d.MSSClamp > math.MaxUint16):
		return fmt.Errorf("mss clamp %d is not between %d and %d", d.MSSClamp, minMSS, math.MaxUint16)
	}
	for _, name := range d.Strip {
		if _, ok := tcpOptions[name]; !ok {
			known := make([]string, 0, len(tcpOptions))
			for k := range tcpOptions {
				known = append(known, k)
			}
			slices.Sort(known)
			return fmt.Errorf("strip %q is not one of %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// minMSS is the least MSS that Linux sends with (TCP_MIN_MSS, include/net/tcp.h).
const minMSS = 88

func validRate(r unit.Rate) bool { return r == 0 || r >= unit.Kbps && r <= 10_000*unit.Gbps }
