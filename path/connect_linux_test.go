package path

import (
	"errors"
	"net/netip"
	"os"
	"strconv"
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
