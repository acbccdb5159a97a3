package wire

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

var wayNames = [2]string{"a to b", "b to a"}

// Wire joins two TUN devices.
type Wire struct {
	carriers [2]*carrier
	stop     int // eventfd that wakes both threads
	stopping atomic.Bool
	threads  sync.WaitGroup
	awake    *os.File // of keepAwake, nil where that is not possible
	close    func() error
}

// Start joins the devices a and b, which [OpenTUN] opened, perhaps in another
// process. It works on duplicates of the descriptors, but switches the devices
// to non-blocking. MTU is that of the devices. The wire carries traffic until
// [Wire.Close].
//
// Until then GOMAXPROCS is higher by two: the two threads keep a processor each
// even while they sleep. Giving it up for each sleep would have them wait for
// threads of ordinary priority to get it back, up to 100 ms on a busy machine.
// And, as root, idle processors do not sleep deeply.
func Start(a, b *os.File, mtu int, aToB, bToA Direction) (*Wire, error) {
	if mtu < 68 || mtu > 65535 {
		return nil, fmt.Errorf("start wire: MTU %d is not between 68 and 65535", mtu)
	}
	rtt := aToB.Delay + bToA.Delay
	for i, d := range []*Direction{&aToB, &bToA} {
		for _, fault := range d.Faults(rtt, mtu) {
			return nil, fmt.Errorf("start wire: %s: %w", wayNames[i], fault.Err)
		}
	}
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("start wire: create eventfd: %w", err)
	}
	fdA, errA := duplicate(a)
	fdB, errB := duplicate(b)
	if err := errors.Join(errA, errB); err != nil {
		for _, fd := range []int{fdA, fdB, stop} {
			if fd >= 0 {
				unix.Close(fd)
			}
		}
		return nil, fmt.Errorf("start wire: %w", err)
	}

	w := &Wire{stop: stop, awake: keepAwake()}
	w.close = sync.OnceValue(func() error { return w.shut(fdA, fdB) })
	addProcessors(+2)
	epoch := time.Now()
	ab, ba := newLane(aToB, bToA.Delay, mtu), newLane(bToA, aToB.Delay, mtu)
	w.carriers[0] = &carrier{sleeper: newSleeper(epoch, stop, fdA), lane: ab, src: fdA, dst: fdB}
	w.carriers[1] = &carrier{sleeper: newSleeper(epoch, stop, fdB), lane: ba, src: fdB, dst: fdA}
	for _, c := range w.carriers {
		c.stopping, c.arena.limit = &w.stopping, MaxInFlight
		w.threads.Go(c.run)
	}
	return w, nil
}

// processors guards the change of GOMAXPROCS.
var processors sync.Mutex

func addProcessors(n int) {
	processors.Lock()
	defer processors.Unlock()
	runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)+n))
}

// duplicate makes a non-blocking descriptor of f's device without moving f itself
// to Go's poller.
func duplicate(f *os.File) (int, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("use TUN device: %w", err)
	}
	fd := -1
	if e := conn.Control(func(own uintptr) {
		if fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			err = unix.SetNonblock(fd, true)
		}
	}); e != nil {
		err = e
	}
	if err != nil {
		return fd, fmt.Errorf("duplicate %s: %w", f.Name(), err)
	}
	return fd, nil
}

// Shorten takes a time off the delay of both directions: what the hosts and the wire
// itself add to it. No delay becomes negative.
func (w *Wire) Shorten(by time.Duration) {
	for _, c := range w.carriers {
		c.lane.delay.Store(max(0, c.lane.delay.Load()-int64(by)))
	}
}

// Stats reads the counters; they go on counting.
func (w *Wire) Stats() Stats {
	return Stats{AToB: w.carriers[0].lane.stats(), BToA: w.carriers[1].lane.stats()}
}

// Close stops the wire; what is on its way is lost. The devices stay as they are,
// and the files that Start was given stay open. The error says what went wrong on
// the way that no impairment asked for: then results got over this wire are void.
// Drops of the devices' own rings are not visible here: see [RingDrops].
func (w *Wire) Close() error { return w.close() }

func (w *Wire) shut(fdA, fdB int) error {
	w.stopping.Store(true)
	_, err := unix.Write(w.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	if err != nil { // the threads go on: leave them what they use
		return fmt.Errorf("stop wire: %w", err)
	}
	w.threads.Wait()
	addProcessors(-2)
	_ = w.awake.Close() // nil is refused, which is fine
	for _, fd := range []int{fdA, fdB, w.stop} {
		unix.Close(fd)
	}
	var errs []error
	for i, c := range w.carriers {
		if c.err != nil {
			errs = append(errs, fmt.Errorf("wire %s stopped early: %w", wayNames[i], c.err))
		}
		if c.writeErr != nil {
			errs = append(errs, fmt.Errorf("wire %s: %w", wayNames[i], c.writeErr))
		}
		stats := c.lane.stats()
		for _, fault := range stats.Faults() {
			errs = append(errs, fmt.Errorf("wire %s: %s", wayNames[i], fault))
		}
	}
	return errors.Join(errs...)
}

// keepAwake asks the kernel to keep idle processors from sleeping deeply, as
// long as the file is open (Documentation/power/pm_qos_interface.rst): waking
// up, of a virtual machine's processor above all, would come on top of the
// path's delay. It belongs to root, and some machines do not have it; then the
// wire is later, and its lateness says so.
func keepAwake() *os.File {
	file, err := os.OpenFile("/dev/cpu_dma_latency", os.O_WRONLY, 0)
	if err != nil {
		return nil
	}
	if _, err := file.Write(make([]byte, 4)); err != nil { // an int32: 0 µs
		file.Close()
		return nil
	}
	return file
}
