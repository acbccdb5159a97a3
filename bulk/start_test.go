package bulk

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// begun starts one end, and closes it when the test is over.
func begun(t *testing.T, ctx context.Context, spec Spec, conns []Conn, watch func(Progress)) *Running {
	t.Helper()
	running, err := begin(ctx, spec, conns, watch, 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Close)
	return running
}

// awaitDue waits until it is, or fails.
func awaitDue(t *testing.T, r *Running) {
	t.Helper()
	select {
	case <-r.Due():
	case <-time.After(20 * time.Second):
		t.Fatal("not due within 20 s")
	}
}

func notDue(t *testing.T, r *Running) {
	t.Helper()
	select {
	case <-r.Due():
		t.Fatalf("due: %v", r.Failed())
	default:
	}
}

// sum is what all streams that send, or receive, measured.
func sum(end End, sender bool) (bytes int64) {
	for _, s := range pick(end.Streams, sender) {
		bytes += s.Bytes
	}
	return bytes
}

// Both ends as iperf3 has them: the client says when it is over.
func TestStartTimed(t *testing.T) {
	for _, direction := range []Direction{Forward, Reverse, Both} {
		t.Run(string(direction), func(t *testing.T) {
			spec := Spec{Direction: direction, Streams: 2, Omit: 200 * time.Millisecond, Duration: 400 * time.Millisecond, Interval: 20 * time.Millisecond}
			a, b := connect(t, spec)
			server := begun(t, t.Context(), spec, b, nil)
			client := begun(t, t.Context(), spec, a, nil)
			started := time.Now()
			awaitDue(t, client)
			if took := time.Since(started); took < 590*time.Millisecond {
				t.Errorf("due after %v, want 600ms", took)
			}
			notDue(t, server)
			near, far := client.Stop(), server.Stop()
			for _, end := range []End{near, far} {
				if end.Error != "" || len(end.CPU.Cores) == 0 && end.CPU.User+end.CPU.System == 0 {
					t.Errorf("error %q, processor time %+v", end.Error, end.CPU)
				}
				var moved, omitted int64
				for _, s := range end.Streams {
					moved, omitted = moved+s.Bytes, omitted+s.Omitted
					if s.Began+s.Elapsed < spec.Omit+spec.Duration-time.Millisecond || s.Began < spec.Omit || s.Sender && s.Began != spec.Omit {
						t.Errorf("stream %d: %d bytes in %v from %v, %d omitted", s.ID, s.Bytes, s.Elapsed, s.Began, s.Omitted)
					}
					if last := s.Samples[len(s.Samples)-1]; last.Bytes < s.Bytes+s.Omitted || last.At != s.Began+s.Elapsed {
						t.Errorf("stream %d: last sample has %d bytes at %v, the stream %d at %v", s.ID, last.Bytes, last.At, s.Bytes+s.Omitted, s.Began+s.Elapsed)
					}
				}
				if moved == 0 || omitted == 0 {
					t.Errorf("%d bytes measured, %d omitted", moved, omitted)
				}
			}
			if again := client.Stop(); sum(again, true) != sum(near, true) || sum(again, false) != sum(near, false) || again.CPU.Elapsed != near.CPU.Elapsed {
				t.Error("a second Stop returned something else")
			}
		})
	}
}

// What was sent is acknowledged when it is due, and so the far end has it all.
func TestStartBytes(t *testing.T) {
	for name, spec := range map[string]Spec{
		"one byte":                 {Direction: Forward, Streams: 1, Bytes: 1},
		"many":                     {Direction: Forward, Streams: 3, Bytes: 50_000_001},
		"fewer bytes than streams": {Direction: Forward, Streams: 8, Bytes: 3},
		"200 streams":              {Direction: Forward, Streams: 200, Bytes: 20_000_007},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := connect(t, spec)
			server := begun(t, t.Context(), spec, b, nil)
			client := begun(t, t.Context(), spec, a, nil)
			awaitDue(t, client)
			near, far := client.Stop(), server.Stop()
			if err := client.Failed(); err != nil {
				t.Error(err)
			}
			if sent, received := sum(near, true), sum(far, false); sent != spec.Bytes || received != spec.Bytes {
				t.Errorf("sent %d and received %d of %d bytes", sent, received, spec.Bytes)
			}
			for i, s := range far.Streams {
				if s.Bytes != near.Streams[i].Bytes {
					t.Errorf("stream %d: sent %d bytes, received %d", s.ID, near.Streams[i].Bytes, s.Bytes)
				}
			}
		})
	}
}

// A server sends until it is told to stop; the client has its bytes, after the
// omitted time, and more.
func TestStartReceivesBytes(t *testing.T) {
	for _, direction := range []Direction{Reverse, Both} {
		t.Run(string(direction), func(t *testing.T) {
			spec := Spec{Direction: direction, Streams: 2, Bytes: 20_000_000, Omit: 100 * time.Millisecond}
			a, b := connect(t, spec)
			server := begun(t, t.Context(), spec, b, nil)
			client := begun(t, t.Context(), spec, a, nil)
			awaitDue(t, client)
			near := client.Stop()
			notDue(t, server)
			if direction == Reverse && sum(near, false) < spec.Bytes {
				t.Errorf("due with %d of %d bytes", sum(near, false), spec.Bytes)
			}
			if direction == Both && max(sum(near, false), sum(near, true)) < spec.Bytes {
				t.Errorf("due with %d and %d of %d bytes", sum(near, false), sum(near, true), spec.Bytes)
			}
		})
	}
}

func TestStartOfNothing(t *testing.T) {
	for _, direction := range []Direction{Forward, Reverse, Both} {
		t.Run(string(direction), func(t *testing.T) {
			a, b := connect(t, Spec{Direction: direction, Streams: 1})
			client := begun(t, t.Context(), Spec{Direction: direction, Streams: 1, Omit: time.Minute}, a, nil)
			awaitDue(t, client)
			end := client.Stop()
			client.Close()
			if err := client.Failed(); err != nil || end.Error != "" {
				t.Errorf("%v, %q", err, end.Error)
			}
			if n, err := io.Copy(io.Discard, b[0].TCP); n != 0 || err != nil {
				t.Errorf("the peer got %d bytes, %v", n, err)
			}
		})
	}
}

// Data that no one has acknowledged is not delivered.
func TestStartIsNotDueBeforeItIsAcknowledged(t *testing.T) {
	spec := Spec{Direction: Forward, Streams: 1, Bytes: 30_000_000}
	a, b := connect(t, spec)
	client, err := begin(t.Context(), spec, a, nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	time.Sleep(300 * time.Millisecond)
	notDue(t, client)
	if n, err := io.CopyN(io.Discard, b[0].TCP, spec.Bytes); err != nil {
		t.Fatalf("%d bytes came: %v", n, err)
	}
	awaitDue(t, client)
}

// After Stop a sender is silent, and a receiver goes on reading, so that its
// peer does not hang in its write.
func TestStopSilencesAndDrains(t *testing.T) {
	spec := Spec{Direction: Both, Streams: 1, Duration: 50 * time.Millisecond}
	a, b := connect(t, spec)
	client := begun(t, t.Context(), spec, a, nil)
	sends, receives := b[1].TCP, b[0].TCP // of the peer
	writing := make(chan error, 1)
	more := make(chan struct{})
	go func() {
		block := make([]byte, 1<<20)
		for range 4 {
			if _, err := sends.Write(block); err != nil {
				writing <- err
				return
			}
		}
		<-more
		for range 64 { // more than all buffers hold
			if _, err := sends.Write(block); err != nil {
				writing <- err
				return
			}
		}
		writing <- sends.Close()
	}()
	go func() {
		time.Sleep(100 * time.Millisecond)
		client.Stop()
		close(more)
	}()
	end := func() End { time.Sleep(120 * time.Millisecond); return client.Stop() }()
	drained := make(chan int64)
	go func() { n, _ := io.Copy(io.Discard, receives); drained <- n }()
	if err := <-writing; err != nil {
		t.Errorf("the peer's write: %v", err)
	}
	if got := sum(end, false); got > 4<<20 {
		t.Errorf("%d bytes counted, of which %d came before Stop", got, 4<<20)
	}
	if got := sum(client.Stop(), false); got != sum(end, false) {
		t.Errorf("%d bytes became %d after Stop", sum(end, false), got)
	}
	sent := sum(end, true)
	client.Close()
	if err := client.Failed(); err != nil {
		t.Errorf("a peer that closed after Stop: %v", err)
	}
	// What a write had under way at Stop still comes, and no more.
	if n := <-drained; n < sent || n > sent+DefaultLength {
		t.Errorf("the peer got %d bytes, %d were sent", n, sent)
	}
}

func TestStartPeerFails(t *testing.T) {
	reset := func(c *net.TCPConn) { c.SetLinger(0); c.Close() }
	for name, test := range map[string]struct {
		direction Direction
		part      func(c *net.TCPConn)
		of        int // of the two streams
		says      string
	}{
		"receiver resets":            {Forward, reset, 1, "connection reset"},
		"sender resets":              {Reverse, reset, 1, "connection reset"},
		"receiver never reads":       {Forward, func(*net.TCPConn) {}, 0, "nothing came back"},
		"all senders end their data": {Reverse, func(c *net.TCPConn) { c.Close() }, 2, "ended its data"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := Spec{Direction: test.direction, Streams: 2, Duration: time.Minute}
			a, b := connect(t, spec)
			defer b[0].TCP.Close()
			defer b[1].TCP.Close()
			client := begun(t, t.Context(), spec, a, nil)
			time.Sleep(50 * time.Millisecond)
			for _, conn := range b[:test.of] {
				test.part(conn.TCP)
			}
			awaitDue(t, client)
			end := client.Stop()
			if err := client.Failed(); err == nil || !strings.Contains(err.Error(), test.says) || end.Error != err.Error() {
				t.Errorf("got %v and %q, want %q", err, end.Error, test.says)
			}
			if len(end.Streams) != 2 {
				t.Errorf("%d streams were recorded", len(end.Streams))
			}
		})
	}
}

// What is no failure: silence, since the caller knows whether the peer lives,
// and one of several streams that ends.
func TestStartIsPatient(t *testing.T) {
	t.Parallel()
	spec := Spec{Direction: Reverse, Streams: 2, Duration: time.Minute}
	a, b := connect(t, spec)
	defer b[0].TCP.Close()
	client := begun(t, t.Context(), spec, a, nil)
	b[1].TCP.Close()
	time.Sleep(time.Second) // three times its patience
	notDue(t, client)
	if end := client.Stop(); end.Error != "" {
		t.Error(end.Error)
	}
}

func TestStartCancelled(t *testing.T) {
	spec := Spec{Direction: Both, Streams: 2, Duration: time.Minute}
	a, b := connect(t, spec)
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	server := begun(t, t.Context(), spec, b, nil)
	client := begun(t, ctx, spec, a, nil)
	time.Sleep(100 * time.Millisecond)
	cancel(reason)
	cancelled := time.Now()
	awaitDue(t, client)
	if err := client.Failed(); !errors.Is(err, reason) {
		t.Errorf("got %v, want its cause", err)
	}
	<-client.over
	if took := time.Since(cancelled); took > time.Second { // 0.1 s on an idle machine
		t.Errorf("it took %v", took)
	}
	if end := client.Stop(); !strings.Contains(end.Error, "enough") || sum(end, true) == 0 {
		t.Errorf("error %q, %d bytes were kept", end.Error, sum(end, true))
	}
	awaitDue(t, server) // its connections were reset
	if server.Failed() == nil {
		t.Error("the server saw no failure")
	}
}

func TestStartWatch(t *testing.T) {
	spec := Spec{Direction: Reverse, Streams: 1, Duration: 200 * time.Millisecond, Interval: 20 * time.Millisecond}
	a, b := connect(t, spec)
	begun(t, t.Context(), spec, b, nil)
	seen := make(chan Progress, 1000)
	client := begun(t, t.Context(), spec, a, func(p Progress) { seen <- p })
	awaitDue(t, client)
	end := client.Stop()
	n := len(seen)
	time.Sleep(100 * time.Millisecond)
	if n < 2 || len(seen) != n {
		t.Errorf("%d looks before Stop, %d after", n, len(seen)-n)
	}
	var last Progress
	for range n {
		last = <-seen
	}
	if last.Received == 0 || last.Received > end.Streams[0].Bytes {
		t.Errorf("%d bytes in the last look, %d in the record", last.Received, end.Streams[0].Bytes)
	}
}

func TestStartRefuses(t *testing.T) {
	a, b := connect(t, Spec{Direction: Forward, Streams: 1})
	if _, err := Start(t.Context(), Spec{Streams: 1}, a, nil); err == nil {
		t.Error("no error")
	}
	b[0].TCP.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := b[0].TCP.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection is still open: %v", err)
	}
}
