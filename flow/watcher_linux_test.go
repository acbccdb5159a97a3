package flow

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"encoding/json"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/internal/cable"
)

// watch gives a watcher that ends with the test.
func watch(t testing.TB) *Watcher {
	t.Helper()
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func look(t testing.TB, w *Watcher) *Snapshot {
	t.Helper()
	s, err := w.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// connection gives both ends of one over loopback.
func connection(t testing.TB, network, address string) (out, in *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	one, err := net.Dial(network, listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		one.Close()
		other.Close()
	})
	return one.(*net.TCPConn), other.(*net.TCPConn)
}

// from gives the flow whose local end is conn's.
func from(s *Snapshot, conn *net.TCPConn) *Flow {
	for i := range s.Flows {
		if s.Flows[i].Local == conn.LocalAddr().(*net.TCPAddr).AddrPort() {
			return &s.Flows[i]
		}
	}
	return nil
}

// TestIntegrationFlows follows connections of this process from their first look
// to their end.
func TestIntegrationFlows(t *testing.T) {
	cable.ForTest(t, cable.Spec{IPv6: true})
	w := watch(t)
	if s := look(t, w); len(s.Flows) != 0 || s.Over != 0 {
		t.Fatalf("a new namespace has flows: %+v", s)
	}
	for _, c := range []struct{ network, address string }{{"tcp4", "127.0.0.1:0"}, {"tcp6", "[::1]:0"}} {
		out, in := connection(t, c.network, c.address)
		s := look(t, w)
		if len(s.Flows) != 2 {
			t.Fatalf("%s: %+v", c.network, s.Flows)
		}
		first := from(s, out)
		if first == nil || first.State != "established" || first.PID != 0 && first.PID != os.Getpid() || !first.Idle || first.Remote != out.RemoteAddr().(*net.TCPAddr).AddrPort() {
			t.Fatalf("%s: %+v", c.network, first)
		}
		id := first.ID

		go out.Write(make([]byte, 1<<20))
		if _, err := io.ReadFull(in, make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		s = look(t, w)
		f, other := from(s, out), from(s, in)
		if f.ID != id || !f.Sends || f.Goodput <= 0 || f.Bytes < 1<<20 || f.Idle || f.Limit.Says != measuring.Says {
			t.Errorf("%s: after a megabyte: %+v", c.network, f)
		}
		if other.Sends || other.Bytes != 1<<20 || other.ID == id {
			t.Errorf("%s: where it arrived: %+v", c.network, other)
		}

		if err := out.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		eventually(t, c.network+": a half-closed flow does not say so", func() bool {
			s = look(t, w)
			f, other := from(s, out), from(s, in)
			return f.State == "fin-wait-2" && f.Idle && other.State == "close-wait" && other.Idle
		})
		in.Close()
		out.Close()
		eventually(t, "the flow remains", func() bool { return len(look(t, w).Flows) == 0 })
	}
	if len(w.tracks) != 0 {
		t.Errorf("%d ended flows are remembered", len(w.tracks))
	}
}

// TestIntegrationOwners: a flow has the process that opened it.
func TestIntegrationOwners(t *testing.T) {
	cable.ForTest(t, cable.Spec{})
	out, _ := connection(t, "tcp4", "127.0.0.1:0")
	s := look(t, watch(t))
	f := from(s, out)
	if f == nil || f.PID != os.Getpid() || f.Process == "" || f.Process == Kernel || s.Hidden != 0 || len(s.Notes) != 0 {
		t.Errorf("got %+v, %d hidden, %v", f, s.Hidden, s.Notes)
	}
}

// TestIntegrationUnprivileged: a user who may not see whose flows they are sees
// the flows, and how to see the rest.
func TestIntegrationUnprivileged(t *testing.T) {
	cable.ForTest(t, cable.Spec{})
	out, _ := connection(t, "tcp4", "127.0.0.1:0")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleKey+"=unprivileged", "TEST_LOOKS=1")
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	s := &Snapshot{}
	if err := json.Unmarshal(raw, s); err != nil {
		t.Fatal(err)
	}
	f := from(s, out)
	if f == nil || f.PID != 0 || f.Process != "" || s.Hidden != 2 || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "2 flows") || !strings.Contains(s.Notes[0], "run as root") {
		t.Errorf("got %+v, %d hidden, %v", f, s.Hidden, s.Notes)
	}
}

// unprivilegedRole looks as nobody.
func unprivilegedRole() error {
	if err := errors.Join(unix.Setgroups(nil), unix.Setgid(65534), unix.Setuid(65534)); err != nil {
		return err
	}
	return lookRole()
}

// TestIntegrationTimeWait: ten thousand sockets that only wait for their end are
// counted, not shown, and cost nothing.
func TestIntegrationTimeWait(t *testing.T) {
	cable.ForTest(t, cable.Spec{})
	const ended = 10_000
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	w := watch(t)
	for i := range ended {
		// Each from a port of its own: Linux would use those in TIME_WAIT again.
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 10_000 + i}}
		out, err := dialer.Dial("tcp4", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		in, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		out.Close()
		in.Close()
	}
	eventually(t, "not all are in TIME_WAIT", func() bool {
		s := look(t, w)
		return len(s.Flows) == 0 && s.TimeWait == ended
	})
	if len(w.tracks) != 0 {
		t.Errorf("%d of them are followed", len(w.tracks))
	}
}

// TestIntegrationEndsInMidSample: a flow that ends between two looks is missing
// from samples, and from the next look.
func TestIntegrationEndsInMidSample(t *testing.T) {
	cable.ForTest(t, cable.Spec{})
	out, in := connection(t, "tcp4", "127.0.0.1:0")
	w := watch(t)
	go io.Copy(io.Discard, in)
	stop := make(chan struct{})
	go func() {
		for data := make([]byte, 1<<16); ; {
			if _, err := out.Write(data); err != nil {
				close(stop)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	look(t, w)
	time.Sleep(100 * time.Millisecond)
	look(t, w)
	track := w.order[0]
	eventually(t, "nothing is sampled between looks", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(track.history) > 3
	})
	if err := out.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	out.Close()
	<-stop
	w.mu.Lock()
	samples := len(track.history)
	w.mu.Unlock()
	time.Sleep(3 * sampleEvery)
	w.mu.Lock()
	if after := len(track.history); after != samples {
		t.Errorf("%d samples of a flow that has ended", after-samples)
	}
	w.mu.Unlock()
	in.Close()
	eventually(t, "the flow remains", func() bool { return len(look(t, w).Flows) == 0 })
}

func TestLookEnds(t *testing.T) {
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Look(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if _, err := w.Look(t.Context()); err != nil {
		t.Errorf("after that: %v", err)
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	if _, err := w.Look(t.Context()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("closed: %v", err)
	}
}

// eventually waits for a condition, generously.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 200 {
		if holds() {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Error(what)
}
