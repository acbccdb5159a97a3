package bulk

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/unit"
)

// Control is for net.Dialer.Control and net.ListenConfig.Control. It sets what
// must be set before the handshake: the buffers, which decide the window scale,
// TCP_MAXSEG, which decides what both ends send, TCP_CONGESTION, and the type of
// service of its packets. A listener hands them on to what it accepts; switch
// Multipath TCP off there, which Go asks for: what is measured shall be plain
// TCP.
func Control(spec Spec) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		return control(c, func(fd int) error {
			return errors.Join(
				setBuffer(fd, "SO_RCVBUF", unix.SO_RCVBUF, spec.RecvBuf),
				setBuffer(fd, "SO_SNDBUF", unix.SO_SNDBUF, spec.SendBuf),
				setMSS(fd, spec.MSS),
				setCongestion(fd, spec.Congest),
				setTOS(fd, spec.TOS),
			)
		})
	}
}

// Prepare sets on a connected socket what spec asks of this end: of a sender
// congestion control, pacing, send buffer, TCP_NOTSENT_LOWAT and TCP_NODELAY, of
// a receiver its receive buffer, of both the type of service. An error names the
// option and what to do.
//
// The kernel silently limits buffers to net.core.wmem_max and rmem_max; Stream
// has the sizes really in use.
func Prepare(c *net.TCPConn, spec Spec, sender bool) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	if !sender {
		return control(raw, func(fd int) error {
			return errors.Join(setBuffer(fd, "SO_RCVBUF", unix.SO_RCVBUF, spec.RecvBuf), setTOS(fd, spec.TOS))
		})
	}
	// Go sets TCP_NODELAY on every connection, other programs do not.
	if err := c.SetNoDelay(spec.NoDelay); err != nil {
		return fmt.Errorf("set TCP_NODELAY: %w", err)
	}
	return control(raw, func(fd int) error {
		return errors.Join(
			setBuffer(fd, "SO_SNDBUF", unix.SO_SNDBUF, spec.SendBuf),
			setCongestion(fd, spec.Congest),
			setPace(fd, spec.Pace),
			setNotSentLowat(fd, spec.NotSentLowat),
			setTOS(fd, spec.TOS),
		)
	})
}

// control calls set with the connection's descriptor.
func control(c syscall.RawConn, set func(fd int) error) error {
	var setErr error
	if err := c.Control(func(fd uintptr) { setErr = set(int(fd)) }); err != nil {
		return err
	}
	return setErr
}

func setBuffer(fd int, name string, option, size int) error {
	if size == 0 {
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, size); err != nil {
		return fmt.Errorf("set %s to %d: %w", name, size, err)
	}
	return nil
}

func setMSS(fd, mss int) error {
	if mss == 0 {
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG, mss); err != nil {
		return fmt.Errorf("set TCP_MAXSEG to %d: %w", mss, err)
	}
	return nil
}

func setCongestion(fd int, name string) error {
	if name == "" {
		return nil
	}
	err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	switch err {
	case nil:
		return nil
	case unix.ENOENT:
		return fmt.Errorf("set TCP_CONGESTION to %q: this host has %s: %w", name, algorithms("available"), err)
	case unix.EPERM:
		return fmt.Errorf("set TCP_CONGESTION to %q: without CAP_NET_ADMIN this host allows %s: %w", name, algorithms("allowed"), err)
	}
	return fmt.Errorf("set TCP_CONGESTION to %q: %w", name, err)
}

// sysctls of TCP, of the network namespace that this process is in.
const sysctls = "/proc/sys/net/ipv4/"

// algorithms lists the congestion controls that are available or allowed.
func algorithms(which string) string {
	names, err := os.ReadFile(sysctls + "tcp_" + which + "_congestion_control")
	if err != nil {
		return "others"
	}
	return strings.Join(strings.Fields(string(names)), ", ")
}

// CongestionAllowed reports, as an error that names what is allowed, that the
// host does not allow everyone to use a congestion control; "" is the default,
// which it does. A process with CAP_NET_ADMIN could use another one all the same,
// and would have the kernel load a module for it: not for strangers.
func CongestionAllowed(name string) error {
	if name == "" {
		return nil
	}
	allowed, err := allowedCongestion(sysctls)
	if err != nil {
		return fmt.Errorf("congestion control %q: it is not known what this host allows: %w", name, err)
	}
	if !slices.Contains(allowed, name) {
		return fmt.Errorf("congestion control %q is not one that this host allows everyone: %s (net.ipv4.tcp_allowed_congestion_control)", name, strings.Join(allowed, ", "))
	}
	return nil
}

// allowedCongestion reads what everyone may use. Before Linux 5.7 only the first
// network namespace reports; then it is the default, and what always is allowed.
func allowedCongestion(dir string) ([]string, error) {
	names, err := os.ReadFile(dir + "tcp_allowed_congestion_control")
	if err == nil {
		return strings.Fields(string(names)), nil
	}
	usual, missing := os.ReadFile(dir + "tcp_congestion_control")
	if !errors.Is(err, fs.ErrNotExist) || missing != nil {
		return nil, errors.Join(err, missing)
	}
	allowed := append(strings.Fields(string(usual)), "reno") // TCP_CONG_NON_RESTRICTED (net/ipv4/tcp_cong.c)
	slices.Sort(allowed)
	return slices.Compact(allowed), nil
}

// setPace sets SO_MAX_PACING_RATE, in bytes per second. Linux takes 64 bits
// since 4.20; the 32 bits of before do for all rates below 34 Gb/s.
func setPace(fd int, rate unit.Rate) error {
	if rate == 0 {
		return nil
	}
	var err error
	if bytes := uint64(max(1, rate/8)); bytes < math.MaxUint32 {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, int(bytes))
	} else {
		err = unix.SetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, bytes)
	}
	if err != nil {
		return fmt.Errorf("set SO_MAX_PACING_RATE to %v: %w", rate, err)
	}
	return nil
}

func setNotSentLowat(fd, bytes int) error {
	if bytes == 0 {
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, bytes); err != nil {
		return fmt.Errorf("set TCP_NOTSENT_LOWAT to %d: %w", bytes, err)
	}
	return nil
}

// setTOS sets the type of service of IPv4 and the traffic class of IPv6; a
// socket of IPv6 may well carry IPv4. The kernel keeps the two bits of ECN to
// itself.
func setTOS(fd, tos int) error {
	if tos == 0 {
		return nil
	}
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err == nil && family == unix.AF_INET6 {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, tos)
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TOS, tos)
	}
	if err != nil {
		return fmt.Errorf("set type of service to %d: %w", tos, err)
	}
	return nil
}
