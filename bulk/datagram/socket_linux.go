package datagram

import (
	"errors"
	"fmt"
	"math"
	"net"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// socket is a connected UDP socket outside Go's poller: its calls block the
// thread, for one tick at most.
type socket struct {
	fd      int
	segment []byte // asks the kernel to cut what is sent into datagrams; nil: it cannot
	in      *inbox // of a receiver
}

// newSocket takes conn over, which is closed. Datagrams have length bytes; of
// those that come, the first keep are of interest.
func newSocket(conn *net.UDPConn, length, keep int, sender bool) (*socket, error) {
	defer conn.Close()
	fd, err := bulk.Detach(conn, tick)
	if err != nil {
		return nil, err
	}
	if sender {
		return &socket{fd: fd, segment: segmentation(length)}, nil
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("set SO_TIMESTAMPNS: %w", err)
	}
	return &socket{fd: fd, in: newInbox(keep)}, nil
}

// setDontFragment has what is sent carry DF, and refused here when it is larger
// than the path's MTU as far as that is known.
func setDontFragment(conn *net.UDPConn) error {
	return setOption(conn, "IP_MTU_DISCOVER", func(fd int) error {
		if !isIPv4(conn) {
			return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO)
		}
		return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO)
	})
}

// setPace sets SO_MAX_PACING_RATE, which the fq queueing discipline obeys.
func setPace(conn *net.UDPConn, rate unit.Rate) error {
	return setOption(conn, "SO_MAX_PACING_RATE", func(fd int) error {
		if bytes := uint64(max(1, rate/8)); bytes >= math.MaxUint32 { // 64 bits since Linux 4.20
			return unix.SetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, bytes)
		}
		return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, int(max(1, rate/8)))
	})
}

// makeRoom enlarges a socket buffer that could not hold one datagram.
func makeRoom(conn *net.UDPConn, length int, sender bool) error {
	name, option := "SO_RCVBUF", unix.SO_RCVBUF
	if sender {
		name, option = "SO_SNDBUF", unix.SO_SNDBUF
	}
	return setOption(conn, name, func(fd int) error {
		if have, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, option); err != nil || have >= length+roomBeside {
			return err
		}
		return unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, length+roomBeside)
	})
}

func setOption(conn *net.UDPConn, name string, set func(fd int) error) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var setErr error
	if err := raw.Control(func(fd uintptr) { setErr = set(int(fd)) }); err != nil {
		return err
	}
	if setErr != nil {
		return fmt.Errorf("set %s: %w", name, setErr)
	}
	return nil
}

// batch is how many datagrams of a length one call of send takes. 16 make the
// call cheap against its datagrams and are small enough for the token buckets of
// common shapers; one call takes one packet's bytes at most.
func batch(length int) int { return max(1, min(16, 65000/length)) }

// segmentation asks the kernel to cut what is sent into datagrams of one length
// (udp(7), UDP_SEGMENT, Linux 4.18).
func segmentation(length int) []byte {
	b := make([]byte, unix.CmsgSpace(2))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = unix.SOL_UDP, unix.UDP_SEGMENT
	h.SetLen(unix.CmsgLen(2))
	*(*uint16)(unsafe.Pointer(&b[unix.CmsgLen(0)])) = uint16(length)
	return b
}

// send sends up to a batch of datagrams, all of the given length, back to back,
// and says how many it took. It returns errTick if none found room.
func (s *socket) send(datagrams []byte, length int) (int, error) {
	if s.segment != nil && len(datagrams) > length {
		n, err := unix.SendmsgN(s.fd, datagrams, s.segment, nil, 0)
		switch {
		case err == nil:
			return n / length, nil
		case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EIO) || errors.Is(err, unix.EMSGSIZE):
			s.segment = nil // larger than the MTU, or the device cannot
		default:
			return 0, ticked(err)
		}
	}
	if _, err := unix.Write(s.fd, datagrams[:length]); err != nil {
		return 0, ticked(err)
	}
	return 1, nil
}

// ticked distinguishes a call that found no room or nothing to read for now from one
// that failed.
func ticked(err error) error {
	switch {
	case errors.Is(err, unix.ENOBUFS): // the device's queue is full
		sleep(quantum)
		return errTick
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		return errTick
	}
	return err
}

// isUnreachable says that an ICMP error came back for something sent before.
func isUnreachable(err error) bool {
	return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.EHOSTUNREACH) || errors.Is(err, unix.ENETUNREACH)
}

// isTooLarge says that a datagram does not fit into one packet and must not be
// fragmented.
func isTooLarge(err error) bool { return errors.Is(err, unix.EMSGSIZE) }

// canTruncate: the kernel can drop the bytes of a datagram that are not wanted.
const canTruncate = true

// sleep blocks the thread, which wakes more punctually than one of Go's timers
// wakes a goroutine. A signal may end it early.
func sleep(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	unix.Nanosleep(&t, nil) //nolint:errcheck // EINTR is the only error here
}

func (s *socket) close() { unix.Close(s.fd) }

// inspect fills in what the kernel knows of the socket.
func (s *socket) inspect(sample *bulk.Sample) {
	var raw [64]byte // SK_MEMINFO_VARS are nine words in Linux 6.18
	length := uint32(len(raw))
	if _, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(s.fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&raw)), uintptr(unsafe.Pointer(&length)), 0); errno == 0 {
		sample.Mem = bulk.ParseSockMem(raw[:min(int(length), len(raw))])
	}
	sample.Unread = sample.Mem.RecvAlloc // SIOCINQ tells only of the next datagram
	sample.Unsent, _ = unix.IoctlGetInt(s.fd, unix.SIOCOUTQ)
}

// describe fills in the properties of the socket.
func (s *socket) describe(record *bulk.Stream) {
	record.SendBuf, _ = unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	record.RecvBuf, _ = unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
}
