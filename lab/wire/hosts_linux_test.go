package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// testHost is a network namespace with a TUN device, and a thread that lives in it.
type testHost struct {
	calls chan func()
	tun   *os.File
}

const device = "path0"

var addresses = [2][2]string{{"198.18.0.1", "fd00::1"}, {"198.18.0.2", "fd00::2"}}

// newHosts makes two hosts a and b, which use the given congestion control, or
// skips where the system does not allow network namespaces.
func newHosts(t testing.TB, mtu int, congestion string) (a, b *testHost) {
	t.Helper()
	return newHost(t, 0, mtu, congestion), newHost(t, 1, mtu, congestion)
}

func newHost(t testing.TB, i, mtu int, congestion string) *testHost {
	t.Helper()
	h := &testHost{calls: make(chan func())}
	unshared := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread dies with its namespace
		unshared <- unix.Unshare(unix.CLONE_NEWNET)
		for call := range h.calls {
			call()
		}
	}()
	err := <-unshared
	t.Cleanup(func() { close(h.calls) })
	if errors.Is(err, unix.EPERM) {
		t.Skip("network namespaces are not permitted here")
	}
	if err != nil {
		t.Fatalf("unshare: %v", err)
	}
	h.must(t, func() error {
		h.tun, err = OpenTUN(device, mtu)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		t.Skipf("no TUN devices here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.tun.Close() })
	h.must(t, func() error { return setUp(i, congestion) })
	return h
}

func setUp(i int, congestion string) error {
	link, err := netlink.LinkByName(device)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetTxQLen(link, TxQueueLen); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return err
	}
	for j, bits := range []string{"/30", "/64"} {
		addr, err := netlink.ParseAddr(addresses[i][j] + bits)
		if err != nil {
			return err
		}
		addr.Flags = unix.IFA_F_NODAD | unix.IFA_F_NOPREFIXROUTE
		if err := netlink.AddrAdd(link, addr); err != nil {
			return fmt.Errorf("address %v: %w", addr, err)
		}
		_, dst, err := net.ParseCIDR(addresses[1-i][j] + bits)
		if err != nil {
			return err
		}
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: dst, Congctl: congestion}
		if err := netlink.RouteAdd(route); err != nil {
			return fmt.Errorf("route %v: %w", route, err)
		}
	}
	return AwaitAddress(netip.MustParseAddr(addresses[i][ipv6]))
}

// must runs f on the host's thread.
func (h *testHost) must(t testing.TB, f func() error) {
	t.Helper()
	done := make(chan error)
	h.calls <- func() { done <- f() }
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// counter reads a counter of the host's network stack, such as "Tcp:InCsumErrors".
func (h *testHost) counter(t testing.TB, name string) (value uint64) {
	t.Helper()
	h.must(t, func() error {
		for _, file := range []string{"/proc/thread-self/net/snmp", "/proc/thread-self/net/netstat"} {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			lines := strings.Split(string(text), "\n")
			for i := 0; i+1 < len(lines); i += 2 {
				names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
				for j := range names {
					if j > 0 && names[0]+names[j] == name {
						value, err = strconv.ParseUint(values[j], 10, 64)
						return err
					}
				}
			}
		}
		return fmt.Errorf("no counter %s", name)
	})
	return value
}

// sysctl sets a sysctl of the host's own namespace.
func (h *testHost) sysctl(t testing.TB, name, value string) {
	t.Helper()
	h.must(t, func() error {
		return os.WriteFile("/proc/sys/"+strings.ReplaceAll(name, ".", "/"), []byte(value), 0)
	})
}

// start runs this test binary in a role on the host.
func (h *testHost) start(t testing.TB, role string, args ...string) *program {
	t.Helper()
	p := &program{role: role, cmd: exec.Command("/proc/self/exe", args...)}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	h.must(t, p.cmd.Start)
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it has mostly ended by itself
	return p
}

type program struct {
	role string
	cmd  *exec.Cmd
	out  bytes.Buffer
}

// result waits for the program and decodes what it printed.
func (p *program) result(t testing.TB, into any) {
	t.Helper()
	late := time.AfterFunc(30*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	if err := p.cmd.Wait(); err != nil {
		t.Fatalf("%s: %v", p.role, err)
	}
	if err := json.Unmarshal(p.out.Bytes(), into); err != nil {
		t.Fatalf("%s printed %q: %v", p.role, p.out.Bytes(), err)
	}
}

// received is what the receiver of a transfer saw.
type received struct {
	Bytes   int64
	Elapsed time.Duration // from the connection to its end
}

// ipv4 and ipv6 choose an address of a host.
const (
	ipv4 = iota
	ipv6
)

// transfer sends for a duration from a to b with kernel TCP. Check, which costs
// CPU, makes the receiver compare each byte.
func transfer(t testing.TB, from, to *testHost, family int, d time.Duration, check string) (sent senderInfo, got received) {
	t.Helper()
	receiver := to.start(t, "receive", addresses[1][family], check)
	sender := from.start(t, "send", addresses[1][family], d.String())
	sender.result(t, &sent)
	receiver.result(t, &got)
	return sent, got
}

// wired starts a wire between a and b that must close without error, and whose
// devices must not have dropped anything.
func wired(t testing.TB, a, b *testHost, mtu int, aToB, bToA Direction) *Wire {
	t.Helper()
	w, err := Start(a.tun, b.tun, mtu, aToB, bToA)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		for _, h := range []*testHost{a, b} {
			h.must(t, func() error {
				n, err := RingDrops(device)
				if n > 0 {
					t.Errorf("the ring of a TUN device dropped %d packets", n)
				}
				return err
			})
		}
		for _, s := range []DirectionStats{w.Stats().AToB, w.Stats().BToA} {
			if in, out := s.SegmentsIn+s.Duplicated, s.SegmentsOut+s.Drops.Total()+s.WriteErrors+s.Waiting; in != out {
				t.Errorf("%d segments in, %d accounted for: %+v", in, out, s)
			}
		}
	})
	return w
}

func setDown(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetDown(link)
}
