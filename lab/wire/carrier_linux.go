package wire

import (
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// carrier is the thread of one direction: it takes packets from the device src,
// has the lane decide about them, and gives them to the device dst when due.
type carrier struct {
	lane           *lane
	src, dst, stop int
	stopping       *atomic.Bool // as stop, for when there is no time to poll
	epoch          time.Time
	arena          arena
	waking         waking

	writer writer

	err      error // why it stopped early
	writeErr error // the last one
}

// writer has room for what is written to a device.
type writer struct {
	headers [vnetLen + maxHeader]byte // of the chunk being written
	scratch [bufferSize]byte          // of the corrupted segment being written
	iov     [2]unix.Iovec
}

func (c *carrier) now() int64 { return int64(time.Since(c.epoch)) }

// run works until it is stopped. Reading and writing alternate, so that
// neither arrivals nor departures wait for more than a few of the others.
func (c *carrier) run() {
	runtime.LockOSThread() // and never unlock: the thread ends with its settings
	defer c.arena.close()
	sharpen()
	c.waking.learn(c.now)
	fds := [2]unix.PollFd{{Fd: int32(c.stop), Events: unix.POLLIN}, {Fd: int32(c.src), Events: unix.POLLIN}}
	for {
		readable, err := c.sleep(&fds)
		if err != nil {
			c.err = err
			return
		}
		if fds[0].Revents != 0 {
			return
		}
		for busy := true; busy && !c.stopping.Load(); {
			if readable {
				if readable, c.err = c.read(); c.err != nil {
					return
				}
			}
			busy = c.write() || readable
		}
	}
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

// longestSleep bounds how long the runtime may have to wait for the thread when it
// stops the world, should its signal not interrupt the sleep.
const longestSleep = 100 * time.Millisecond

// sleep waits for a packet, for the next chunk to be due, or for stop. The thread
// keeps its processor of the Go scheduler meanwhile (see [Start]), hence the raw
// system call.
func (c *carrier) sleep(fds *[2]unix.PollFd) (readable bool, err error) {
	began, left, awake := c.now(), int64(longestSleep), false
	if way := c.lane.next(); way != nil {
		until := way.at(0).due - began
		left = min(left, max(0, until-c.waking.early(began)))
		awake = left == 0 && until > 0
	}
	timeout := unix.NsecToTimespec(left)
	fds[0].Revents, fds[1].Revents = 0, 0
	n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(fds)), uintptr(len(fds)), uintptr(unsafe.Pointer(&timeout)), 0, 0, 0)
	switch {
	case errno == unix.EINTR:
		return false, nil
	case errno != 0:
		return false, os.NewSyscallError("ppoll", errno)
	case fds[1].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0:
		return false, os.NewSyscallError("ppoll", unix.EBADFD)
	case awake:
		c.waking.waited(c.now() - began)
	case n == 0 && left > 0:
		c.waking.ended(c.now() - began - left)
	}
	return fds[1].Revents != 0, nil
}

// read takes one packet, if there is one.
func (c *carrier) read() (bool, error) {
	l := c.lane
	buf, err := c.arena.next()
	if err != nil {
		return false, err
	}
	overrun := buf == nil
	if overrun {
		buf = c.writer.scratch[:]
	}
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(c.src), uintptr(unsafe.Pointer(&buf[0])), bufferSize)
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return false, nil
	case errno != 0:
		return false, os.NewSyscallError("read", errno)
	}
	l.count.Reads.Add(1)
	if overrun {
		var p packet
		if p.parse(buf[:n]) == nil {
			refuse(&l.count, &p)
		}
		return true, nil
	}
	p, own := c.arena.packet(int(n))
	if p.parse(own) != nil {
		l.count.SegmentsIn.Add(1)
		l.count.BytesIn.Add(uint64(n))
		l.count.Drops.Malformed.Add(1)
	} else {
		l.admit(p, c.now())
	}
	if p.refs == 0 {
		c.arena.release(p)
	}
	return true, nil
}

// write delivers what is due, a few chunks at most, and says whether it did.
func (c *carrier) write() (wrote bool) {
	for range 4 {
		way := c.lane.next()
		if way == nil {
			return wrote
		}
		now := c.now()
		next := way.at(0)
		if next.due > now {
			return wrote
		}
		errno := c.writer.deliver(c.dst, next, c.lane.bit)
		if errno != 0 {
			c.writeErr = os.NewSyscallError("write", errno)
		}
		c.lane.delivered(next, now, errno != 0)
		p := next.packet
		way.pop()
		if p.refs--; p.refs == 0 {
			c.arena.release(p)
		}
		wrote = true
	}
	return wrote
}

// refuse counts a packet for which there is no memory.
func refuse(count *Counts[atomic.Uint64], p *packet) {
	count.SegmentsIn.Add(uint64(p.segments))
	count.BytesIn.Add(uint64(p.bytes(0, p.segments)))
	count.Drops.Overrun.Add(uint64(p.segments))
}

// deliver writes a chunk to a device: the packet as it came where that is the same.
func (w *writer) deliver(to int, ch *chunk, bit *rand.Rand) unix.Errno {
	p := ch.packet
	whole := p.buf
	switch {
	case ch.spoilt:
		whole = p.spoil(w.scratch[:], ch.first, ch.ce, bit.IntN)
	case ch.ce && p.segments == 1:
		markCE(p.ip(), p.version)
	case ch.ce || ch.n < p.segments:
		header, payload := p.header(w.headers[:], ch.first, ch.n, ch.ce)
		w.iov = [2]unix.Iovec{{Base: &header[0]}, {Base: &payload[0]}}
		w.iov[0].SetLen(len(header))
		w.iov[1].SetLen(len(payload))
		_, _, errno := unix.RawSyscall(unix.SYS_WRITEV, uintptr(to), uintptr(unsafe.Pointer(&w.iov[0])), 2)
		return errno
	}
	_, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(to), uintptr(unsafe.Pointer(&whole[0])), uintptr(len(whole)))
	return errno
}
