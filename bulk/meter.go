package bulk

import (
	"sync/atomic"
	"time"
)

// meter counts the bytes of one stream and divides them into omitted and
// measured ones. One thread writes it; the sampler reads only bytes and
// measuring, and writes only waiting. All times are since the start of the
// transfer.
type meter struct {
	omit    time.Duration
	entered func() // called once, when the measured time begins

	begun   bool
	first   time.Duration // the stream began
	from    time.Duration // the measured time began
	last    time.Duration // the last byte
	omitted int64

	_         [64]byte // what follows has a cache line of its own: the sampler must not slow the data
	bytes     atomic.Int64
	measuring atomic.Bool
	waiting   atomic.Bool // data has come that waits behind a lost packet
	_         [64]byte
}

// settle is how much longer than asked the omitted time may last, as a share of
// it and in all: data that waited behind a lost packet is read in one go once
// that packet is repeated, megabytes on a long path, and would count for more
// than the path can carry if the measured time began just before.
const (
	settleShare = 2 // half as long
	settleMost  = time.Second
)

// begin starts the stream's clock: a sender's when it starts, a receiver's with
// its first byte.
func (m *meter) begin(now time.Duration) {
	m.begun = true
	m.first, m.last = now, now
	if m.omit == 0 {
		m.measure(now)
	}
}

// count adds n bytes that were moved just now.
func (m *meter) count(n int, now time.Duration) {
	if !m.begun {
		m.begin(now)
	}
	m.bytes.Add(int64(n))
	m.last = now
	if !m.measuring.Load() {
		m.omitted += int64(n)
		m.tick(now)
	}
}

// tick looks at the clock: the omitted time ends whether or not bytes move.
func (m *meter) tick(now time.Duration) {
	if !m.begun || m.measuring.Load() || now-m.first < m.omit {
		return
	}
	if !m.waiting.Load() || now-m.first >= m.omit+min(m.omit/settleShare, settleMost) {
		m.measure(now)
	}
}

func (m *meter) measure(now time.Duration) {
	m.from = now
	m.measuring.Store(true)
	m.entered()
}

// measured is how long the measured time has lasted by now.
func (m *meter) measured(now time.Duration) time.Duration {
	if !m.measuring.Load() {
		return 0
	}
	return now - m.from
}
