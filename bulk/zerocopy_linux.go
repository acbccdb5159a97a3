package bulk

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// zeroCopy sends the payload's own pages (MSG_ZEROCOPY, Linux 4.14). The kernel
// reports on the socket's error queue when it is done with each send, and whether
// it had to copy it after all, as on the loopback and for devices that cannot
// gather (Documentation/networking/msg_zerocopy.rst).
type zeroCopy struct {
	sock        *socket
	payload     []byte
	outstanding int // sends that the kernel is not done with
	byReference int64
	copied      int64
	data        [1]byte   // of one message of the error queue: none
	report      [128]byte // and what it says
}

// The kernel counts outstanding sends against net.core.optmem_max, the default
// of which is enough for about 25 (20 KiB, before Linux 6.7) to 170 of them
// where they cannot be merged; then it says ENOBUFS. collectAt keeps the queue
// short of that at little cost; mostOutstanding is where nothing else does.
const (
	collectAt       = 16
	mostOutstanding = 4096
)

func newZeroCopy(sock *socket, payload []byte) (*zeroCopy, error) {
	if err := unix.SetsockoptInt(sock.fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1); err != nil {
		return nil, fmt.Errorf("set SO_ZEROCOPY: %w", err)
	}
	return &zeroCopy{sock: sock, payload: payload}, nil
}

func (z *zeroCopy) write(n int) (int, error) {
	if z.outstanding >= collectAt {
		z.collect()
	}
	if z.outstanding >= mostOutstanding && !z.await() {
		return 0, errTick
	}
	sent, err := unix.SendmsgN(z.sock.fd, z.payload[:n], nil, nil, unix.MSG_ZEROCOPY)
	if errors.Is(err, unix.ENOBUFS) {
		if z.outstanding > 0 {
			z.await()
			return 0, errTick
		}
		// No memory may be locked at all (RLIMIT_MEMLOCK), or none is left.
		if sent, err = z.sock.write(z.payload[:n]); err == nil {
			z.copied++
		}
		return sent, err
	}
	if err != nil {
		return 0, ticked(err)
	}
	z.outstanding++
	return sent, nil
}

// await waits up to a tick until the kernel is done with a send.
func (z *zeroCopy) await() bool {
	before := z.outstanding
	queue := []unix.PollFd{{Fd: int32(z.sock.fd)}} // POLLERR always counts
	unix.Poll(queue, int(tick.Milliseconds()))     //nolint:errcheck // what there is shows next
	z.collect()
	return z.outstanding < before
}

// collect reads what the kernel says of the sends it is done with.
func (z *zeroCopy) collect() {
	for z.outstanding > 0 {
		_, n, _, _, err := unix.Recvmsg(z.sock.fd, z.data[:], z.report[:], unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if err != nil {
			return
		}
		messages, err := unix.ParseSocketControlMessage(z.report[:n])
		if err != nil {
			return
		}
		for _, m := range messages {
			z.note(m)
		}
	}
}

// note counts the sends, numbered from ee_info to ee_data, that one report is of.
func (z *zeroCopy) note(m unix.SocketControlMessage) {
	ip4 := m.Header.Level == unix.SOL_IP && m.Header.Type == unix.IP_RECVERR
	ip6 := m.Header.Level == unix.SOL_IPV6 && m.Header.Type == unix.IPV6_RECVERR
	if !ip4 && !ip6 || len(m.Data) < int(unsafe.Sizeof(unix.SockExtendedErr{})) {
		return
	}
	report := (*unix.SockExtendedErr)(unsafe.Pointer(unsafe.SliceData(m.Data)))
	if report.Errno != 0 || report.Origin != unix.SO_EE_ORIGIN_ZEROCOPY {
		return
	}
	n := int64(report.Data-report.Info) + 1
	z.outstanding -= int(n)
	if report.Code&unix.SO_EE_CODE_ZEROCOPY_COPIED != 0 {
		z.copied += n
	} else {
		z.byReference += n
	}
}

// settle waits a little for the last reports: those of sends that the peer has
// not acknowledged by then are missing.
func (z *zeroCopy) settle(record *Stream) {
	z.collect()
	for until := time.Now().Add(tick); z.outstanding > 0 && time.Now().Before(until); {
		if !z.await() {
			break
		}
	}
	record.ZeroCopied, record.Copied = z.byReference, z.copied
}
