package path

import (
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// connect times one TCP handshake with a blocking connect(2), so that no event
// loop is in the way. A refusal is an answer as well.
//
// The kernel's own sample of the handshake (TCP_INFO, tcpi_rtt) leaves out how
// long this thread took to wake up. It is absent if the SYN was sent again,
// which also sets those handshakes apart from slow ones.
func connect(to netip.AddrPort, timeout time.Duration) (handshake, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	family := unix.AF_INET6
	if to.Addr().Unmap().Is4() {
		family = unix.AF_INET
	}
	address, err := sockaddr(family, to)
	if err != nil {
		return handshake{}, err
	}
	s, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return handshake{}, fmt.Errorf("open socket: %w", err)
	}
	defer unix.Close(s)
	// On Linux the send timeout bounds connect(2) as well (socket(7)). Closing
	// with a reset leaves no TIME_WAIT behind on either host.
	if err := setSendTimeout(s, timeout); err != nil {
		return handshake{}, err
	}
	if err := unix.SetsockoptLinger(s, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
		return handshake{}, fmt.Errorf("set SO_LINGER: %w", err)
	}

	start := time.Now()
	err = insist(timeout, func() error { return unix.Connect(s, address) }, func(left time.Duration) error { return setSendTimeout(s, left) })
	h := handshake{rtt: time.Since(start)}
	refused, err := answered(err, h.rtt)
	switch {
	case refused:
		return h, nil
	case errors.Is(err, errNoAnswer):
		return handshake{}, err
	case err != nil:
		return handshake{}, fmt.Errorf("connect to %v: %w", to, err)
	}
	info, err := unix.GetsockoptTCPInfo(s, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return h, nil
	}
	return h.sampled(info)
}

// insist calls connect until a signal does not interrupt it, and shortens its
// timeout before each further call. With a send timeout, connect(2) is not restarted
// after a signal, such as those by which Go preempts threads (signal(7)). The
// handshake goes on, and a second call waits for its end: EALREADY where that does
// not come in time.
func insist(timeout time.Duration, connect func() error, shorten func(left time.Duration) error) error {
	start := time.Now()
	err := connect()
	for errors.Is(err, unix.EINTR) && time.Since(start) < timeout {
		if err := shorten(timeout - time.Since(start)); err != nil {
			return err
		}
		err = connect()
	}
	return err
}

// answered says what a connect(2) came to that ended with an error, or without
// one, after so long: a refusal is an answer, too.
func answered(err error, after time.Duration) (refused bool, _ error) {
	switch {
	case errors.Is(err, unix.ECONNREFUSED) && after < initialRTO: // later, it may be to a second SYN
		return true, nil
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.EINPROGRESS), errors.Is(err, unix.EALREADY), errors.Is(err, unix.EAGAIN),
		errors.Is(err, unix.ETIMEDOUT), errors.Is(err, unix.EINTR):
		return false, errNoAnswer
	}
	return false, err
}

// sampled is a handshake with what the kernel knows of it.
func (h handshake) sampled(info *unix.TCPInfo) (handshake, error) {
	if info.Total_retrans > 0 {
		return handshake{}, errNoAnswer
	}
	if kernel := time.Duration(info.Rtt) * time.Microsecond; kernel > 0 {
		h.rtt = min(h.rtt, kernel)
	}
	h.sendMSS, h.announced = int(info.Snd_mss), int(info.Advmss)
	if info.Options&optTimestamps != 0 {
		h.sendMSS += timestampSize // the kernel has already taken it off both
		h.announced += timestampSize
	}
	return h, nil
}

func setSendTimeout(s int, timeout time.Duration) error {
	limit := unix.NsecToTimeval(max(timeout, time.Millisecond).Nanoseconds()) // 0 would be none
	if err := unix.SetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit); err != nil {
		return fmt.Errorf("set SO_SNDTIMEO: %w", err)
	}
	return nil
}

// optTimestamps is TCPI_OPT_TIMESTAMPS (include/uapi/linux/tcp.h).
const optTimestamps = 1

// timestampSize is what the TCP timestamp option takes of every segment, in
// bytes (RFC 7323, appendix A).
const timestampSize = 12
