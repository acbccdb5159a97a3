package path

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/lab/wire"
)

// The integration tests join network namespaces and run both ends of a probe as
// processes of their own in them: this test binary, in a role.
const roleVariable = "FULLBORE_PATH_TEST_ROLE"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "far":
		err = farEnd(os.Args[1])
	case "near":
		err = nearEnd(os.Args[1], os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const port = 5201

// farEnd serves probes and, in place of package peer, a helper that reads one
// cookie a line ("" opens a ticket) and answers with JSON.
func farEnd(mode string) error {
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return err
	}
	udp, err := net.ListenUDP("udp", &net.UDPAddr{Port: port})
	if err != nil {
		return err
	}
	responder := NewResponder(udp)
	if mode != "deaf" {
		go responder.Serve(context.Background())
	}
	fmt.Println("ready")
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			in, out := json.NewDecoder(conn), json.NewEncoder(conn)
			for {
				var c string
				if in.Decode(&c) != nil {
					return
				}
				if c == "" {
					t, _ := responder.Open(conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr())
					out.Encode(t)
					continue
				}
				o, _ := responder.Observed(c)
				out.Encode(o)
			}
		}()
	}
}

// small keeps the segments of both ends small, see Helper.
func small(_, _ string, c syscall.RawConn) (err error) {
	controlErr := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, SafeMSS)
	})
	return errors.Join(controlErr, err)
}

// tcpHelper is the client of farEnd.
type tcpHelper struct{ conn net.Conn }

func (h *tcpHelper) ask(question string, answer any) error {
	h.conn.SetDeadline(time.Now().Add(5 * time.Second))
	if err := json.NewEncoder(h.conn).Encode(question); err != nil {
		return err
	}
	return json.NewDecoder(h.conn).Decode(answer)
}

func (h *tcpHelper) OpenProbe(context.Context) (t Ticket, err error) {
	return t, h.ask("", &t)
}

func (h *tcpHelper) Observed(_ context.Context, c string) (o Observed, err error) {
	return o, h.ask(c, &o)
}

// probed is what nearEnd prints.
type probed struct {
	Estimate *Estimate
	Progress []string
}

func nearEnd(to, mode string) (err error) {
	far := netip.AddrPortFrom(netip.MustParseAddr(to), port)
	var helper Helper
	if mode != "alone" {
		dialer := net.Dialer{Control: small}
		conn, err := dialer.Dial("tcp", far.String())
		if err != nil {
			return err
		}
		helper = &tcpHelper{conn}
	}
	var r probed
	start := time.Now()
	r.Estimate, err = Probe(context.Background(), far, helper, Options{Progress: func(s string) {
		r.Progress = append(r.Progress, fmt.Sprintf("%.3f s: %s", time.Since(start).Seconds(), s))
	}})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// space is a network namespace and a thread that lives in it.
type space struct{ calls chan func() }

func newSpace(t *testing.T) *space {
	t.Helper()
	s := &space{make(chan func())}
	unshared := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread dies with its namespace
		unshared <- unix.Unshare(unix.CLONE_NEWNET)
		for call := range s.calls {
			call()
		}
	}()
	t.Cleanup(func() { close(s.calls) })
	if err := <-unshared; errors.Is(err, unix.EPERM) {
		t.Skip("network namespaces are not permitted here")
	} else if err != nil {
		t.Fatalf("unshare: %v", err)
	}
	s.run(t, "ip link set lo up")
	return s
}

// must runs f on the namespace's thread.
func (s *space) must(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error)
	s.calls <- func() { done <- f() }
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// run runs commands, one a line.
func (s *space) run(t *testing.T, commands string) {
	t.Helper()
	for line := range strings.Lines(commands) {
		if words := strings.Fields(line); len(words) > 0 {
			s.must(t, func() error {
				if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
					return fmt.Errorf("%s: %w: %s", line, err, out)
				}
				return nil
			})
		}
	}
}

// start runs this test binary in a role.
func (s *space) start(t *testing.T, role string, args ...string) (*exec.Cmd, io.Reader) {
	t.Helper()
	c := exec.Command("/proc/self/exe", args...)
	c.Env = append(os.Environ(), roleVariable+"="+role)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.must(t, c.Start)
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	return c, out
}

// probe runs both ends and returns the near one's estimate. Without a mode of
// the far end, nobody is there.
func probe(t *testing.T, near, far *space, to, nearMode, farMode string) *Estimate {
	t.Helper()
	if farMode != "" {
		_, out := far.start(t, "far", farMode)
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatalf("far end: %v", err)
		}
	}
	c, out := near.start(t, "near", to, nearMode)
	late := time.AfterFunc(30*time.Second, func() { c.Process.Kill() })
	defer late.Stop()
	var r probed
	if err := json.NewDecoder(out).Decode(&r); err != nil {
		t.Fatalf("probe: %v", err)
	}
	t.Log(strings.Join(r.Progress, "\n"))
	return r.Estimate
}

// wired joins two new namespaces by an emulated path; the far end is 198.18.0.2
// and fd00::2.
func wired(t *testing.T, mtu int, aToB, bToA wire.Direction) (a, b *space) {
	t.Helper()
	a, b = newSpace(t), newSpace(t)
	var ends [2]*os.File
	for i, s := range []*space{a, b} {
		s.must(t, func() (err error) {
			ends[i], err = wire.OpenTUN("path0", mtu)
			return err
		})
		t.Cleanup(func() { ends[i].Close() })
		s.run(t, fmt.Sprintf(`
			ip link set path0 txqueuelen %[2]d up
			ip addr add 198.18.0.%[1]d/30 dev path0
			ip addr add fd00::%[1]d/64 dev path0 nodad`, i+1, wire.TxQueueLen))
	}
	w, err := wire.Start(ends[0], ends[1], mtu, aToB, bToA)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, b
}

// joined connects two namespaces by a pair of virtual Ethernet devices.
func joined(t *testing.T, a, b *space, nameA, nameB string) {
	t.Helper()
	var other netns.NsHandle
	b.must(t, func() (err error) {
		other, err = netns.Get()
		return err
	})
	defer other.Close()
	a.must(t, func() error {
		pair := netlink.NewVeth(netlink.NewLinkAttrs())
		pair.Name, pair.PeerName, pair.PeerNamespace = nameA, nameB, netlink.NsFd(other)
		return netlink.LinkAdd(pair)
	})
}
