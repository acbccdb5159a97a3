package wire

import (
	"time"

	"github.com/fullbore/fullbore/unit"
)

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

	departures ring[int64] // of the segments that may still be queued
	peakBytes  float64
	peakCount  int
}

// newBottleneck builds the queue of d. Back is the delay of the other direction,
// which the default limit needs.
func newBottleneck(d Direction, back time.Duration, mtu int) bottleneck {
	if d.Rate == 0 {
		return bottleneck{}
	}
	b := bottleneck{
		perByte:    8e9 / float64(d.Rate),
		limitBytes: float64(d.Queue.Bytes),
		limitCount: d.Queue.Packets,
		markBytes:  float64(d.ECN.AboveBytes),
		markCount:  d.ECN.AbovePackets,
	}
	if d.Queue == (Queue{}) {
		b.limitBytes = float64(max(d.Rate.BytesIn(d.Delay+back), MinQueuePackets*unit.Size(mtu)))
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
	if b.limitBytes > 0 && backlog+float64(size) > b.limitBytes || b.limitCount > 0 && count >= b.limitCount {
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

// policer is a token bucket without a queue.
type policer struct {
	perNano float64 // bytes a ns; 0: none
	burst   float64
	tokens  float64
	last    int64
}

func newPolicer(d Policer) policer {
	return policer{perNano: float64(d.Rate) / 8e9, burst: float64(d.Burst), tokens: float64(d.Burst)}
}

// allow takes size bytes out of the bucket, or nothing if they are not in it.
func (p *policer) allow(now int64, size int) bool {
	if p.perNano == 0 {
		return true
	}
	p.tokens = min(p.burst, p.tokens+float64(now-p.last)*p.perNano)
	p.last = now
	if p.tokens < float64(size) {
		return false
	}
	p.tokens -= float64(size)
	return true
}
