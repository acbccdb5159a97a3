package bulk

import (
	"sync/atomic"
	"time"
)

// window is the measured time of all streams that go one way. It is one for all
// of them: otherwise a stream that began later would have the path to itself
// when the others are done, and the sum of their rates would be more than the
// path carries. All times are since the start of the transfer.
type window struct {
	omit  time.Duration
	first atomic.Int64  // ns: a sender started, or a receiver had its first byte; 0: not yet
	from  atomic.Int64  // ns: the measured time began; 0: not yet
	over  atomic.Bool   // the measured time has ended, where this end decides that
	runs  chan struct{} // gets one when the clock starts; nil: nobody waits for that
}

// begin starts the clock, for the first stream that does.
func (w *window) begin(now time.Duration) {
	now = max(1, now)
	if !w.first.CompareAndSwap(0, int64(now)) {
		return
	}
	if w.omit == 0 {
		w.from.CompareAndSwap(0, int64(now))
	}
	select {
	case w.runs <- struct{}{}:
	default:
	}
}

// fix lets the measured time begin after the omitted one, whether or not bytes
// move.
func (w *window) fix() { w.from.Store(int64(max(1, w.omit))) }

// open begins the measured time once the omitted one is over, and says whether it
// has begun.
func (w *window) open(now time.Duration) bool {
	if first := time.Duration(w.first.Load()); first != 0 && now-first >= w.omit {
		w.from.CompareAndSwap(0, int64(now))
	}
	return w.isOpen(now)
}

// opensIn is how long it is until the measured time begins, if that is known.
func (w *window) opensIn(now time.Duration) (wait time.Duration, known bool) {
	if from := time.Duration(w.from.Load()); from != 0 {
		return max(0, from-now), true
	}
	first := time.Duration(w.first.Load())
	return max(0, first+w.omit-now), first != 0
}

// isOpen says whether now lies in the measured time.
func (w *window) isOpen(now time.Duration) bool {
	from := time.Duration(w.from.Load())
	return from != 0 && now >= from
}

// meter counts the bytes of one stream and divides them into omitted and
// measured ones. One thread writes it; the sampler reads only bytes.
type meter struct {
	window    *window
	measuring bool          // this stream is in the measured time
	last      time.Duration // the last byte

	_       [64]byte // what follows has a cache line of its own: those who look must not slow the data
	bytes   atomic.Int64
	omitted atomic.Int64
	heard   atomic.Int64 // when bytes moved, or the peer last gave another sign of life: ns since the transfer's start
	_       [64]byte
}

// count adds n bytes that were moved just now, and says whether they are of the
// measured time. Those that come with the end of the omitted time are of that:
// they were sent before.
func (m *meter) count(n int, now time.Duration) bool {
	m.bytes.Add(int64(n))
	m.last = now
	m.hear(now)
	if m.measuring {
		return true
	}
	m.window.begin(now)
	m.tick(now)
	if m.window.omit > 0 {
		m.omitted.Add(int64(n))
	}
	return m.window.omit == 0
}

// hear notes a sign of life.
func (m *meter) hear(now time.Duration) { m.heard.Store(int64(now)) }

// tick looks at the clock: the omitted time ends whether or not bytes move.
func (m *meter) tick(now time.Duration) {
	m.measuring = m.measuring || m.window.isOpen(now)
}

// began is when the measured time began; 0 if the stream was never in it.
func (m *meter) began() time.Duration {
	if !m.measuring {
		return 0
	}
	return time.Duration(m.window.from.Load())
}

// measured is how long the measured time has lasted by now.
func (m *meter) measured(now time.Duration) time.Duration {
	if !m.measuring {
		return 0
	}
	return now - m.began()
}

// split divides all bytes by now into those of the omitted time and those of the
// measured one, also while the stream's thread goes on.
func (m *meter) split(all int64, now time.Duration) (omitted, measured int64) {
	if !m.window.isOpen(now) {
		return all, 0
	}
	omitted = min(all, m.omitted.Load())
	return omitted, all - omitted
}
