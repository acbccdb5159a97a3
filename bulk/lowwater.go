package bulk

import "time"

// lowWater decides how much must have come before the kernel wakes a receiver
// (SO_RCVLOWAT). On a fast path a blocking reader is otherwise woken for every
// batch of packets, and spends more time on going to sleep than on copying: with
// it, one stream over the loopback takes half of the processor time
// (docs/bench.md). Every byte is still copied.
//
// The mark follows the rate, so that nothing waits long for the rest of it, and
// stays small beside the receive buffer: the window must not depend on it.
type lowWater struct {
	from  time.Duration // of the stretch that is looked at
	bytes int64         // in it so far
	mark  int           // as the kernel has it; 0: its own, one byte
}

const (
	// gather is how long data waits for more. Should the stream stop: a tick.
	gather = 600 * time.Microsecond
	// gatherMost is where more gains nothing, gatherLeast where it gains little
	// (docs/bench.md).
	gatherMost  = 512 << 10
	gatherLeast = 64 << 10
	// gatherShare of the receive buffer, a sixteenth of the window, may wait.
	// Where the buffer is what limits, it is too small for that: nothing waits.
	gatherShare = 32
	// gatherLook is between looks at the rate.
	gatherLook = 10 * time.Millisecond
)

// read takes note of n bytes that were read just now, and says which mark to
// set, if the rate has changed by half, on a socket with that receive buffer.
func (l *lowWater) read(n int, now time.Duration, buffer func() int) (mark int, changed bool) {
	l.bytes += int64(n)
	stretch := now - l.from
	if stretch < gatherLook {
		return l.mark, false
	}
	wanted := int(float64(l.bytes) / float64(stretch) * float64(gather))
	l.from, l.bytes = now, 0
	if wanted > l.mark/2 && wanted < l.mark*2 || wanted < gatherLeast && l.mark <= 1 {
		return l.mark, false
	}
	was := l.mark
	l.mark = min(wanted, gatherMost, buffer()/gatherShare)
	if l.mark < gatherLeast {
		l.mark = 1
	}
	return l.mark, l.mark != max(1, was)
}
