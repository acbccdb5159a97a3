package wire

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// chunk is consecutive segments of one packet that are delivered together.
type chunk struct {
	packet   *packet
	due      int64 // when the last of them arrives, ns
	span     int64 // how much earlier the first does
	first, n int
	hop      int  // which link of its route it is on
	ce       bool // to be marked
	spoilt   bool // to be corrupted
}

// guard says whether a segment of size IP bytes that comes at now goes on.
type guard interface {
	pass(now int64, size int) bool
}

// gate is what a segment must pass before the queue.
type gate struct {
	guard
	drops *atomic.Uint64 // those that it did not let pass
}

// lane decides what becomes of each segment of one direction, and when. It makes
// no system call.
type lane struct {
	delay                       atomic.Int64 // ns
	reorderBy                   int64
	syn                         synRules
	gates                       []gate // in the order of the fields of [Direction]
	bottleneck                  bottleneck
	jitter                      jitter
	duplicate, reorder, corrupt coin
	bit                         *rand.Rand // which bit of a corrupted segment is flipped

	// What is on its way, each in order of due: held has the segments that others
	// overtake.
	straight, held ring[chunk]
	arrived        int64 // when the last segment came, ns
	count          Counts[atomic.Uint64]
	late           histogram
}

// newLane is a lane for the direction of a path, of which back is the delay of the
// other direction.
func newLane(d Direction, back time.Duration, mtu int) *lane {
	s := site{&d, d.Delay + back, mtu}
	l := &lane{bottleneck: newBottleneck(s), jitter: newJitter(d.Jitter, d.Seed)}
	l.delay.Store(int64(d.Delay))
	for _, impairment := range d.Impairments() {
		impairment.install(l, s)
	}
	return l
}

// gate adds one behind those that are there.
func (l *lane) gate(g guard, drops *atomic.Uint64) {
	l.gates = append(l.gates, gate{g, drops})
}

// admit takes a packet that came at now, and puts on their way those of its
// segments that survive. Nothing refers to the packet if p.refs is 0 afterwards.
func (l *lane) admit(p *packet, now int64) {
	l.take(chunk{packet: p, n: p.segments, due: now})
}

// take does the same with segments that come from another link, each by its share of their span.
func (l *lane) take(in chunk) {
	p := in.packet
	bytes := p.bytes(in.first, in.n)
	perByte := 0.0
	if in.span > 0 {
		perByte = float64(in.span) / float64(bytes-p.size(in.first))
	}
	l.count.SegmentsIn.Add(uint64(in.n))
	l.count.BytesIn.Add(uint64(bytes))
	l.count.Waiting.Add(uint64(in.n))
	if l.syn.apply(p) {
		l.count.Rewritten.Add(1)
	}
	var run chunk // grows while segments are alike
	var began int64
	for i := in.first; i < in.first+in.n; i++ {
		size := p.size(i)
		bytes -= size
		l.arrived = max(l.arrived, in.due-int64(perByte*float64(bytes))) // others may have come meanwhile
		departure, ce, ok := l.pass(p, l.arrived, size)
		if !ok {
			continue
		}
		due := departure + l.delay.Load() + l.jitter.at(departure)
		c := chunk{packet: p, due: due, first: i, n: 1, hop: in.hop, ce: ce || in.ce, spoilt: in.spoilt}
		twice, held := l.duplicate.toss(), l.reorder.toss()
		if l.corrupt.toss() {
			l.count.Corrupted.Add(1)
			c.spoilt = true
		}
		if twice || held || c.spoilt {
			l.send(&run)
			l.sendOdd(c, twice, held)
			continue
		}
		if run.n > 0 && run.first+run.n == i && run.ce == c.ce && departure-began <= int64(Quantum) {
			run.n, run.due, run.span = run.n+1, due, run.span+due-run.due
			continue
		}
		l.send(&run)
		run, began = c, departure-int64(float64(size)*l.bottleneck.perByte)
	}
	l.send(&run)
	if l.bottleneck.perByte > 0 {
		l.count.PeakQueueBytes.Store(uint64(l.bottleneck.peakBytes))
		l.count.PeakQueuePackets.Store(uint64(l.bottleneck.peakCount))
	}
}

// pass takes a segment as far as behind the bottleneck.
func (l *lane) pass(p *packet, now int64, size int) (departure int64, ce, ok bool) {
	for i := range l.gates {
		if g := &l.gates[i]; !g.pass(now, size) {
			return l.drop(g.drops)
		}
	}
	departure, mark, full := l.bottleneck.arrive(now, size)
	if full {
		return l.drop(&l.count.Drops.Queue)
	}
	if ce = mark && p.ecnCapable; ce {
		l.count.Marked.Add(1)
	}
	return departure, ce, true
}

func (l *lane) drop(counter *atomic.Uint64) (departure int64, ce, ok bool) {
	counter.Add(1)
	l.count.Waiting.Add(^uint64(0))
	return 0, false, false
}

// send puts the run on its way and empties it.
func (l *lane) send(run *chunk) {
	if run.n > 0 {
		run.packet.refs++
		l.straight.push(*run)
		run.n = 0
	}
}

// sendOdd puts a segment on its way that goes alone.
func (l *lane) sendOdd(c chunk, twice, held bool) {
	way, copies := &l.straight, 1
	if held {
		l.count.Reordered.Add(1)
		way, c.due = &l.held, c.due+l.reorderBy
	}
	if twice {
		l.count.Duplicated.Add(1)
		l.count.Waiting.Add(1)
		copies = 2
	}
	for range copies {
		c.packet.refs++
		way.push(c)
	}
}

// next is the way whose oldest chunk is due first, nil when nothing is on its way.
func (l *lane) next() *ring[chunk] {
	switch {
	case l.held.n == 0 && l.straight.n == 0:
		return nil
	case l.held.n == 0 || l.straight.n > 0 && l.straight.at(0).due <= l.held.at(0).due:
		return &l.straight
	default:
		return &l.held
	}
}

// passed counts a chunk that went on to the next link.
func (l *lane) passed(c *chunk) {
	l.count.Waiting.Add(-uint64(c.n))
	l.count.SegmentsOut.Add(uint64(c.n))
	l.count.BytesOut.Add(uint64(c.packet.bytes(c.first, c.n)))
}

// delivered counts a chunk that was written at now, or that could not be.
func (l *lane) delivered(c *chunk, now int64, failed bool) {
	l.count.Waiting.Add(-uint64(c.n))
	if failed {
		l.count.WriteErrors.Add(uint64(c.n))
		return
	}
	l.count.Writes.Add(1)
	l.count.SegmentsOut.Add(uint64(c.n))
	l.count.BytesOut.Add(uint64(c.packet.bytes(c.first, c.n)))
	l.late.add(time.Duration(now-c.due), c.n)
}

// stats reads the counters while they go on counting.
func (l *lane) stats() DirectionStats {
	return DirectionStats{Counts: l.count.read(), Lateness: l.late.lateness()}
}

// ring is a queue that grows to what it once held and then allocates no more.
type ring[T any] struct {
	items []T // length a power of two
	head  int
	n     int
}

func (r *ring[T]) push(v T) {
	if r.n == len(r.items) {
		grown := make([]T, max(1024, 2*r.n))
		for i := range r.n {
			grown[i] = *r.at(i)
		}
		r.items, r.head = grown, 0
	}
	r.n++
	*r.at(r.n - 1) = v
}

// at is the i-th oldest item.
func (r *ring[T]) at(i int) *T { return &r.items[(r.head+i)&(len(r.items)-1)] }

// pop removes the oldest item.
func (r *ring[T]) pop() {
	r.head = (r.head + 1) & (len(r.items) - 1)
	r.n--
}
