package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Queue is the limit of a drop-tail queue. A scenario gives it in one unit; where
// both packets and another are set, whichever limit is met first counts. The zero
// value is one bandwidth-delay product of the direction's rate and the path's
// round-trip time, but at least [MinQueuePackets] packets of the MTU.
type Queue struct {
	Bytes   unit.Size     `json:"bytes,omitempty"`   // IP bytes, including what is left of the segment being sent
	Packets int           `json:"packets,omitempty"` // segments, including the one being sent
	Time    time.Duration `json:"time_ns,omitempty"` // to drain it at the link's rate
	BDP     float64       `json:"bdp,omitempty"`
}

// MinQueuePackets is the least that the default queue holds, in packets of the
// MTU: a super-packet of 64 KB at MTU 1500 is 45 of them and arrives at once.
const MinQueuePackets = 64

// Most of a queue: the time is that of any delay. A thousand BDP is no unit to
// think in.
const (
	maxQueueTime = 10 * time.Second
	maxQueueBDP  = 1000
)

// FromWord reads 256KB, 100p, 20ms or 1bdp.
func (q *Queue) FromWord(word string) (err error) {
	var got Queue
	lower := strings.ToLower(word)
	switch {
	case strings.HasSuffix(lower, "bdp"):
		got.BDP, err = strconv.ParseFloat(strings.TrimSpace(lower[:len(lower)-len("bdp")]), 64)
	case strings.HasSuffix(lower, "p"):
		got.Packets, err = strconv.Atoi(strings.TrimSpace(lower[:len(lower)-len("p")]))
	case strings.HasSuffix(lower, "s"):
		got.Time, err = time.ParseDuration(lower)
	default:
		got.Bytes, err = unit.ParseSize(word)
	}
	switch {
	case err != nil:
		return fmt.Errorf("queue %q is not bytes (256KB), packets (100p), time (20ms) or bandwidth-delay products (1bdp)", word)
	case got == (Queue{}):
		return fmt.Errorf("queue %q holds nothing: not even the packet on the wire could wait", word)
	case got.outOfRange() != nil:
		return fmt.Errorf("queue %q: %w", word, got.outOfRange())
	}
	*q = got
	return nil
}

// Range is what a scenario may say.
func (*Queue) Range() string { return fmt.Sprintf("up to %s or %dbdp", maxQueueTime, maxQueueBDP) }

func (q Queue) outOfRange() error {
	switch {
	case q.Bytes < 0 || q.Packets < 0 || q.Time < 0 || q.BDP < 0:
		return errors.New("its length is negative")
	case q.Time > maxQueueTime:
		return fmt.Errorf("its time is above %s", maxQueueTime)
	case !(q.BDP <= maxQueueBDP): // also catches NaN
		return fmt.Errorf("it is more than %d bandwidth-delay products", maxQueueBDP)
	}
	return nil
}

// conflict is what is wrong with it before a link of that rate.
func (q Queue) conflict(rate unit.Rate, rtt time.Duration, mtu int) error {
	if err := q.outOfRange(); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	if size := q.Size(rate, rtt); rate > 0 && q != (Queue{Packets: q.Packets}) && size < unit.Size(mtu) {
		return fmt.Errorf("queue of %d bytes is below the MTU %d: nothing of that size would ever pass", size, mtu)
	}
	return nil
}

// String writes the queue as a scenario would.
func (q Queue) String() string {
	switch {
	case q.Packets > 0:
		return strconv.Itoa(q.Packets) + " packets"
	case q.Time > 0:
		return unit.Milliseconds(q.Time)
	case q.BDP > 0:
		return strconv.FormatFloat(q.BDP, 'g', 4, 64) + " bdp"
	default:
		return q.Bytes.String()
	}
}

// Size is the queue in bytes, for all but packets.
func (q Queue) Size(rate unit.Rate, rtt time.Duration) unit.Size {
	switch {
	case q.Time > 0:
		return rate.BytesIn(q.Time)
	case q.BDP > 0:
		return unit.Size(q.BDP * float64(rate.BytesIn(rtt)))
	default:
		return q.Bytes
	}
}

// ECN marks segments of ECN-capable transports with Congestion Experienced (RFC
// 3168) when they find the queue longer than Above; others pass unmarked.
type ECN struct {
	Above Queue `yaml:"above" json:"above"`
}

// Says is how a drawing of the path has it.
func (e ECN) Says() string { return fmt.Sprintf("marks ECN above %s of queue", e.Above) }

func (e ECN) conflict(s site) error {
	if s.Rate == 0 {
		return errors.New("ecn needs a rate: without one there is no queue to be above")
	}
	if err := e.Above.outOfRange(); err != nil {
		return fmt.Errorf("ecn above: %w", err)
	}
	return nil
}

func (e ECN) install(l *lane, s site) {
	l.bottleneck.markBytes, l.bottleneck.markCount = float64(e.Above.Size(s.Rate, s.rtt)), e.Above.Packets
}

// bottleneck is a drop-tail queue in front of a link of a fixed rate, as a
// virtual clock: no time passes in it, it only computes when each segment departs.
// Times are nanoseconds since the wire was started.
type bottleneck struct {
	perByte    float64 // ns that a byte takes; 0: unlimited
	idle       float64 // when the last segment taken has departed
	limitBytes float64
	limitCount int // segments; 0: only bytes count
	markBytes  float64
	markCount  int
	pool       *pool // that its queue is part of; nil: of none

	departures ring[int64] // of the segments that may still be queued
	peakBytes  float64
	peakCount  int
}

func newBottleneck(s site) bottleneck {
	if s.Rate == 0 {
		return bottleneck{}
	}
	b := bottleneck{
		perByte:    8e9 / float64(s.Rate),
		limitBytes: float64(s.Queue.Size(s.Rate, s.rtt)),
		limitCount: s.Queue.Packets,
	}
	if s.Queue == (Queue{}) {
		b.limitBytes = float64(max(s.Rate.BytesIn(s.rtt), MinQueuePackets*unit.Size(s.mtu)))
	}
	return b
}

// arrive puts a segment of size bytes into the queue at now and returns when it
// has departed, or that the queue is full, or that it was long enough to mark.
func (b *bottleneck) arrive(now int64, size int) (departure int64, mark, full bool) {
	if b.perByte == 0 {
		return now, false, false
	}
	for b.departures.n > 0 && *b.departures.at(0) <= now {
		b.departures.pop()
	}
	start := max(b.idle, float64(now))
	backlog := (start - float64(now)) / b.perByte
	count := b.departures.n
	if b.limitBytes > 0 && backlog+float64(size) > b.limitBytes || b.limitCount > 0 && count >= b.limitCount ||
		b.pool != nil && b.pool.holds(now)+float64(size) > b.pool.limit {
		return 0, false, true
	}
	b.idle = start + float64(size)*b.perByte
	departure = int64(b.idle)
	b.departures.push(departure)
	b.peakBytes = max(b.peakBytes, backlog+float64(size))
	b.peakCount = max(b.peakCount, count+1)
	mark = b.markBytes > 0 && backlog > b.markBytes || b.markCount > 0 && count > b.markCount
	return departure, mark, false
}
