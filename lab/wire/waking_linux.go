package wire

import (
	"os"
	"time"
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

// sleeper is how a thread that carries packets waits: for what comes to a device, for the next
// chunk to be due, or for its end.
type sleeper struct {
	epoch  time.Time
	waking waking
	polled []unix.PollFd // the end's, and then those of the devices
}

func newSleeper(epoch time.Time, stop int, devices ...int) sleeper {
	s := sleeper{epoch: epoch}
	for _, fd := range append([]int{stop}, devices...) {
		s.watch(fd)
	}
	return s
}

// watch adds a device.
func (s *sleeper) watch(fd int) {
	s.polled = append(s.polled, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
}

func (s *sleeper) now() int64 { return int64(time.Since(s.epoch)) }

// stopped says that the end has come; readable that a device had something.
func (s *sleeper) stopped() bool            { return s.polled[0].Revents != 0 }
func (s *sleeper) readable(device int) bool { return s.polled[device+1].Revents != 0 }

// longestSleep bounds how long the runtime may have to wait for the thread when it
// stops the world, should its signal not interrupt the sleep.
const longestSleep = 100 * time.Millisecond

// sleep waits; next has the chunk that is due first, nil: nothing is on its way. The thread
// keeps its processor of the Go scheduler meanwhile (see [Start]), hence the raw
// system call.
func (s *sleeper) sleep(next *ring[chunk]) error {
	began, left, awake := s.now(), int64(longestSleep), false
	if next != nil {
		until := next.at(0).due - began
		left = min(left, max(0, until-s.waking.early(began)))
		awake = left == 0 && until > 0
	}
	timeout := unix.NsecToTimespec(left)
	for i := range s.polled {
		s.polled[i].Revents = 0
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&s.polled[0])), uintptr(len(s.polled)), uintptr(unsafe.Pointer(&timeout)), 0, 0, 0)
	switch {
	case errno == unix.EINTR:
		return nil
	case errno != 0:
		return os.NewSyscallError("ppoll", errno)
	}
	for i := range s.polled[1:] {
		if s.polled[i+1].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0 {
			return os.NewSyscallError("ppoll", unix.EBADFD)
		}
	}
	switch {
	case awake:
		s.waking.waited(s.now() - began)
	case n == 0 && left > 0:
		s.waking.ended(s.now() - began - left)
	}
	return nil
}

// sharpen makes the calling thread wake up on time, also where senders and
// receivers keep all processors busy: real-time priority where that is allowed,
// else a short time slice. It is best effort: what fails shows as lateness.
func sharpen() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // ns; 50 us by default (prctl(2))
	attr := unix.SchedAttr{
		Size:     unix.SizeofSchedAttr,
		Policy:   unix.SCHED_FIFO,
		Priority: 1,
		Flags:    unix.SCHED_FLAG_RESET_ON_FORK,
	}
	if unix.SchedSetAttr(0, &attr, 0) == nil {
		return
	}
	attr.Policy, attr.Priority, attr.Runtime = unix.SCHED_NORMAL, 0, uint64(slice)
	_ = unix.SchedSetAttr(0, &attr, 0)
}

// slice is the time slice that the threads ask for: the least that EEVDF grants
// (0.1 ms, __setparam_fair in kernel/sched/syscalls.c). A thread with a shorter
// slice has an earlier deadline and preempts others when it wakes up; it gets no
// more time for it.
const slice = 100 * time.Microsecond
