package path

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// silent is a TCP port of this host that answers no SYN: the one connection that
// its queue holds is there already (listen(2), a backlog of 0).
func silent(t *testing.T) netip.AddrPort {
	t.Helper()
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(s) })
	if err := errors.Join(unix.Bind(s, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(s, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(s)
	if err != nil {
		t.Fatal(err)
	}
	to := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*unix.SockaddrInet4).Port))
	first, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(first) })
	if err := unix.Connect(first, name); err != nil {
		t.Fatal(err)
	}
	return to
}

// A SYN that is lost is no answer, and no more than that, also where signals
// interrupted the wait for it, as Go's own do: it must not end the probe.
func TestConnectInterruptedWithoutAnswer(t *testing.T) {
	to := silent(t)
	interrupt := func() {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Error(err)
		}
		for _, thread := range threads {
			id, _ := strconv.Atoi(thread.Name())
			_ = unix.Tgkill(os.Getpid(), id, unix.SIGURG) // with which Go preempts; a thread may have ended meanwhile
		}
	}
	for _, signals := range []int{0, 1, 3} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range signals {
				time.Sleep(50 * time.Millisecond)
				interrupt()
			}
		}()
		if _, err := connect(to, 400*time.Millisecond); !errors.Is(err, errNoAnswer) {
			t.Errorf("interrupted %d times, and without an answer: %v, want %v", signals, err, errNoAnswer)
		}
		<-done
	}
}

// What a signal interrupts goes on, with what is left of its time; not beyond it.
func TestConnectGoesOn(t *testing.T) {
	for _, c := range []struct {
		name    string
		timeout time.Duration
		ends    []error // of one call after the other
		calls   int
		want    error
	}{
		{"nothing interrupts it", time.Minute, []error{nil}, 1, nil},
		{"twice, and answered", time.Minute, []error{unix.EINTR, unix.EINTR, nil}, 3, nil},
		{"and refused", time.Minute, []error{unix.EINTR, unix.ECONNREFUSED}, 2, unix.ECONNREFUSED},
		{"its time is over", 0, []error{unix.EINTR, nil}, 1, unix.EINTR},
	} {
		calls, left := 0, c.timeout
		err := insist(c.timeout, func() error { calls++; return c.ends[calls-1] }, func(d time.Duration) error {
			if d > left || d <= 0 {
				t.Errorf("%s: %v left of %v", c.name, d, left)
			}
			left = d
			return nil
		})
		if !errors.Is(err, c.want) || calls != c.calls {
			t.Errorf("%s: %v after %d calls, want %v after %d", c.name, err, calls, c.want, c.calls)
		}
	}
	broken := errors.New("broken")
	if err := insist(time.Minute, func() error { return unix.EINTR }, func(time.Duration) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("its timeout cannot be set: %v", err)
	}
}

// A refusal is an answer, unless a second SYN may have been refused; silence is none,
// whatever connect(2) calls it; all else is an error.
func TestAnswered(t *testing.T) {
	for _, c := range []struct {
		err     error
		after   time.Duration
		refused bool
		want    error
	}{
		{nil, time.Millisecond, false, nil},
		{unix.ECONNREFUSED, time.Millisecond, true, nil},
		{unix.ECONNREFUSED, initialRTO - 1, true, nil},
		{unix.ECONNREFUSED, initialRTO, false, errNoAnswer},
		{unix.EINPROGRESS, time.Second, false, errNoAnswer},
		{unix.EALREADY, time.Second, false, errNoAnswer},
		{unix.EAGAIN, time.Second, false, errNoAnswer},
		{unix.ETIMEDOUT, time.Second, false, errNoAnswer},
		{unix.EINTR, time.Second, false, errNoAnswer},
		{unix.ENETUNREACH, time.Millisecond, false, unix.ENETUNREACH},
	} {
		if refused, err := answered(c.err, c.after); refused != c.refused || !errors.Is(err, c.want) {
			t.Errorf("%v after %v: refused %v, %v; want %v, %v", c.err, c.after, refused, err, c.refused, c.want)
		}
	}
}

// What the kernel knows of a handshake: its own sample of the time, if that is less,
// the segment sizes without options, and whether a SYN was sent again.
func TestSampled(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		name string
		info unix.TCPInfo
		want handshake
		err  error
	}{
		{"its sample is shorter", unix.TCPInfo{Rtt: 40, Snd_mss: 1460, Advmss: 8960}, handshake{40 * us, 1460, 8960}, nil},
		{"longer", unix.TCPInfo{Rtt: 60, Snd_mss: 1460, Advmss: 8960}, handshake{50 * us, 1460, 8960}, nil},
		{"absent", unix.TCPInfo{Snd_mss: 1460, Advmss: 8960}, handshake{50 * us, 1460, 8960}, nil},
		{"with timestamps", unix.TCPInfo{Rtt: 40, Snd_mss: 1448, Advmss: 8948, Options: optTimestamps | 2}, handshake{40 * us, 1460, 8960}, nil},
		{"the SYN was sent again", unix.TCPInfo{Rtt: 40, Total_retrans: 1}, handshake{}, errNoAnswer},
	} {
		if got, err := (handshake{rtt: 50 * us}).sampled(&c.info); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v (%v), want %+v", c.name, got, err, c.want)
		}
	}
}

// A handshake of either family is timed, and says what segments it agreed on; one
// that is refused is timed as well.
func TestConnect(t *testing.T) {
	for _, to := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", to)
		if err != nil && strings.HasPrefix(to, "[") {
			t.Logf("no IPv6 here: %v", err)
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		at := l.Addr().(*net.TCPAddr).AddrPort()
		h, err := connect(at, time.Second)
		if err != nil || h.rtt <= 0 || h.rtt > time.Second || h.sendMSS < SafeMSS || h.announced < h.sendMSS {
			t.Errorf("%v: %+v (%v)", at, h, err)
		}
		l.Close()
		if h, err := connect(at, time.Second); err != nil || h.rtt <= 0 || h.sendMSS != 0 {
			t.Errorf("%v, where nobody listens: %+v (%v)", at, h, err)
		}
	}
	if h, err := connect(netip.MustParseAddrPort("255.255.255.255:9"), time.Second); err == nil || errors.Is(err, errNoAnswer) || !strings.Contains(err.Error(), "connect to 255.255.255.255:9") {
		t.Errorf("to all: %+v (%v)", h, err)
	}
}
