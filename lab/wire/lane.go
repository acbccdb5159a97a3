package wire

import (
	"sync/atomic"
	"time"
)

// chunk is consecutive segments of one packet that are delivered together.
type chunk struct {
	packet   *packet
	due      int64 // when the last of them arrives, ns
	first, n int
	ce       bool // to be marked
	spoilt   bool // to be corrupted
}

// counters are the numbers of one direction: one thread adds, any reads.
type counters struct {
	segmentsIn, bytesIn, segmentsOut, bytesOut, waiting         atomic.Uint64
	queue, loss, policer, blackHole, malformed, overrun         atomic.Uint64
	marked, duplicated, reordered, corrupted, rewritten, failed atomic.Uint64
	peakBytes, peakPackets, reads, writes                       atomic.Uint64
	late                                                        histogram
}

// lane decides what becomes of each segment of one direction, and when. It makes
// no system call.
type lane struct {
	delay, reorderBy int64
	blackHole        int
	syn              synRules
	policer          policer
	chance           chance
	bottleneck       bottleneck
	jitter           jitter

	// What is on its way, each in order of due: held has the segments that others
	// overtake.
	straight, held ring[chunk]
	count          counters
}

func newLane(d Direction, back time.Duration, mtu int) *lane {
	l := &lane{
		delay:      int64(d.Delay),
		reorderBy:  int64(d.Reorder.By),
		blackHole:  d.BlackHoleAbove,
		syn:        newSynRules(d),
		policer:    newPolicer(d.Policer),
		chance:     newChance(d),
		bottleneck: newBottleneck(d, back, mtu),
		jitter:     newJitter(d.Jitter, d.Seed),
	}
	if l.blackHole == 0 {
		l.blackHole = maxPacket
	}
	return l
}

// admit takes a packet that came at now, and puts on their way those of its
// segments that survive. Nothing refers to the packet if p.refs is 0 afterwards.
func (l *lane) admit(p *packet, now int64) {
	l.count.segmentsIn.Add(uint64(p.segments))
	l.count.bytesIn.Add(uint64(p.bytes(0, p.segments)))
	l.count.waiting.Add(uint64(p.segments))
	if l.syn.apply(p) {
		l.count.rewritten.Add(1)
	}
	var run chunk // grows while segments are alike
	var began int64
	for i := range p.segments {
		size := p.size(i)
		departure, ce, ok := l.pass(p, now, size)
		if !ok {
			continue
		}
		due := departure + l.delay + l.jitter.at(departure)
		c := chunk{packet: p, due: due, first: i, n: 1, ce: ce}
		twice, held := l.chance.duplicate.toss(), l.chance.reorder.toss()
		c.spoilt = l.chance.corrupt.toss()
		if twice || held || c.spoilt {
			l.send(&run)
			l.sendOdd(c, twice, held)
			continue
		}
		if run.n > 0 && run.first+run.n == i && run.ce == ce && departure-began <= int64(Quantum) {
			run.n, run.due = run.n+1, due
			continue
		}
		l.send(&run)
		run, began = c, departure-int64(float64(size)*l.bottleneck.perByte)
	}
	l.send(&run)
	if l.bottleneck.perByte > 0 {
		l.count.peakBytes.Store(uint64(l.bottleneck.peakBytes))
		l.count.peakPackets.Store(uint64(l.bottleneck.peakCount))
	}
}

// pass takes a segment as far as behind the bottleneck.
func (l *lane) pass(p *packet, now int64, size int) (departure int64, ce, ok bool) {
	reason := &l.count.queue
	switch {
	case size > l.blackHole:
		reason = &l.count.blackHole
	case !l.policer.allow(now, size):
		reason = &l.count.policer
	case l.chance.lost():
		reason = &l.count.loss
	default:
		departure, mark, full := l.bottleneck.arrive(now, size)
		if full {
			break
		}
		if ce = mark && p.ecnCapable; ce {
			l.count.marked.Add(1)
		}
		return departure, ce, true
	}
	reason.Add(1)
	l.count.waiting.Add(^uint64(0))
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
	if c.spoilt {
		l.count.corrupted.Add(1)
	}
	way, copies := &l.straight, 1
	if held {
		l.count.reordered.Add(1)
		way, c.due = &l.held, c.due+l.reorderBy
	}
	if twice {
		l.count.duplicated.Add(1)
		l.count.waiting.Add(1)
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

// delivered counts a chunk that was written at now, or that could not be.
func (l *lane) delivered(c *chunk, now int64, failed bool) {
	l.count.waiting.Add(-uint64(c.n))
	if failed {
		l.count.failed.Add(uint64(c.n))
		return
	}
	l.count.writes.Add(1)
	l.count.segmentsOut.Add(uint64(c.n))
	l.count.bytesOut.Add(uint64(c.packet.bytes(c.first, c.n)))
	l.count.late.add(time.Duration(now-c.due), c.n)
}

// stats reads the counters while they go on counting.
func (l *lane) stats() DirectionStats {
	c := &l.count
	return DirectionStats{
		SegmentsIn: c.segmentsIn.Load(), BytesIn: c.bytesIn.Load(),
		SegmentsOut: c.segmentsOut.Load(), BytesOut: c.bytesOut.Load(),
		Waiting: c.waiting.Load(),
		Drops: Drops{
			Queue: c.queue.Load(), Loss: c.loss.Load(), Policer: c.policer.Load(),
			BlackHole: c.blackHole.Load(), Malformed: c.malformed.Load(), Overrun: c.overrun.Load(),
		},
		Marked: c.marked.Load(), Duplicated: c.duplicated.Load(), Reordered: c.reordered.Load(),
		Corrupted: c.corrupted.Load(), Rewritten: c.rewritten.Load(), WriteErrors: c.failed.Load(),
		PeakQueueBytes: c.peakBytes.Load(), PeakQueuePackets: c.peakPackets.Load(),
		Reads: c.reads.Load(), Writes: c.writes.Load(),
		Lateness: c.late.lateness(),
	}
}
