package wire

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// waking knows how late timed sleeps of a thread end on this machine: some 20 to 40 µs
// in a virtual machine, which is nothing on a long path and much on a short one. A sleep
// ends so much early, and what is left is waited for awake.
//
// It follows the nine-tenths quantile step by step (stochastic approximation: H. Robbins
// and S. Monro, Annals of Mathematical Statistics 22, 1951): up by nine parts with each
// sleep that ended later, down by one with each that did not. The first steps are large.
//
// The thread has real-time priority: what it waits for awake, it takes from the hosts. So
// that is a tenth of the time at most. A ping gets all it needs; with a stream of packets,
// most of which are due sooner than a sleep can end, sleeps are mostly ordinary ones.
type waking struct {
	late   float64 // ns
	sleeps float64
	credit float64 // ns that may be waited for awake
	at     int64   // ns, when the credit was that
}

const (
	firstStep  = 4_000.0   // ns, over the number of sleeps
	wakingStep = 100.0     // ns, at least
	mostEarly  = 100_000   // ns; later than that, the processor was somebody else's
	awakeShare = 0.1       // of the time
	mostCredit = 1_000_000 // ns
)

// ended takes note of how late a timed sleep ended. How long a processor was somebody
// else's says nothing of the next sleep.
func (w *waking) ended(late int64) {
	if late > mostEarly {
		return
	}
	w.sleeps++
	step := max(firstStep/w.sleeps, wakingStep)
	if float64(late) > w.late {
		w.late += 9 * step
	} else {
		w.late = max(w.late-step, 0)
	}
}

// early is how long before its time a sleep that begins now must end, in ns.
func (w *waking) early(now int64) int64 {
	w.credit = min(w.credit+awakeShare*float64(now-w.at), mostCredit)
	w.at = now
	if w.credit <= 0 {
		return 0
	}
	return int64(w.late)
}

// waited takes note of a time that was waited for awake, in ns.
func (w *waking) waited(awake int64) { w.credit -= float64(awake) }

// learn has the thread sleep some times, before anything depends on it.
func (w *waking) learn(now func() int64) {
	const short = 200_000 // ns
	for range 20 {
		began, timeout := now(), unix.NsecToTimespec(short)
		if _, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, uintptr(unsafe.Pointer(&timeout)), 0, 0, 0); errno == 0 {
			w.ended(now() - began - short)
		}
	}
}
