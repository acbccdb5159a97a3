package wire

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// waking knows how long a thread takes to wake up on this machine, so that the wire
// takes it off the path's delay: some 20 to 40 µs each time in a virtual machine,
// which is nothing on a long path and doubles a short one.
type waking struct {
	timer   float64 // ns: nine in ten timed sleeps end less than this late
	arrival float64 // ns: from a packet's arrival to the end of the sleep, median

	first []float64 // arrivals, until there are enough
}

// Both quantiles are followed step by step (stochastic approximation: H. Robbins and
// S. Monro, Annals of Mathematical Statistics 22, 1951): of nine tenths, one rises by
// nine parts with each sleep that ended later, and falls by one with each that did not.
const (
	wakingStep = 100.0   // ns
	mostEarly  = 100_000 // ns; later than that, the processor was somebody else's
)

// timed takes note of how late a timed sleep ended.
func (w *waking) timed(late int64) {
	if float64(late) > w.timer {
		w.timer = min(w.timer+9*wakingStep, mostEarly)
	} else {
		w.timer = max(w.timer-wakingStep, 0)
	}
}

// early is how long before its time a sleep must end. What is left of it is waited
// for awake.
func (w *waking) early() int64 { return int64(w.timer) }

// wakings is how many times it takes until the first guess is good enough.
const wakings = 15

// woken takes note of how long the thread took to wake up for something.
func (w *waking) woken(after int64) {
	took := min(float64(after), mostEarly)
	switch {
	case !w.known():
		w.first = append(w.first, took)
		sorted := slices.Sorted(slices.Values(w.first))
		w.arrival = sorted[len(sorted)/2]
	case took > w.arrival:
		w.arrival += 2 * wakingStep
	default:
		w.arrival = max(0, w.arrival-2*wakingStep)
	}
}

func (w *waking) known() bool { return len(w.first) >= wakings }

// bell wakes a thread as a packet does that a host sends, to see how long that takes.
type bell struct {
	fd     int          // an eventfd
	asleep atomic.Bool  // the thread waits for it
	rung   atomic.Int64 // when, ns
}

// ring wakes the thread, if it sleeps.
func (b *bell) ring(now func() int64) {
	if b.asleep.CompareAndSwap(true, false) { // once for each sleep
		b.rung.Store(now())
		once := uint64(1)
		_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(b.fd), uintptr(unsafe.Pointer(&once)), 8) // the counter is far from full
	}
}

// heard gives when it was rung.
func (b *bell) heard() (at int64) {
	var times uint64
	_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(b.fd), uintptr(unsafe.Pointer(&times)), 8)
	return b.rung.Load()
}

// Bells ring every so often, and more often at first, in ns.
const (
	ringEvery      = 100_000_000
	ringAtFirst    = 1_500_000
	longestUnknown = 200_000_000 // the wire is used then anyway
)
