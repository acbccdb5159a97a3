package lab

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/unit"
)

// A shaper sends at its rate, two packets or 2 ms of it at once, and keeps 128 KiB or
// 100 ms of it waiting, whichever is more.
func TestBucket(t *testing.T) {
	for _, test := range []struct {
		rate         unit.Rate
		mtu          int
		bytes        uint64
		burst, limit uint32
	}{
		{unit.Mbps, 1500, 125_000, 3000, 128 << 10},
		{20 * unit.Mbps, 1500, 2_500_000, 5000, 250_000},
		{20 * unit.Mbps, 9000, 2_500_000, 18000, 250_000},
	} {
		if bytes, burst, limit := bucket(test.rate, test.mtu); bytes != test.bytes || burst != test.burst || limit != test.limit {
			t.Errorf("%s, MTU %d: %d bytes a second, %d at once, %d waiting, want %+v", test.rate, test.mtu, bytes, burst, limit, test)
		}
	}
}

// A host's commands know where they are; and how slow they are to be, if they are.
func TestEnvironment(t *testing.T) {
	s := setup{Scenario: "x", Dir: "/run/lab", Name: "b", Addr: addressB, Peer: addressA, StateDir: "/state"}
	want := []string{"FULLBORE_LAB=x", "FULLBORE_LAB_ID=/run/lab", "FULLBORE_HOST=b", "FULLBORE_A=198.18.0.1", "FULLBORE_B=198.18.0.2", "FULLBORE_STATE=/state"}
	if got := s.environment(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	s.Host = HostSpec{SlowReader: unit.Mbps, SlowWriter: 2 * unit.Mbps}
	if got := s.environment(); !slices.Equal(got[len(want):], []string{"FULLBORE_SLOW_READER=1000000", "FULLBORE_SLOW_WRITER=2000000"}) {
		t.Errorf("with limits %q", got)
	}
}

// A program that is made a host without an owner, or by one that says nothing of what
// host it should be, ends, and says why; with its owner's end it ends quietly.
func TestAgentEnds(t *testing.T) {
	for _, test := range []struct {
		name  string
		owner func(t *testing.T, owner *peer)
		want  string
	}{
		{"no description", func(t *testing.T, owner *peer) {
			if err := owner.send(&message{Query: true}); err != nil {
				t.Error(err)
			}
		}, "fullbore lab host: expected the host's description first\n"},
		{"a broken message", func(_ *testing.T, owner *peer) { _, _ = owner.conn.Write([]byte{0}) }, "fullbore lab host: receive message: unexpected EOF\n"},
		{"its owner ends", func(*testing.T, *peer) {}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			owner, theirs, err := socketPair()
			if err != nil {
				t.Fatal(err)
			}
			listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "x"), Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			listening, err := listener.File()
			if err != nil {
				t.Fatal(err)
			}
			said, status := agentOf(t, func() { test.owner(t, owner); _ = owner.conn.Close() }, theirs, listening)
			if said != test.want || (status != 0) != (test.want != "") {
				t.Errorf("it says %q, and ends with %d", said, status)
			}
			_ = listener.Close()
		})
	}
	if said, status := agentOf(t, func() {}); !strings.HasPrefix(said, "fullbore lab host: use socket: ") || status != 1 {
		t.Errorf("without an owner it says %q, and ends with %d", said, status)
	}
}

// agentOf runs this program as a host, in no namespaces, with these files; the owner
// acts once it runs.
func agentOf(t *testing.T, acts func(), files ...*os.File) (said string, status int) {
	t.Helper()
	cmd := exec.CommandContext(bounded(t), "/proc/self/exe")
	var errs bytes.Buffer
	cmd.Env, cmd.Stderr, cmd.ExtraFiles = append(os.Environ(), agentMarker+"=x"), &errs, files
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	closeAll(files)
	acts()
	_ = cmd.Wait()
	return errs.String(), cmd.ProcessState.ExitCode()
}

// Root needs no user namespace for a host; any other user does, and is root there.
func TestIsolation(t *testing.T) {
	attr := isolation()
	if user := attr.Cloneflags&unix.CLONE_NEWUSER != 0; user != (os.Geteuid() != 0) || user != (len(attr.UidMappings) == 1) || user != (len(attr.GidMappings) == 1) {
		t.Errorf("as user %d: %+v", os.Geteuid(), attr)
	}
}
