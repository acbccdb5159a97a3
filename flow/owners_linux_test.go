package flow

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// process makes a process of a recorded /proc.
func process(t *testing.T, root, pid, program string, files ...string) {
	t.Helper()
	dir := filepath.Join(root, pid, "fd")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, pid, "comm"), []byte(program+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, target := range files {
		if err := os.Symlink(target, filepath.Join(dir, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
}

type holder struct {
	PID     int
	Program string
}

// scanned is what a scan of a /proc finds.
func scanned(t *testing.T, o *owners, wanted ...uint32) map[uint32]holder {
	t.Helper()
	got := map[uint32]holder{}
	err := o.scan(t.Context(),
		func(inode uint32) bool { return slices.Contains(wanted, inode) },
		func(inode uint32, pid int, program string) { got[inode] = holder{pid, program} })
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestOwners(t *testing.T) {
	root := t.TempDir()
	process(t, root, "17", "ssh", "/dev/null", "socket:[4711]", "pipe:[4712]")
	process(t, root, "18", "ev\x1b[2Jil", "socket:[5000]", "socket:[x]", "socket:[]", "socket:[99999999999]")
	process(t, root, "sys", "none", "socket:[6000]")
	o := &owners{root: root}
	got := scanned(t, o, 4711, 4712, 5000, 6000, 1215752191)
	want := map[uint32]holder{4711: {17, "ssh"}, 5000: {18, "ev [2Jil"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if o.complete { // this /proc does not say that it is the machine's own
		t.Error("other PID namespaces were ruled out")
	}
}

// A scan may not take more than its share of a core, however often sockets come.
func TestScansAreRare(t *testing.T) {
	o := &owners{root: t.TempDir()}
	now := time.Now()
	if !o.due(now, true) {
		t.Error("the first scan is not due")
	}
	scanned(t, o)
	if o.due(o.finished.Add(900*time.Millisecond), true) || !o.due(o.finished.Add(1100*time.Millisecond), true) {
		t.Errorf("due from %v", o.next.Sub(o.finished))
	}
	if o.due(o.finished.Add(stale/2), false) || !o.due(o.finished.Add(stale+time.Second), false) {
		t.Error("known owners are looked up too often, or never again")
	}
}

// The real /proc finds this process's own socket.
func TestOwnSocket(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	raw, err := listener.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var inode uint32
	if err := raw.Control(func(fd uintptr) {
		link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err != nil {
			t.Error(err)
		}
		inode, _ = socketInode([]byte(link))
	}); err != nil {
		t.Fatal(err)
	}
	got := scanned(t, &owners{root: "/proc"}, inode)
	if got[inode].PID != os.Getpid() || got[inode].Program == "" {
		t.Errorf("socket %d belongs to %+v", inode, got[inode])
	}
}

func TestParseTimeWait(t *testing.T) {
	for text, want := range map[string]int{
		"sockets: used 35\nTCP: inuse 1 orphan 19 tw 10000 alloc 31 mem 644\nUDP: inuse 0 mem 24\n": 10000,
		"TCP: inuse 1 tw": 0, "TCP: tw x": 0, "TCP: tw -5": 0, "": 0, "UDP: tw 3": 0,
	} {
		if got := parseTimeWait([]byte(text)); got != want {
			t.Errorf("%q: got %d", text, got)
		}
	}
}

func FuzzParseTimeWait(f *testing.F) {
	f.Add([]byte("TCP: inuse 1 orphan 19 tw 10000 alloc 31 mem 644\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if n := parseTimeWait(raw); n < 0 {
			t.Errorf("%d", n)
		}
	})
}

func FuzzSocketInode(f *testing.F) {
	f.Add([]byte("socket:[4711]"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if inode, ok := socketInode(raw); ok && string(raw) != fmt.Sprintf("socket:[%d]", inode) && raw[8] != '0' {
			t.Errorf("%q: %d", raw, inode)
		}
	})
}
