package lab

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pairOfPeers gives both ends of a connection, as an owner and an agent have them.
// Neither waits for ever.
func pairOfPeers(t *testing.T) (ours, theirs *peer) {
	t.Helper()
	ours, file, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	if theirs, err = filePeer(file); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*peer{ours, theirs} {
		t.Cleanup(func() { _ = p.conn.Close() })
		if err := p.conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	return ours, theirs
}

// A message arrives with its files, of which both ends then have one of their own;
// up to three, as a command has stdin, stdout and stderr.
func TestMessageWithFiles(t *testing.T) {
	ours, theirs := pairOfPeers(t)
	for n := range maxFiles + 1 {
		var sent []*os.File
		for range n {
			_, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, write)
		}
		if err := ours.send(&message{Run: &command{Args: []string{"true"}, Dir: "/"}}, sent...); err != nil {
			t.Fatal(err)
		}
		m, got, err := theirs.receive()
		if err != nil || m.Run == nil || m.Run.Args[0] != "true" || len(got) != n {
			t.Fatalf("%+v with %d files, %v, want %d", m, len(got), err, n)
		}
		for i, file := range got {
			if !sameFile(t, file, sent[i]) || file.Fd() == sent[i].Fd() {
				t.Errorf("file %d of %d is another one", i, n)
			}
			if flags, err := unix.FcntlInt(file.Fd(), unix.F_GETFD, 0); err != nil || flags < 0 {
				t.Errorf("file %d: %v", i, err)
			}
		}
		closeAll(append(got, sent...))
	}
}

func sameFile(t *testing.T, a, b *os.File) bool {
	t.Helper()
	one, err := a.Stat()
	two, err2 := b.Stat()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return os.SameFile(one, two)
}

// A message may be of 16 MiB, not more; nothing of a larger one is sent.
func TestMessageSize(t *testing.T) {
	ours, theirs := pairOfPeers(t)
	rest := len(`{"Error":""}`)
	if err := ours.send(&message{Error: strings.Repeat("x", maxMessage-rest+1)}); err == nil || !strings.Contains(err.Error(), "16777217 bytes is more than 16777216") {
		t.Errorf("one byte too many: %v", err)
	}
	sent := make(chan error, 1)
	go func() { sent <- ours.send(&message{Error: strings.Repeat("x", maxMessage-rest)}) }()
	m, _, err := theirs.receive()
	if err != nil || len(m.Error) != maxMessage-rest {
		t.Errorf("the largest message: %v", err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// What is not a message is an error that says what was wrong, and the files that
// came with it are closed.
func TestMessageBroken(t *testing.T) {
	size := func(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }
	for _, test := range []struct{ name, bytes, want string }{
		{"the head is cut off", "\x00\x00", "receive message: unexpected EOF"},
		{"the body is missing", size(9), "receive message: unexpected EOF"},
		{"it claims to be larger than any", size(maxMessage + 1), "receive message: 16777217 bytes is more than 16777216"},
		{"the body is cut off", size(9) + `{"Ready"`, "receive message: unexpected EOF"},
		{"it is no JSON", size(3) + "no!", "decode message: invalid character 'o' in literal null (expecting 'u')"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ours, theirs := pairOfPeers(t)
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := ours.conn.WriteMsgUnix([]byte(test.bytes), unix.UnixRights(int(write.Fd())), nil); err != nil {
				t.Fatal(err)
			}
			_ = write.Close()
			_ = ours.conn.Close()
			m, files, err := theirs.receive()
			if err == nil || err.Error() != test.want || m != nil || files != nil {
				t.Errorf("%+v, %v, %v, want %q", m, files, err, test.want)
			}
			_ = read.SetReadDeadline(time.Now().Add(20 * time.Second))
			if n, err := read.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
				t.Errorf("its file is still open: %d, %v", n, err)
			}
		})
	}
}

// The end of a connection is io.EOF; one that breaks is an error.
func TestMessageEnd(t *testing.T) {
	ours, theirs := pairOfPeers(t)
	_ = ours.conn.Close()
	if _, _, err := theirs.receive(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if err := theirs.send(&message{Ready: true}); err == nil || !strings.HasPrefix(err.Error(), "send message: ") {
		t.Errorf("to nobody: %v", err)
	}
	_ = theirs.conn.Close()
	if _, _, err := theirs.receive(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("of a connection that was closed here: %v", err)
	}
}

// Only a Unix socket is a connection.
func TestFilePeer(t *testing.T) {
	read, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := filePeer(read); err == nil || !strings.HasPrefix(err.Error(), "use socket: ") {
		t.Errorf("%v, %v, of a pipe", p, err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := filePeer(os.NewFile(uintptr(fd), "udp")); err == nil || !strings.Contains(err.Error(), "not a Unix socket") {
		t.Errorf("%v, %v, of a UDP socket", p, err)
	}
}
