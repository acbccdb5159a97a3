package path

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/unit"
)

// option is a number that a socket is set to.
func option(t *testing.T, conn *net.UDPConn, level, name int) (value int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) { value, failed = unix.GetsockoptInt(int(fd), level, name) })
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return value
}

// udp is a UDP socket of an address of this host.
func udp(t *testing.T, network, address string) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP(network, net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(address), 0)))
	if err != nil && network == "udp6" {
		t.Skip("no IPv6 here: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Probes carry DF, whatever the kernel believes of the path, and the kernel says of
// what comes when, where to, and what it had no room for.
func TestPrepare(t *testing.T) {
	const on = 1
	type set struct{ level, name, want int }
	both := []set{
		{unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE},
		{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, on}, {unix.SOL_SOCKET, unix.SO_RXQ_OVFL, on},
	}
	for network, options := range map[string][]set{
		"udp4": {{unix.IPPROTO_IP, unix.IP_PKTINFO, on}},
		"udp6": {{unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE}, {unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, on}, {unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, on}},
	} {
		t.Run(network, func(t *testing.T) {
			conn := udp(t, network, map[string]string{"udp4": "127.0.0.1", "udp6": "::1"}[network])
			if err := prepare(conn); err != nil {
				t.Fatal(err)
			}
			for _, o := range slices.Concat(both, options) {
				if got := option(t, conn, o.level, o.name); got != o.want {
					t.Errorf("option %d of level %d is %d, want %d", o.name, o.level, got, o.want)
				}
			}
		})
	}
	conn := udp(t, "udp4", "127.0.0.1")
	conn.Close()
	if err := prepare(conn); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed socket: %v", err)
	}
	if mtu, err := kernelMTU(conn); mtu != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("the MTU of a closed socket: %d (%v)", mtu, err)
	}
}

// There is to be room for a whole train: all of it where this user may have that, and
// else as much as anyone may.
func TestRoomForATrain(t *testing.T) {
	before := option(t, udp(t, "udp4", "127.0.0.1"), unix.SOL_SOCKET, unix.SO_RCVBUF)
	as := func(capabilities func(*unix.CapUserData)) int {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var all, these [2]unix.CapUserData
		if err := unix.Capget(&header, &all[0]); err != nil {
			t.Fatal(err)
		}
		these = all
		capabilities(&these[0])
		if err := unix.Capset(&header, &these[0]); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := unix.Capset(&header, &all[0]); err != nil {
				t.Error(err)
			}
		}()
		conn := udp(t, "udp4", "127.0.0.1")
		if err := prepare(conn); err != nil {
			t.Error(err)
		}
		return option(t, conn, unix.SOL_SOCKET, unix.SO_RCVBUF)
	}
	anyone := as(func(c *unix.CapUserData) { c.Effective &^= 1 << unix.CAP_NET_ADMIN })
	root := as(func(*unix.CapUserData) {})
	if anyone <= before {
		t.Errorf("anyone has room for %d bytes, and had for %d", anyone, before)
	}
	if os.Geteuid() == 0 && root < 2*maxTrainBytes {
		t.Errorf("root has room for %d bytes", root)
	}
}

// ancillary is data as the kernel hands it over beside a datagram.
func ancillary(level, kind int32, data []byte) []byte {
	b := make([]byte, unix.CmsgSpace(len(data)))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = level, kind
	h.SetLen(unix.CmsgLen(len(data)))
	copy(b[unix.CmsgLen(0):], data)
	return b
}

func bytesOf[T any](v T) []byte {
	return slices.Clone(unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)))
}

// What the kernel says of a datagram is read, and nothing else or shorter taken for it.
func TestControl(t *testing.T) {
	from := netip.MustParseAddrPort("[fe80::9%lo]:5201")
	stamp := ancillary(unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, bytesOf(unix.Timespec{Sec: 1, Nsec: 5}))
	at := time.Second + 5
	local4 := bytesOf(unix.Inet4Pktinfo{Ifindex: 1, Spec_dst: [4]byte{9, 9, 9, 9}, Addr: [4]byte{192, 0, 2, 1}})
	local6 := func(a string) []byte {
		return bytesOf(unix.Inet6Pktinfo{Addr: netip.MustParseAddr(a).As16(), Ifindex: 1})
	}
	drops := func(n uint32) []byte { return ancillary(unix.SOL_SOCKET, unix.SO_RXQ_OVFL, bytesOf(n)) }
	for _, c := range []struct {
		name string
		oob  []byte
		want datagram
	}{
		{"when", stamp, datagram{at: at}},
		{"what was dropped", append(drops(12), stamp...), datagram{at: at, lost: 2}}, // of 10 before
		{"where to", append(ancillary(unix.IPPROTO_IP, unix.IP_PKTINFO, local4), stamp...), datagram{at: at, local: netip.MustParseAddr("192.0.2.1")}},
		{"where to, by IPv6", append(ancillary(unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, local6("fd00::1")), stamp...), datagram{at: at, local: netip.MustParseAddr("fd00::1")}},
		{"IPv4 on a socket of both", append(ancillary(unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, local6("::ffff:192.0.2.1")), stamp...), datagram{at: at, local: netip.MustParseAddr("192.0.2.1")}},
		{"to an address of the link", append(ancillary(unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, local6("fe80::1")), stamp...), datagram{at: at, local: netip.MustParseAddr("fe80::1%lo")}},
		{"to an address of the link, IPv4", append(ancillary(unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, local6("::ffff:169.254.0.1")), stamp...), datagram{at: at, local: netip.MustParseAddr("169.254.0.1")}},
		{"of other kinds", slices.Concat(stamp,
			ancillary(unix.IPPROTO_IP, unix.IP_TTL, local4), ancillary(unix.IPPROTO_IPV6, unix.IPV6_HOPLIMIT, local6("fd00::1")),
			ancillary(unix.IPPROTO_ICMP, unix.IP_PKTINFO, local4), ancillary(unix.IPPROTO_ICMP, unix.IPV6_PKTINFO, local6("fd00::1")),
			ancillary(unix.SOL_SOCKET, unix.SCM_CREDENTIALS, make([]byte, 32)),
			ancillary(unix.IPPROTO_IP, unix.SO_RXQ_OVFL, bytesOf(uint32(99))), ancillary(unix.IPPROTO_IP, unix.SO_TIMESTAMPNS, bytesOf(unix.Timespec{Sec: 7}))), datagram{at: at}},
		{"cut off", slices.Concat(stamp,
			ancillary(unix.IPPROTO_IP, unix.IP_PKTINFO, local4[:11]), ancillary(unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, local6("fd00::1")[:19]),
			ancillary(unix.SOL_SOCKET, unix.SO_RXQ_OVFL, make([]byte, 3)), ancillary(unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, make([]byte, 15))), datagram{at: at}},
	} {
		r := reader{overflow: 10}
		got := datagram{from: from}
		r.control(&got, c.oob)
		c.want.from = from
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(datagram{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if want := uint32(10 + c.want.lost); r.overflow != want {
			t.Errorf("%s: %d were dropped so far, want %d", c.name, r.overflow, want)
		}
	}
	for name, oob := range map[string][]byte{"nothing": nil, "nonsense": slices.Repeat([]byte{1}, 24)} {
		before := time.Duration(time.Now().UnixNano())
		var got datagram
		(&reader{}).control(&got, oob)
		if got.at < before || got.at > time.Duration(time.Now().UnixNano()) || got.lost != 0 || got.local.IsValid() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// How a train is handed to the kernel: as much at a time as it can cut, in single
// packets where it cannot, and without counting the time in which there is no room.
func TestFlush(t *testing.T) {
	const none, us = unix.Errno(0), time.Microsecond
	for _, c := range []struct {
		name   string
		size   int
		bytes  int
		ends   []unix.Errno // of one call after the other; then none
		calls  []int        // bytes of each, negative: to be cut by the kernel
		waited time.Duration
		err    error
	}{
		{"whole", 1000, 40_000, nil, []int{-16_000, -16_000, -8000}, 0, nil},
		{"large packets, less than 65000 bytes at once", 8972, 5 * 8972, nil, []int{-5 * 8972}, 0, nil},
		{"and many of them", 8972, 8 * 8972, nil, []int{-7 * 8972, 8972}, 0, nil},
		{"one by one, as they are so large", 65_507, 3 * 65_507, nil, []int{65_507, 65_507, 65_507}, 0, nil},
		{"a shorter one at the end", 1000, 16_500, nil, []int{-16_000, 500}, 0, nil},
		{"one packet", 1000, 1000, nil, []int{1000}, 0, nil},
		{"no room for a while", 1000, 32_000, []unix.Errno{none, unix.EAGAIN}, []int{-16_000, -16_000, -16_000}, 700 * us, nil},
		{"none in the device", 1000, 32_000, []unix.Errno{unix.ENOBUFS, unix.ENOBUFS}, []int{-16_000, -16_000, -16_000, -16_000}, 400 * us, nil},
		{"interrupted", 1000, 16_000, []unix.Errno{unix.EINTR, unix.EINTR, unix.EINTR}, []int{-16_000, -16_000, -16_000, -16_000}, 0, nil},
		{"an error about an earlier packet", 1000, 32_000, []unix.Errno{unix.ECONNREFUSED, none, unix.ECONNREFUSED}, []int{-16_000, -16_000, -16_000, -16_000}, 0, nil},
		{"a device that cannot cut", 1000, 3000, []unix.Errno{unix.EIO, unix.EIO}, []int{-3000, -3000, 1000, 1000, 1000}, 0, nil},
		{"an error that stays", 1000, 3000, []unix.Errno{unix.EIO, unix.EIO, unix.EPERM, unix.EPERM}, []int{-3000, -3000, 1000, 1000}, 0, unix.EPERM},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := outgoing{datagrams: make([]byte, c.bytes), size: c.size, segment: segmentation(c.size), start: time.Now()}
			var calls []int
			send := func(b, control []byte) error {
				time.Sleep(us)
				n := len(b)
				if control != nil {
					n = -n
				}
				calls = append(calls, n)
				if i := len(calls) - 1; i < len(c.ends) && c.ends[i] != none {
					return c.ends[i]
				}
				return nil
			}
			done, err := o.flush(send)
			if !done && err == nil { // the socket has room again, later
				time.Sleep(700 * us)
				done, err = o.flush(send)
			}
			if !done || !errors.Is(err, c.err) || !slices.Equal(calls, c.calls) {
				t.Errorf("%s: done %v (%v) by calls of %v, want %v (%v)", c.name, done, err, calls, c.calls, c.err)
			}
			if busy, want := o.busy(), time.Duration(len(calls))*us; busy != want || o.waited != c.waited {
				t.Errorf("%s: busy for %v, waited %v; want %v, %v", c.name, busy, o.waited, want, c.waited)
			}
		})
	}
	messages, err := unix.ParseSocketControlMessage(segmentation(1472))
	if err != nil || len(messages) != 1 || messages[0].Header.Level != unix.SOL_UDP || messages[0].Header.Type != unix.UDP_SEGMENT || !slices.Equal(messages[0].Data, bytesOf(uint16(1472))) {
		t.Errorf("segments of 1472 bytes are asked for by %+v (%v)", messages, err)
	}
}

// An address as the sockets of either family take it.
func TestSockaddr(t *testing.T) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	mapped := netip.MustParseAddr("192.0.2.1").As16()
	for _, c := range []struct {
		family int
		to     string
		want   unix.Sockaddr
	}{
		{unix.AF_INET, "192.0.2.1:9", &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 1}, Port: 9}},
		{unix.AF_INET, "[::ffff:192.0.2.1]:9", &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 1}, Port: 9}},
		{unix.AF_INET6, "192.0.2.1:9", &unix.SockaddrInet6{Addr: mapped, Port: 9}},
		{unix.AF_INET6, "[fe80::1%lo]:9", &unix.SockaddrInet6{Addr: netip.MustParseAddr("fe80::1").As16(), Port: 9, ZoneId: uint32(lo.Index)}},
		{unix.AF_INET6, "[fd00::1]:9", &unix.SockaddrInet6{Addr: netip.MustParseAddr("fd00::1").As16(), Port: 9}},
		{unix.AF_INET6, "[fe80::1%none-such]:9", nil},
		{unix.AF_INET, "[fd00::1]:9", nil},
	} {
		got, err := sockaddr(c.family, netip.MustParseAddrPort(c.to))
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(unix.SockaddrInet4{}, unix.SockaddrInet6{})); diff != "" || (err != nil) != (c.want == nil) {
			t.Errorf("%s of family %d: %v (-want +got):\n%s", c.to, c.family, err, diff)
		}
	}
}

// What is known of the way to this host itself, and whose an address is.
func TestRouteTo(t *testing.T) {
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		addrs, _ := i.Addrs()
		for _, b := range addrs {
			prefix := netip.MustParsePrefix(b.String())
			if prefix.Addr().IsLinkLocalUnicast() {
				continue // another interface may have it as well
			}
			if got := interfaceOf(prefix.Addr()); got == nil || got.Name != i.Name {
				t.Errorf("%v is of %+v, want %s", prefix.Addr(), got, i.Name)
			}
		}
		if i.Flags&net.FlagLoopback == 0 {
			continue
		}
		for _, b := range addrs {
			to := netip.MustParsePrefix(b.String()).Addr()
			r, err := routeTo(to)
			if want := (route{local: to, link: min(i.MTU, maxPacket), kernel: min(i.MTU, maxPacket)}); err != nil || r != want {
				t.Errorf("to %v: %+v (%v), want %+v", to, r, err, want)
			}
		}
	}
	if got := interfaceOf(netip.MustParseAddr("192.0.2.77")); got != nil {
		t.Errorf("nobody's address is of %+v", got)
	}
}

// Only a card with a device behind it has a speed, and only while it says so.
func TestLinkSpeed(t *testing.T) {
	for _, c := range []struct {
		device bool
		speed  string
		want   unit.Rate
	}{
		{true, "1000\n", unit.Gbps}, {true, "10\n", 10 * unit.Mbps}, {true, "-1\n", 0}, {true, "0\n", 0},
		{true, "unknown\n", 0}, {true, "99999999999999999999\n", 0}, {true, "", 0}, {false, "10000\n", 0},
	} {
		dir := t.TempDir()
		if c.device {
			if err := os.Mkdir(filepath.Join(dir, "device"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if c.speed != "" {
			if err := os.WriteFile(filepath.Join(dir, "speed"), []byte(c.speed), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := linkSpeedIn(dir); got != c.want {
			t.Errorf("device %v, speed %q: %v, want %v", c.device, c.speed, got, c.want)
		}
	}
	if got := linkSpeed("lo"); got != 0 {
		t.Errorf("lo has %v", got)
	}
}

// Errors about something that was sent pass; the end of the socket, or a hundred of
// them in a row, do not.
func TestReadOn(t *testing.T) {
	passing := errors.New("connection refused")
	for _, c := range []struct {
		name  string
		fails func(n int) error // of the n-th read, from 1
		reads int
		want  error
	}{
		{"closed", func(int) error { return net.ErrClosed }, 1, net.ErrClosed},
		{"closed later", func(n int) error {
			if n < 1000 {
				return nil
			}
			return net.ErrClosed
		}, 1000, net.ErrClosed},
		{"always the same", func(int) error { return passing }, 101, passing},
		{"now and then", func(n int) error {
			if n == 1000 {
				return net.ErrClosed
			}
			if n%101 == 0 {
				return nil
			}
			return passing
		}, 1000, net.ErrClosed},
	} {
		reads := 0
		if err := readOn(t.Context(), func() error { reads++; return c.fails(reads) }); !errors.Is(err, c.want) || reads != c.reads {
			t.Errorf("%s: %v after %d reads, want %v after %d", c.name, err, reads, c.want, c.reads)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := readOn(ctx, func() error { cancel(); return passing }); err != nil {
		t.Errorf("nobody waits any more: %v", err)
	}
}
