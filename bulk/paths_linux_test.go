package bulk

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Each way to send with each way to receive moves every byte once, and the
// record says which was used.
func TestPaths(t *testing.T) {
	for _, send := range []SendPath{"", SendCopy, SendFile, SendZeroCopy} {
		for _, receive := range []RecvPath{"", RecvCopy, RecvTruncate, RecvSplice} {
			t.Run(fmt.Sprintf("%s to %s", send, receive), func(t *testing.T) {
				spec := Spec{Direction: Both, Streams: 2, Bytes: 20_000_003, Length: 50_001, SendPath: send, RecvPath: receive}
				client, server := transferOver(t, spec)
				if client.err != nil || server.err != nil {
					t.Fatalf("client: %v, server: %v", client.err, server.err)
				}
				checkPaths(t, spec, &Result{Spec: spec, Client: client.End, Server: server.End})
			})
		}
	}
}

// The same between two hosts, for a time, with a caller that ends it.
func TestPathsOverVeth(t *testing.T) {
	for _, direction := range []Direction{Forward, Reverse} {
		for _, path := range []struct {
			send    SendPath
			receive RecvPath
		}{{SendFile, RecvSplice}, {SendZeroCopy, RecvTruncate}} {
			t.Run(fmt.Sprintf("%s, %s to %s", direction, path.send, path.receive), func(t *testing.T) {
				spec := Spec{Direction: direction, Streams: 2, Duration: 200 * time.Millisecond, SendPath: path.send, RecvPath: path.receive}
				a, b, _ := cabled(t, spec)
				server := begun(t, t.Context(), spec, b, nil)
				client := begun(t, t.Context(), spec, a, nil)
				awaitDue(t, client)
				result := &Result{Spec: spec, Client: client.Stop()}
				time.Sleep(tick) // until what was sent has come
				result.Server = server.Stop()
				checkPaths(t, spec, result)
			})
		}
	}
}

func checkPaths(t *testing.T, spec Spec, result *Result) {
	t.Helper()
	for _, direction := range spec.Directions() {
		receivers := result.Receivers(direction)
		for i, s := range result.Senders(direction) {
			r := receivers[i]
			if spec.Bytes > 0 && s.Bytes != r.Bytes || s.Bytes == 0 || r.Bytes == 0 {
				t.Errorf("stream %d: sent %d bytes, received %d", s.ID, s.Bytes, r.Bytes)
			}
			if spec.SendPath != "" && s.SendPath != spec.SendPath || spec.SendPath == "" && s.SendPath != SendCopy || s.RecvPath != "" {
				t.Errorf("stream %d: the sender used %q and %q", s.ID, s.SendPath, s.RecvPath)
			}
			if spec.RecvPath != "" && r.RecvPath != spec.RecvPath || spec.RecvPath == "" && r.RecvPath != RecvCopy || r.SendPath != "" {
				t.Errorf("stream %d: the receiver used %q and %q", s.ID, r.RecvPath, r.SendPath)
			}
			if s.PathNote+r.PathNote != "" {
				t.Errorf("stream %d: %q, %q", s.ID, s.PathNote, r.PathNote)
			}
			// A receiver on the same host is given a copy, whatever was asked.
			if zero := spec.SendPath == SendZeroCopy; zero != (s.Copied > 0) || s.ZeroCopied != 0 {
				t.Errorf("stream %d: %d sends by reference, %d copied", s.ID, s.ZeroCopied, s.Copied)
			}
		}
	}
}

// Every send is either by reference or copied.
func TestZeroCopyCountsAll(t *testing.T) {
	spec := Spec{Direction: Forward, Streams: 1, Bytes: 1000 * 4096, Length: 4096, SendPath: SendZeroCopy}
	client, server := transferOver(t, spec)
	if client.err != nil || server.err != nil {
		t.Fatalf("client: %v, server: %v", client.err, server.err)
	}
	// A full send buffer may divide a write in two.
	if s := client.Streams[0]; s.Copied+s.ZeroCopied < 1000 || s.Copied+s.ZeroCopied > 2000 {
		t.Errorf("%d and %d of 1000 sends are accounted for", s.Copied, s.ZeroCopied)
	}
}

// What the kernel says of its sends, as it says it of a device that gathers.
func TestZeroCopyReports(t *testing.T) {
	report := func(e unix.SockExtendedErr) unix.SocketControlMessage {
		m := unix.SocketControlMessage{Data: make([]byte, 16)}
		m.Header.Level, m.Header.Type = unix.SOL_IP, unix.IP_RECVERR
		*(*unix.SockExtendedErr)(unsafe.Pointer(&m.Data[0])) = e
		return m
	}
	z := zeroCopy{outstanding: 20}
	z.note(report(unix.SockExtendedErr{Origin: unix.SO_EE_ORIGIN_ZEROCOPY, Info: 0, Data: 9}))
	z.note(report(unix.SockExtendedErr{Origin: unix.SO_EE_ORIGIN_ZEROCOPY, Code: unix.SO_EE_CODE_ZEROCOPY_COPIED, Info: 10, Data: 10}))
	z.note(report(unix.SockExtendedErr{Origin: unix.SO_EE_ORIGIN_ZEROCOPY, Info: 1<<32 - 1, Data: 1})) // numbers begin again
	z.note(report(unix.SockExtendedErr{Origin: unix.SO_EE_ORIGIN_ICMP, Errno: uint32(unix.EHOSTUNREACH), Data: 5}))
	z.note(unix.SocketControlMessage{})
	if z.byReference != 13 || z.copied != 1 || z.outstanding != 6 {
		t.Errorf("%d by reference, %d copied, %d outstanding; want 13, 1, 6", z.byReference, z.copied, z.outstanding)
	}
}

// A system that lacks what was asked for copies, and says so.
func TestPathNote(t *testing.T) {
	a, b := connect(t, Spec{Direction: Forward, Streams: 1})
	defer b[0].TCP.Close()
	sock, err := newSocket(a[0].TCP, Patience, true)
	if err != nil {
		t.Fatal(err)
	}
	defer sock.close()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	var sender, receiver Stream
	out := newOutlet(SendFile, sock, newPayload(4096), &sender)
	in := newInlet(RecvSplice, sock, 4096, true, &receiver)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if _, copies := out.(copyOut); !copies || sender.SendPath != SendCopy || !strings.Contains(sender.PathNote, "copied: make a file in memory") {
		t.Errorf("sender: %T, %q, %q", out, sender.SendPath, sender.PathNote)
	}
	if _, copies := in.(*copyIn); !copies || receiver.RecvPath != RecvCopy || !strings.Contains(receiver.PathNote, "copied: make a pipe") {
		t.Errorf("receiver: %T, %q, %q", in, receiver.RecvPath, receiver.PathNote)
	}
}

// No path leaves a descriptor open.
func TestPathsCloseWhatTheyOpen(t *testing.T) {
	count := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	spec := Spec{Direction: Forward, Streams: 4, Bytes: 1000, SendPath: SendFile, RecvPath: RecvSplice}
	transferOver(t, spec)
	before := count()
	for range 5 {
		transferOver(t, spec)
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors became %d", before, after)
	}
}
