package wire

import (
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// carrier is the thread of one direction: it takes packets from the device src,
// has the lane decide about them, and gives them to the device dst when due.
type carrier struct {
	sleeper
	lane     *lane
	src, dst int
	stopping *atomic.Bool // as the stop that wakes the sleeper, for when there is no time to sleep
	arena    arena
	writer   writer

	err      error // why it stopped early
	writeErr error // the last one
}

// writer has room for what is written to a device.
type writer struct {
	headers [vnetLen + maxHeader]byte // of the chunk being written
	scratch [bufferSize]byte          // of the corrupted segment being written
	iov     [2]unix.Iovec
}

// run works until it is stopped. Reading and writing alternate, so that
// neither arrivals nor departures wait for more than a few of the others.
func (c *carrier) run() {
	runtime.LockOSThread() // and never unlock: the thread ends with its settings
	defer c.arena.close()
	sharpen()
	c.waking.learn(c.now)
	for {
		if c.err = c.sleep(c.lane.next()); c.err != nil || c.stopped() {
			return
		}
		readable := c.readable(0)
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

// read takes one packet, if there is one.
func (c *carrier) read() (more bool, err error) {
	buf, kept, err := c.arena.read(c.src, c.writer.scratch[:])
	if buf != nil {
		c.arena.enter(c.lane, buf, kept, nil, c.now())
	}
	return buf != nil, err
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
