package bulk

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/unit"
)

func TestBytes(t *testing.T) {
	for name, spec := range map[string]Spec{
		"none":                     {Direction: Forward, Streams: 1},
		"none at all":              {Direction: Both, Streams: 3, Omit: time.Second},
		"one byte":                 {Direction: Forward, Streams: 1, Bytes: 1},
		"forward":                  {Direction: Forward, Streams: 1, Bytes: 50_000_001},
		"reverse":                  {Direction: Reverse, Streams: 1, Bytes: 50_000_001},
		"both":                     {Direction: Both, Streams: 2, Bytes: 10_000_003},
		"many streams":             {Direction: Forward, Streams: 16, Bytes: 10_000_007},
		"fewer bytes than streams": {Direction: Both, Streams: 8, Bytes: 3},
		"200 streams":              {Direction: Forward, Streams: 200, Bytes: 20_000_007},
		"odd length":               {Direction: Forward, Streams: 3, Bytes: 1_000_001, Length: 777},
		"part of it omitted":       {Direction: Forward, Streams: 2, Bytes: 50_000_001, Omit: time.Millisecond},
		"all of it omitted":        {Direction: Forward, Streams: 2, Bytes: 5000, Omit: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			client, server := transferOver(t, spec)
			if client.err != nil || server.err != nil {
				t.Fatalf("client: %v, server: %v", client.err, server.err)
			}
			result := Result{Spec: spec, Client: client.End, Server: server.End}
			for _, direction := range []Direction{Forward, Reverse} {
				if spec.Direction != direction && spec.Direction != Both {
					continue
				}
				if got := result.Goodput(direction); got < 0 || spec.Bytes == 0 && got != 0 {
					t.Errorf("%s: goodput %v of %d bytes", direction, got, spec.Bytes)
				}
				if got := result.Received(direction); got != spec.Bytes {
					t.Errorf("%s: received %d bytes, want %d", direction, got, spec.Bytes)
				}
				senders, receivers := result.Senders(direction), result.Receivers(direction)
				if len(senders) != spec.Streams || len(receivers) != spec.Streams {
					t.Fatalf("%s: %d senders and %d receivers, want %d", direction, len(senders), len(receivers), spec.Streams)
				}
				for i, r := range receivers {
					s := senders[i]
					if s.ID != r.ID || s.Local != r.Remote || s.Remote != r.Local {
						t.Errorf("%s: stream %d %s-%s and stream %d %s-%s are not the two ends of one",
							direction, s.ID, s.Local, s.Remote, r.ID, r.Local, r.Remote)
					}
					if s.Bytes+s.Omitted != r.Bytes+r.Omitted {
						t.Errorf("%s: stream %d sent %d bytes and received %d", direction, s.ID, s.Bytes+s.Omitted, r.Bytes+r.Omitted)
					}
				}
			}
		})
	}
}

// It ends also where its time is over before anybody looks.
func TestShortestTime(t *testing.T) {
	for _, omit := range []time.Duration{0, time.Nanosecond} {
		client, server := transferOver(t, Spec{Direction: Both, Streams: 2, Omit: omit, Duration: time.Nanosecond})
		if client.err != nil || server.err != nil {
			t.Errorf("%v omitted: client: %v, server: %v", omit, client.err, server.err)
		}
	}
}

// Streams that go one way are measured over the same time, also one that is
// starved: whoever went on alone would have the path to itself.
func TestReceiversBeginAndEndTogether(t *testing.T) {
	for _, omit := range []time.Duration{0, 100 * time.Millisecond} {
		spec := Spec{Direction: Forward, Streams: 3, Omit: omit, Duration: 200 * time.Millisecond}
		a, b := connect(t, spec)
		silent := a[2].TCP
		defer silent.Close()
		server := start(t.Context(), spec, b, Patience)
		client := start(t.Context(), spec, a[:2], Patience)
		wait(t, client)
		far := wait(t, server)
		if far.err != nil {
			t.Fatal(far.err)
		}
		first := far.Streams[0]
		for _, s := range far.Streams[:2] {
			if s.Began != first.Began || s.Elapsed != first.Elapsed || s.Bytes == 0 || s.Early == nil && runtime.GOOS == "linux" {
				t.Errorf("%v omitted, stream %d: %d bytes from %v for %v, the first one from %v for %v", omit, s.ID, s.Bytes, s.Began, s.Elapsed, first.Began, first.Elapsed)
			}
		}
		if s := far.Streams[2]; s.Bytes != 0 || s.Began != first.Began || s.Elapsed != first.Elapsed {
			t.Errorf("%v omitted, a stream on which nothing comes: %d bytes from %v for %v", omit, s.Bytes, s.Began, s.Elapsed)
		}
	}
}

func TestIPv6(t *testing.T) {
	listener, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	spec := Spec{Direction: Both, Streams: 2, Bytes: 1_000_001}
	a, b := connectTo(t, listener, spec)
	server := start(t.Context(), spec, b, Patience)
	client, far := wait(t, start(t.Context(), spec, a, Patience)), wait(t, server)
	if client.err != nil || far.err != nil {
		t.Fatalf("client: %v, server: %v", client.err, far.err)
	}
	result := Result{Spec: spec, Client: client.End, Server: far.End}
	for _, d := range spec.Directions() {
		if got := result.Received(d); got != spec.Bytes {
			t.Errorf("%s: received %d of %d bytes", d, got, spec.Bytes)
		}
	}
}

func TestTimed(t *testing.T) {
	spec := Spec{Direction: Both, Streams: 2, Omit: 200 * time.Millisecond, Duration: 500 * time.Millisecond, Interval: 20 * time.Millisecond}
	client, server := transferOver(t, spec)
	if client.err != nil || server.err != nil {
		t.Fatalf("client: %v, server: %v", client.err, server.err)
	}
	for _, s := range append(client.Streams, server.Streams...) {
		if s.Bytes == 0 || s.Omitted == 0 {
			t.Errorf("stream %d: %d bytes measured, %d omitted", s.ID, s.Bytes, s.Omitted)
		}
		if s.Elapsed < spec.Duration/2 || s.Elapsed > 20*spec.Duration {
			t.Errorf("stream %d: measured for %v, want about %v", s.ID, s.Elapsed, spec.Duration)
		}
		if !s.Sender && s.Elapsed < spec.Duration {
			t.Errorf("stream %d: received for %v, want at least %v", s.ID, s.Elapsed, spec.Duration)
		}
		first, last := s.Samples[0], s.Samples[len(s.Samples)-1]
		if !s.Sender && last.At != s.Began+s.Elapsed {
			t.Errorf("stream %d: measured until %v, its last sample is of %v", s.ID, s.Began+s.Elapsed, last.At)
		}
		if first.At > spec.Omit || !first.Omitted || first.Bytes != 0 {
			t.Errorf("stream %d: first sample at %v with %d bytes", s.ID, first.At, first.Bytes)
		}
		if last.Omitted || last.Bytes != s.Bytes+s.Omitted {
			t.Errorf("stream %d: last sample has %d bytes, the stream %d", s.ID, last.Bytes, s.Bytes+s.Omitted)
		}
		for i := range s.Samples[1:] {
			if before, after := s.Samples[i], s.Samples[i+1]; after.At < before.At || after.Bytes < before.Bytes || after.Omitted && !before.Omitted {
				t.Errorf("stream %d: sample %d steps back: %v after %v", s.ID, i+1, after.At, before.At)
			}
		}
	}
}

// The sender must not outlive the receiver by what lies in its buffers: at this
// rate they would take far longer to drain than the test may.
func TestTimedEndsWithoutDraining(t *testing.T) {
	t.Setenv(EnvSlowReader, "1mbit")
	spec := Spec{Direction: Forward, Streams: 1, Duration: 400 * time.Millisecond}
	client, server := transferOver(t, spec)
	if client.err != nil || server.err != nil {
		t.Fatalf("client: %v, server: %v", client.err, server.err)
	}
	sent, received := client.Streams[0], server.Streams[0]
	drain := time.Duration(float64((sent.Bytes-received.Bytes)*8) / 1e6 * float64(time.Second))
	if drain < 5*time.Second {
		t.Fatalf("%d bytes sent and %d received: too little lay in the buffers to tell", sent.Bytes, received.Bytes)
	}
	if sent.Elapsed > received.Elapsed+drain/2 {
		t.Errorf("the sender went on for %v, the receiver for %v", sent.Elapsed, received.Elapsed)
	}
}

// mostThrottled is what a transfer can come to that is held to a rate: one step is free at
// the start, and each stream may have one on the way at either end.
func mostThrottled(spec Spec, rate unit.Rate) unit.Rate {
	steps := time.Duration(1 + 2*spec.Streams)
	return unit.Rate(float64(rate) * (spec.Duration + steps*throttleStep).Seconds() / spec.Duration.Seconds())
}

func TestSlowReaderShows(t *testing.T) {
	t.Setenv(EnvSlowReader, "20mbit")
	spec := Spec{Direction: Forward, Streams: 2, Duration: 600 * time.Millisecond, Interval: 20 * time.Millisecond}
	client, server := transferOver(t, spec)
	if client.err != nil || server.err != nil {
		t.Fatalf("client: %v, server: %v", client.err, server.err)
	}
	result := Result{Spec: spec, Client: client.End, Server: server.End}
	if got, most := result.Goodput(Forward), mostThrottled(spec, 20*unit.Mbps); got > most || got < 5*unit.Mbps {
		t.Errorf("goodput %v, want 20 Mb/s, at most %v", got, most)
	}
	if runtime.GOOS != "linux" {
		return // the rest is what the kernel says of it
	}
	for _, r := range server.Streams {
		if last := r.Samples[len(r.Samples)-1]; last.Unread == 0 || last.Mem.RecvAlloc == 0 {
			t.Errorf("stream %d: nothing waits for the slow reader: %+v", r.ID, last)
		}
	}
	for _, s := range client.Streams {
		// The last sample is of a connection that was reset: the kernel has
		// dropped what was unsent.
		before, last := s.Samples[len(s.Samples)-2], s.Samples[len(s.Samples)-1]
		if before.Unsent == 0 || before.Mem.SendQueued == 0 || last.TCP.RwndLimited < last.TCP.BusyTime/2 {
			t.Errorf("stream %d: the sender does not wait for the window: %+v", s.ID, before)
		}
	}
}

func TestSlowWriterShows(t *testing.T) {
	t.Setenv(EnvSlowWriter, "20mbit")
	spec := Spec{Direction: Forward, Streams: 2, Duration: 600 * time.Millisecond}
	client, server := transferOver(t, spec)
	if client.err != nil || server.err != nil {
		t.Fatalf("client: %v, server: %v", client.err, server.err)
	}
	result := Result{Spec: spec, Client: client.End, Server: server.End}
	if got, most := result.Goodput(Forward), mostThrottled(spec, 20*unit.Mbps); got > most || got < 5*unit.Mbps {
		t.Errorf("goodput %v, want 20 Mb/s, at most %v", got, most)
	}
}

func TestBadSlowReader(t *testing.T) {
	t.Setenv(EnvSlowReader, "fast")
	a, _ := connect(t, Spec{Direction: Forward, Streams: 1})
	if _, err := Run(t.Context(), Spec{Direction: Forward, Streams: 1, Bytes: 1}, a, nil); err == nil || !strings.Contains(err.Error(), EnvSlowReader) {
		t.Errorf("got %v, want an error that names %s", err, EnvSlowReader)
	}
}

func TestPeerResets(t *testing.T) {
	for name, direction := range map[string]Direction{"receiver is gone": Forward, "sender is gone": Reverse} {
		t.Run(name, func(t *testing.T) {
			spec := Spec{Direction: direction, Streams: 2, Duration: time.Minute}
			a, b := connect(t, spec)
			dying, kill := context.WithCancel(t.Context())
			client, server := start(t.Context(), spec, a, Patience), start(dying, spec, b, Patience)
			time.Sleep(300 * time.Millisecond)
			kill()
			if end := wait(t, server); !errors.Is(end.err, context.Canceled) {
				t.Errorf("the end that was stopped says %v", end.err)
			}
			end := wait(t, client)
			if !errors.Is(end.err, syscall.ECONNRESET) && !errors.Is(end.err, syscall.EPIPE) {
				t.Errorf("got %v, want a reset", end.err)
			}
			if end.Error == "" || end.Streams[0].Bytes == 0 || len(end.Streams[0].Samples) < 2 {
				t.Errorf("what was measured is lost: error %q, %d bytes", end.Error, end.Streams[0].Bytes)
			}
		})
	}
}

func TestSilentPeer(t *testing.T) {
	const patience = 300 * time.Millisecond
	for name, test := range map[string]struct {
		direction Direction
		bytes     int64
		says      string
	}{
		"sender never begins":           {Reverse, 0, "nothing came"},
		"receiver never reads":          {Forward, 0, ""},
		"receiver never reads it all":   {Forward, 50_000_000, ""},
		"sender of bytes never begins":  {Reverse, 1000, "nothing came"},
		"receiver leaves the last ones": {Forward, 1000, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := Spec{Direction: test.direction, Streams: 2, Bytes: test.bytes}
			if test.bytes == 0 {
				spec.Duration = time.Minute
			}
			a, silent := connect(t, spec)
			defer func() {
				for _, conn := range silent {
					conn.TCP.Close()
				}
			}()
			end := wait(t, start(t.Context(), spec, a, patience))
			if name == "receiver leaves the last ones" {
				// Its kernel has them: that is all a sender can know.
				if end.err != nil {
					t.Errorf("got %v", end.err)
				}
				return
			}
			if end.err == nil || !strings.Contains(end.err.Error(), test.says) {
				t.Errorf("got %v, want an error with %q", end.err, test.says)
			}
			if end.Error == "" || len(end.Streams) != 2 || len(end.Streams[1].Samples) < 2 {
				t.Errorf("what was measured is lost: %+v", end.End)
			}
		})
	}
}

// A receiver that lives on but does not end the transfer.
func TestReceiverGoesOn(t *testing.T) {
	t.Parallel()
	spec := Spec{Direction: Forward, Streams: 1, Duration: 100 * time.Millisecond}
	a, b := connect(t, spec)
	defer b[0].TCP.Close()
	go io.Copy(io.Discard, b[0].TCP) //nolint:errcheck // ends with the connection
	end := wait(t, start(t.Context(), spec, a, 200*time.Millisecond))
	if end.err == nil || !strings.Contains(end.err.Error(), "did not end the transfer") {
		t.Errorf("got %v", end.err)
	}
}

func TestSenderEndsEarly(t *testing.T) {
	for name, spec := range map[string]Spec{
		"timed":    {Direction: Reverse, Streams: 1, Duration: time.Minute},
		"of bytes": {Direction: Reverse, Streams: 1, Bytes: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := connect(t, spec)
			if _, err := b[0].TCP.Write(make([]byte, 999)); err != nil {
				t.Fatal(err)
			}
			b[0].TCP.Close()
			end := wait(t, start(t.Context(), spec, a, Patience))
			if end.err == nil || end.Streams[0].Bytes != 999 {
				t.Errorf("got %v with %d bytes, want an error with 999", end.err, end.Streams[0].Bytes)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	spec := Spec{Direction: Both, Streams: 2, Duration: time.Minute}
	a, b := connect(t, spec)
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	client, server := start(ctx, spec, a, Patience), start(ctx, spec, b, Patience)
	time.Sleep(300 * time.Millisecond)
	cancel(reason)
	for _, done := range []<-chan outcome{client, server} {
		end := wait(t, done)
		if !errors.Is(end.err, reason) {
			t.Errorf("got %v, want its cause", end.err)
		}
		for _, s := range end.Streams {
			if s.Bytes == 0 || s.Elapsed == 0 {
				t.Errorf("stream %d: %d bytes in %v were kept", s.ID, s.Bytes, s.Elapsed)
			}
		}
	}
}

func TestWatch(t *testing.T) {
	spec := Spec{Direction: Forward, Streams: 2, Duration: 300 * time.Millisecond, Interval: 20 * time.Millisecond}
	a, b := connect(t, spec)
	server := start(t.Context(), spec, b, Patience)
	var seen []Progress
	if _, err := Run(t.Context(), spec, a, func(p Progress) { seen = append(seen, p) }); err != nil {
		t.Fatal(err)
	}
	if end := wait(t, server); end.err != nil {
		t.Fatal(end.err)
	}
	if len(seen) == 0 {
		t.Fatal("no progress was shown")
	}
	var before Progress
	for _, p := range seen {
		if p.At <= before.At || p.Sent < before.Sent || p.Received != 0 || len(p.Streams) != spec.Streams {
			t.Errorf("progress %+v after %+v", p, before)
		}
		before = p
	}
	if before.Sent == 0 {
		t.Error("nothing was sent, it says")
	}
}

func TestRunRefuses(t *testing.T) {
	for name, spec := range map[string]Spec{
		"no direction":     {Streams: 1, Bytes: 1},
		"no such CPU list": {Direction: Forward, Streams: 1, Bytes: 1, ClientCPUs: "first"},
	} {
		a, b := connect(t, Spec{Direction: Forward, Streams: 1})
		if _, err := Run(t.Context(), spec, a, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := b[0].TCP.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: the connection is still open", name)
		}
		b[0].TCP.Close()
	}
	if _, err := Run(t.Context(), Spec{Direction: Forward, Streams: 1, Bytes: 1}, nil, nil); err == nil {
		t.Error("no connections: no error")
	}
}

func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Int64Range(0, 1<<62).Draw(t, "bytes")
		var conns []Conn
		for _, sends := range rapid.SliceOfN(rapid.Bool(), 0, MaxStreams).Draw(t, "sends") {
			conns = append(conns, Conn{Sender: sends})
		}
		var sum, least, most int64
		least = 1 << 62
		senders := 0
		for i, share := range split(bytes, conns) {
			if !conns[i].Sender {
				if share != 0 {
					t.Fatalf("a receiver is to send %d bytes", share)
				}
				continue
			}
			senders++
			sum += share
			least, most = min(least, share), max(most, share)
		}
		if senders > 0 && (sum != bytes || most-least > 1) {
			t.Fatalf("%d bytes became %d in shares of %d to %d", bytes, sum, least, most)
		}
	})
}
