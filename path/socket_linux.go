package path

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/unit"
)

// canDontFragment: packets can be sent that are not fragmented on the way.
const canDontFragment = true

// prepare makes a UDP socket fit for probes: packets carry DF and may be as
// large as the interface allows whatever the kernel believes of the path
// (ip(7), IP_PMTUDISC_PROBE), and the kernel reports when each arrived
// and which address it was sent to.
func prepare(conn *net.UDPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	set := func(what string, err error) {
		if err != nil {
			failed = cmp.Or(failed, fmt.Errorf("set %s: %w", what, err))
		}
	}
	err = raw.Control(func(fd uintptr) {
		s := int(fd)
		set("IP_MTU_DISCOVER", unix.SetsockoptInt(s, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE))
		if family, _ := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_DOMAIN); family == unix.AF_INET6 {
			set("IPV6_MTU_DISCOVER", unix.SetsockoptInt(s, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE))
			set("IPV6_DONTFRAG", unix.SetsockoptInt(s, unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1))
			set("IPV6_RECVPKTINFO", unix.SetsockoptInt(s, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)) // of IPv4 packets too
		} else {
			set("IP_PKTINFO", unix.SetsockoptInt(s, unix.IPPROTO_IP, unix.IP_PKTINFO, 1))
		}
		set("SO_TIMESTAMPNS", unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1))
		set("SO_RXQ_OVFL", unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1))

		// A whole train should find room while the reader sleeps. The kernel
		// silently gives less than asked; what then overflows is counted.
		const room = 2 * maxTrainBytes
		if unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, room) != nil {
			set("SO_RCVBUF", unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVBUF, room))
		}
	})
	return errors.Join(err, failed)
}

// reader reads batches of datagrams, with the kernel's time of arrival.
type reader struct {
	conn     *ipv4.PacketConn // reads the packets of either family
	messages []ipv4.Message
	overflow uint32 // SO_RXQ_OVFL so far
}

func newReader(conn *net.UDPConn) *reader {
	const batch = 64
	r := &reader{conn: ipv4.NewPacketConn(conn), messages: make([]ipv4.Message, batch)}
	for i := range r.messages {
		r.messages[i].Buffers = [][]byte{make([]byte, headerSize)} // the rest is padding
		r.messages[i].OOB = make([]byte, unix.CmsgSpace(int(unsafe.Sizeof(unix.Timespec{})))+unix.CmsgSpace(4)+unix.CmsgSpace(unix.SizeofInet6Pktinfo))
	}
	return r
}

// read waits for datagrams and hands over each. The head is valid during the
// call only.
func (r *reader) read(handle func(datagram)) error {
	n, err := r.conn.ReadBatch(r.messages, unix.MSG_TRUNC) // N is the real size, beyond the buffer
	if err != nil {
		return err
	}
	for _, m := range r.messages[:max(0, n)] {
		from, ok := m.Addr.(*net.UDPAddr)
		if !ok {
			continue
		}
		d := datagram{from: from.AddrPort(), size: m.N, head: m.Buffers[0][:min(m.N, headerSize)]}
		r.control(&d, m.OOB[:m.NN])
		handle(d)
	}
	return nil
}

// control reads the ancillary data of a datagram: when it arrived, how many were
// dropped for lack of room before it, and where it was sent to.
func (r *reader) control(d *datagram, oob []byte) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		messages = nil
	}
	for _, m := range messages {
		switch {
		case m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_PKTINFO && len(m.Data) >= unix.SizeofInet4Pktinfo:
			d.local = netip.AddrFrom4((*unix.Inet4Pktinfo)(unsafe.Pointer(&m.Data[0])).Addr)
		case m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_PKTINFO && len(m.Data) >= unix.SizeofInet6Pktinfo:
			d.local = netip.AddrFrom16((*unix.Inet6Pktinfo)(unsafe.Pointer(&m.Data[0])).Addr).Unmap()
			if d.local.IsLinkLocalUnicast() {
				d.local = d.local.WithZone(d.from.Addr().Zone()) // came over the same link
			}
		case m.Header.Level != unix.SOL_SOCKET:
		case m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})):
			d.at = time.Duration((*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Nano())
		case m.Header.Type == unix.SO_RXQ_OVFL && len(m.Data) >= 4:
			overflow := *(*uint32)(unsafe.Pointer(&m.Data[0]))
			d.lost = int(overflow - r.overflow)
			r.overflow = overflow
		}
	}
	if d.at == 0 {
		d.at = time.Duration(time.Now().UnixNano())
	}
}

// segmentsPerCall is how many packets one system call hands over (UDP_SEGMENT).
// 16 make the call cheap against 16 packets at 5 Gb/s, and are small enough for
// the token buckets of common shapers.
const segmentsPerCall = 16

// sendTrain sends datagrams of equal size back to back, as fast as the system
// takes them. An invalid address means the one that the socket is connected
// to. It gives the time spent sending, without that spent waiting for room.
func sendTrain(conn *net.UDPConn, to netip.AddrPort, datagrams []byte, size int) (busy time.Duration, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	o := outgoing{datagrams: datagrams, size: size, segment: segmentation(size), start: time.Now()}
	var failed error
	err = raw.Write(func(fd uintptr) (done bool) {
		var address unix.Sockaddr // nil: the connected one
		if to.IsValid() {
			family, e := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN)
			if e == nil {
				address, e = sockaddr(family, to)
			}
			if failed = e; e != nil {
				return true
			}
		}
		done, failed = o.flush(func(b, control []byte) error {
			_, e := unix.SendmsgN(int(fd), b, control, address, unix.MSG_DONTWAIT)
			return e
		})
		return done
	})
	return o.busy(), errors.Join(err, failed)
}

// outgoing is what is still to be sent of a train.
type outgoing struct {
	datagrams []byte
	size      int
	segment   []byte // for the kernel to cut what one call hands over

	start            time.Time
	waited           time.Duration
	stopped          time.Time // when the socket had no more room; zero: it has
	retried, without bool
}

// busy is the time that was spent sending so far, without that spent waiting.
func (o *outgoing) busy() time.Duration { return time.Since(o.start) - o.waited }

// flush sends as much as there is room for, and reports whether that was all, or
// cannot be sent.
func (o *outgoing) flush(send func(b, control []byte) error) (done bool, err error) {
	if !o.stopped.IsZero() {
		o.waited += time.Since(o.stopped)
		o.stopped = time.Time{}
	}
	for len(o.datagrams) > 0 {
		n, control := min(len(o.datagrams), min(segmentsPerCall, 65000/o.size)*o.size), o.segment
		if o.without || n <= o.size {
			n, control = min(len(o.datagrams), o.size), nil
		}
		e := send(o.datagrams[:n], control)
		switch {
		case e == nil:
			o.datagrams, o.retried = o.datagrams[n:], false
		case errors.Is(e, unix.EAGAIN):
			o.stopped = time.Now()
			return false, nil
		case errors.Is(e, unix.ENOBUFS):
			pause := time.Now()
			time.Sleep(200 * time.Microsecond)
			o.waited += time.Since(pause)
		case errors.Is(e, unix.EINTR):
		case !o.retried: // an ICMP error about an earlier packet is reported once
			o.retried = true
		case control != nil: // EIO, EINVAL: the device cannot segment
			o.without, o.retried = true, false
		default:
			return true, e
		}
	}
	return true, nil
}

// segmentation asks the kernel to cut what is sent into datagrams of one size
// (udp(7), UDP_SEGMENT).
func segmentation(size int) []byte {
	b := make([]byte, unix.CmsgSpace(2))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = unix.SOL_UDP, unix.UDP_SEGMENT
	h.SetLen(unix.CmsgLen(2))
	*(*uint16)(unsafe.Pointer(&b[unix.CmsgLen(0)])) = uint16(size)
	return b
}

// sockaddr is an address as a socket of a family (AF_INET, AF_INET6) takes it.
func sockaddr(family int, a netip.AddrPort) (unix.Sockaddr, error) {
	switch {
	case family == unix.AF_INET6:
		s := &unix.SockaddrInet6{Addr: a.Addr().As16(), Port: int(a.Port())}
		if zone := a.Addr().Zone(); zone != "" {
			i, err := net.InterfaceByName(zone)
			if err != nil {
				return nil, fmt.Errorf("find interface of %v: %w", a.Addr(), err)
			}
			s.ZoneId = uint32(i.Index)
		}
		return s, nil
	case a.Addr().Unmap().Is4():
		return &unix.SockaddrInet4{Addr: a.Addr().Unmap().As4(), Port: int(a.Port())}, nil
	}
	return nil, fmt.Errorf("send to %v: the socket is for IPv4 only", a)
}

// kernelMTU is the path MTU that the kernel believes in for a connected
// socket: that of the route, or less after an ICMP error (ip(7), IP_MTU).
func kernelMTU(conn *net.UDPConn) (mtu int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(fd uintptr) {
		if family, _ := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN); family == unix.AF_INET6 {
			mtu, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MTU)
		} else {
			mtu, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU)
		}
	})
	return mtu, errors.Join(controlErr, err)
}

// linkSpeed is the speed of a network card; 0 if it is not known. Virtual
// interfaces report a number that means nothing: only those with a device behind
// them are asked.
func linkSpeed(name string) unit.Rate { return linkSpeedIn("/sys/class/net/" + name) }

func linkSpeedIn(dir string) unit.Rate {
	if _, err := os.Stat(dir + "/device"); err != nil {
		return 0
	}
	b, err := os.ReadFile(dir + "/speed")
	if err != nil {
		return 0
	}
	speed, err := strconv.Atoi(strings.TrimSpace(string(b))) // Mb/s; -1: it has none now
	if err != nil {
		return 0
	}
	return unit.Rate(max(0, speed)) * unit.Mbps
}
