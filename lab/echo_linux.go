package lab

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/lab/wire"
)

// Echoes that a lab begins with, on a path that is so short that the time of its hosts
// counts: they come as far apart as those of a person's ping find the hosts asleep.
const (
	echoes     = 9
	echoEvery  = 60 * time.Millisecond
	echoWithin = 100 * time.Millisecond
	shortPath  = 4 * time.Millisecond   // round trip, of which a hundredth is more than is taken off
	mostOwn    = 200 * time.Microsecond // 100 to 160 µs were seen; more is not the hosts' time: something else took the processors
)

// mtu is that of all devices.
func (l *Lab) mtu() int {
	if n := l.scenario.Network; n != nil {
		return n.MTU
	}
	return l.scenario.Path.MTU
}

// ownTime is what an echo takes between the first two hosts beside the delay of its path: the hosts'
// work and sleep, and the wire's. It is measured over a wire without the scenario's
// impairments, whose chances and counters must not begin with it. 0: it is not known,
// as a host that was told not to answers no echoes.
func (l *Lab) ownTime(tuns []*os.File, there, back time.Duration) (time.Duration, error) {
	delay := there + back
	if delay > shortPath {
		return 0, nil
	}
	plain, err := wire.Start(tuns[0], tuns[1], l.mtu(), wire.Direction{Delay: there}, wire.Direction{Delay: back})
	if err != nil {
		return 0, err
	}
	seen, err := l.hosts[0].echo()
	if err := errors.Join(err, plain.Close()); err != nil {
		return 0, fmt.Errorf("measure the hosts' own time: %w", err)
	}
	if len(seen) < echoes/2+1 {
		return 0, nil
	}
	return min(max(0, seen[len(seen)/2]-delay), mostOwn), nil
}

// echo has the host measure round trips to its peer; they are sorted.
func (h *Host) echo() ([]time.Duration, error) {
	reply, err := h.ask(&message{Echo: true})
	if err != nil {
		return nil, err
	}
	slices.Sort(reply.Echoed)
	return reply.Echoed, nil
}

// echo measures round trips by ICMP, as ping does: until the kernel has the answer, not
// until this process wakes up. A host that does not answer the first is not asked on.
func echo(to netip.Addr) ([]time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	defer func() { _ = unix.Close(fd) }()
	within := unix.NsecToTimeval(int64(echoWithin))
	if err := cmp.Or(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1), unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &within)); err != nil {
		return nil, os.NewSyscallError("setsockopt", err)
	}
	var seen []time.Duration
	for i := range uint16(echoes + 1) { // the first finds nothing in the caches
		time.Sleep(echoEvery)
		sent := time.Now()
		if err := unix.Sendto(fd, request(i), 0, &unix.SockaddrInet4{Addr: to.As4()}); err != nil {
			return nil, os.NewSyscallError("sendto", err)
		}
		at, ok := answer(fd, i)
		if !ok && i == 0 {
			break
		}
		if ok && i > 0 {
			seen = append(seen, at.Sub(sent.Round(0)))
		}
	}
	return seen, nil
}

const (
	echoRequest = 8 // RFC 792
	echoReply   = 0
	echoSize    = 64 // as ping's: bytes of ICMP
)

// request is an echo request with its number.
func request(number uint16) []byte {
	b := make([]byte, echoSize)
	b[0] = echoRequest
	binary.BigEndian.PutUint16(b[6:], number)
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(b[2:], ^uint16(sum+sum>>16))
	return b
}

// answer waits for the reply with a number, and gives when the kernel got it.
func answer(fd int, number uint16) (time.Time, bool) {
	packet, control := make([]byte, 1500), make([]byte, 128)
	for deadline := time.Now().Add(echoWithin); time.Now().Before(deadline); {
		n, cn, _, _, err := unix.Recvmsg(fd, packet, control, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		const ip = 20 // bytes of the header, without options
		if err != nil {
			return time.Time{}, false
		}
		if n < ip+8 || packet[ip] != echoReply || binary.BigEndian.Uint16(packet[ip+6:]) != number {
			continue
		}
		parts, err := unix.ParseSocketControlMessage(control[:cn])
		if err != nil {
			return time.Time{}, false
		}
		for _, part := range parts {
			if part.Header.Type == unix.SCM_TIMESTAMPNS && len(part.Data) >= 16 {
				return time.Unix(int64(binary.NativeEndian.Uint64(part.Data)), int64(binary.NativeEndian.Uint64(part.Data[8:]))), true
			}
		}
	}
	return time.Time{}, false
}
