package wire

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	slabSize   = 256 << 10
	regionSize = 16 * slabSize
)

// arena gives packets memory that the garbage collector neither scans nor moves:
// they lie one behind the other in slabs, as short as they are, and a slab is
// used again when nothing in it is needed any more. A few slabs going round stay
// in the processor's cache.
type arena struct {
	limit   int // bytes
	used    int // bytes mapped
	regions [][]byte
	free    []*slab
	current *slab
	packets []*packet // free ones
}

// next is where to read the next packet to, nil when the limit is reached.
func (a *arena) next() ([]byte, error) {
	if s := a.current; s != nil {
		if s.refs == 0 {
			s.used = 0
		}
		if len(s.mem)-s.used >= bufferSize {
			return s.mem[s.used:], nil
		}
		a.current = nil
	}
	if len(a.free) == 0 {
		if err := a.grow(); err != nil || len(a.free) == 0 {
			return nil, err
		}
	}
	last := len(a.free) - 1
	a.current, a.free = a.free[last], a.free[:last]
	a.current.used = 0
	return a.current.mem, nil
}

func (a *arena) grow() error {
	if a.used+regionSize > a.limit {
		return nil
	}
	region, err := unix.Mmap(-1, 0, regionSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return fmt.Errorf("map memory for packets: %w", err)
	}
	a.used += regionSize
	a.regions = append(a.regions, region)
	for ; len(region) > 0; region = region[slabSize:] {
		a.free = append(a.free, &slab{mem: region[:slabSize:slabSize]})
	}
	return nil
}

// packet is a packet to describe the first n bytes of what next returned.
func (a *arena) packet(n int) (*packet, []byte) {
	if len(a.packets) == 0 {
		block := make([]packet, 256)
		for i := range block {
			a.packets = append(a.packets, &block[i])
		}
	}
	last := len(a.packets) - 1
	p := a.packets[last]
	a.packets = a.packets[:last]

	s := a.current
	buf := s.mem[s.used : s.used+n : s.used+n]
	s.used += (n + 63) &^ 63 // a cache line
	s.refs++
	p.slab = s
	return p, buf
}

// read reads a packet from a device; nil: there is none. Where there is no memory for it, it goes to
// scratch and is not kept.
func (a *arena) read(device int, scratch []byte) (buf []byte, kept bool, err error) {
	buf, err = a.next()
	if err != nil {
		return nil, false, err
	}
	kept = buf != nil
	if !kept {
		buf = scratch
	}
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(device), uintptr(unsafe.Pointer(&buf[0])), bufferSize)
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return nil, false, nil
	case errno != 0:
		return nil, false, os.NewSyscallError("read", errno)
	}
	return buf[:n], kept, nil
}

// enter has a lane decide at now about what was read. To is how it goes on behind the lane.
func (a *arena) enter(l *lane, buf []byte, kept bool, to *route, now int64) {
	l.count.Reads.Add(1)
	if !kept {
		var p packet
		if p.parse(buf) == nil {
			l.count.SegmentsIn.Add(uint64(p.segments))
			l.count.BytesIn.Add(uint64(p.bytes(0, p.segments)))
			l.count.Drops.Overrun.Add(uint64(p.segments))
		}
		return
	}
	p, own := a.packet(len(buf))
	if p.parse(own) != nil {
		l.count.SegmentsIn.Add(1)
		l.count.BytesIn.Add(uint64(len(buf)))
		l.count.Drops.Malformed.Add(1)
	} else {
		p.route = to
		l.admit(p, now)
	}
	if p.refs == 0 {
		a.release(p)
	}
}

// release takes back a packet that nothing needs any more.
func (a *arena) release(p *packet) {
	s := p.slab
	if s.refs--; s.refs == 0 && s != a.current {
		a.free = append(a.free, s)
	}
	p.slab, p.buf = nil, nil
	a.packets = append(a.packets, p)
}

func (a *arena) close() {
	for _, region := range a.regions {
		_ = unix.Munmap(region) // fails only on addresses that Mmap did not give
	}
	*a = arena{}
}
