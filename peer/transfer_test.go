package peer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet/job"
)

func TestTransferHasBothHalves(t *testing.T) {
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	client := far.dial(t, "")
	for _, spec := range []bulk.Spec{
		short(bulk.Forward, 1),
		short(bulk.Reverse, 3),
		short(bulk.Both, 2),
		{Direction: bulk.Forward, Streams: 2, Bytes: 3_000_001},
		{Direction: bulk.Reverse, Streams: 1, Bytes: 1_000_000},
		{Direction: bulk.Forward, Streams: 1, Bytes: 1},
		{Direction: bulk.Forward, Streams: 1},                 // nothing
		{Direction: bulk.Both, Streams: 2, Omit: time.Second}, // nothing, both ways
	} {
		t.Run(fmt.Sprintf("%s %d bytes %d", spec.Direction, spec.Streams, spec.Bytes), func(t *testing.T) {
			watched := 0
			result, err := client.Transfer(within(t, generous), spec, func(bulk.Progress) { watched++ })
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []bulk.Direction{bulk.Forward, bulk.Reverse} {
				want := 0
				if spec.Direction == d || spec.Direction == bulk.Both {
					want = spec.Streams
				}
				if n := len(result.Senders(d)); n != want {
					t.Errorf("%s: %d streams at the sender, want %d", d, n, want)
				}
				if n := len(result.Receivers(d)); n != want {
					t.Errorf("%s: %d streams at the receiver, want %d", d, n, want)
				}
				if got := result.Received(d); want > 0 && (spec.Timed() && got == 0 || !spec.Timed() && got != spec.Bytes) {
					t.Errorf("%s: received %d bytes of %d", d, got, spec.Bytes)
				}
				if got := result.Goodput(d); spec.Bytes == 0 && !spec.Timed() && got != 0 {
					t.Errorf("%s: goodput of nothing is %v", d, got)
				}
			}
			for _, s := range append(result.Senders(bulk.Forward), result.Receivers(bulk.Reverse)...) {
				twin := findStream(result.Server, s.ID)
				if twin == nil || twin.Local != s.Remote || twin.Remote != s.Local {
					t.Errorf("stream %d is %s to %s here, and %+v there", s.ID, s.Local, s.Remote, twin)
				}
			}
			if spec.Duration > 0 && watched == 0 {
				t.Error("progress was never told")
			}
		})
	}
	if n := far.running(); n != 0 {
		t.Errorf("%d transfers still have a place", n)
	}
}

func findStream(end bulk.End, id int) *bulk.Stream {
	for i := range end.Streams {
		if end.Streams[i].ID == id {
			return &end.Streams[i]
		}
	}
	return nil
}

func TestTransferOverIPv6(t *testing.T) {
	far := startFarEnd(t, Config{}, "[::1]:0")
	result, err := far.dial(t, "").Transfer(within(t, generous), short(bulk.Forward, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := result.Client.Streams[0]; !strings.HasPrefix(s.Remote, "[::1]:") {
		t.Errorf("stream went to %s", s.Remote)
	}
}

func TestLimitsWithoutToken(t *testing.T) {
	far := startFarEnd(t, Config{Public: Limits{Transfer: time.Minute, Streams: 16, Transfers: 4, Samples: 20_000}}, "127.0.0.1:0")
	open, trusted := far.dial(t, ""), far.dial(t, far.TokenString())
	for name, spec := range map[string]bulk.Spec{
		"a transfer of 1m1s":      {Direction: bulk.Forward, Streams: 1, Duration: time.Minute, Omit: time.Second},
		"17 streams":              short(bulk.Forward, 17),
		"an interval of 97ms":     {Direction: bulk.Both, Streams: 16, Duration: time.Minute, Interval: 96 * time.Millisecond},
		"an interval of 49ms":     {Direction: bulk.Forward, Streams: 16, Bytes: 1, Interval: time.Millisecond},
		"use forward, reverse or": {Direction: "sideways", Streams: 1, Duration: time.Second},
	} {
		_, err := open.Transfer(within(t, generous), spec, nil)
		if err == nil {
			t.Errorf("%s: was allowed", name)
		} else if !strings.Contains(err.Error(), name) {
			t.Errorf("error %q does not say %q", err, name)
		}
	}
	if got, want := trusted.Hello().Limits, TokenLimits(); got != want {
		t.Errorf("limits with the token are %+v, want %+v", got, want)
	}
	if _, err := trusted.Transfer(within(t, generous), short(bulk.Forward, 64), nil); err != nil {
		t.Errorf("with the token: %v", err)
	}
}

// The far end checks what it is asked itself: a client may be anyone's.
func TestFarEndRefusesBadRequests(t *testing.T) {
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	client := far.dial(t, "")
	for name, body := range map[string]any{
		"unknown field": map[string]any{"direction": "forward", "streams": 1, "duration_ns": 1e9, "shell": "true"},
		"wrong type":    map[string]any{"direction": "forward", "streams": "one"},
		"bad spec":      map[string]any{"direction": "forward", "streams": 0},
		"negative":      map[string]any{"direction": "forward", "streams": -1, "duration_ns": 1e9},
		"too long":      map[string]any{"direction": strings.Repeat("x", maxRequest)},
	} {
		err := client.call(within(t, generous), request{method: http.MethodPost, path: "/v1/transfers", body: body})
		if err == nil {
			t.Errorf("%s: was accepted", name)
		}
	}
	err := client.call(within(t, generous), request{method: http.MethodGet, path: "/v1/transfers/unheard-of"})
	wantKind(t, err, ErrGone)
}

func TestBusyFarEndSaysHowLong(t *testing.T) {
	far := startFarEnd(t, Config{Public: Limits{Transfer: time.Minute, Streams: 2, Transfers: 1, Samples: 1000}}, "127.0.0.1:0")
	first, second := far.dial(t, ""), far.dial(t, "")
	running := make(chan struct{})
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(within(t, generous))
	go func() {
		once := false
		_, err := first.Transfer(ctx, bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: 15 * time.Second}, func(bulk.Progress) {
			if !once {
				once = true
				close(running)
			}
		})
		ended <- err
	}()
	<-running
	_, err := second.Transfer(within(t, generous), short(bulk.Forward, 1), nil)
	wantKind(t, err, ErrBusy, "a place is free in at most")

	cancel() // and the place is free at once
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled transfer: %v", err)
	}
	eventually(t, "the place is free", func() bool { return far.running() == 0 })
	if _, err := second.Transfer(within(t, generous), short(bulk.Forward, 1), nil); err != nil {
		t.Error(err)
	}
}

func TestFarEndStoppedMidTransfer(t *testing.T) {
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	client := far.dial(t, "")
	stopped := make(chan error, 1)
	once := false
	result, err := client.Transfer(within(t, generous), bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: 15 * time.Second}, func(p bulk.Progress) {
		if !once && p.Sent > 0 {
			once = true
			go func() { stopped <- far.stop() }()
		}
	})
	if err == nil {
		t.Fatal("no error")
	}
	t.Log(err)
	if result.Client.Error == "" || len(result.Client.Streams) != 1 {
		t.Errorf("partial result: %d streams, error %q", len(result.Client.Streams), result.Client.Error)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// Clients that go away at any phase leave their place within seconds.
func TestVanishedClientFreesItsPlace(t *testing.T) {
	t.Parallel()
	far := startHasty(t, Config{}, "127.0.0.1:0", hasty)
	client := far.dial(t, "")
	create := func(spec bulk.Spec) job.Place {
		t.Helper()
		var place job.Place
		if err := client.call(within(t, generous), request{method: http.MethodPost, path: "/v1/transfers", body: spec, answer: &place}); err != nil {
			t.Fatal(err)
		}
		return place
	}
	start := func(place job.Place) {
		t.Helper()
		if err := client.call(within(t, generous), request{method: http.MethodPost, path: resource("/v1/transfers", place.ID, "start")}); err != nil {
			t.Fatal(err)
		}
	}

	// No stream ever comes.
	create(short(bulk.Forward, 2))
	// Streams are there, the client is killed: its sockets close.
	closed := create(bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: time.Minute})
	conn := rawDial(t, far.address)
	_, _ = conn.Write(preamble{cookie: closed.Cookie, stream: 1}.bytes())
	start(closed)
	_ = conn.Close()
	// Streams stay open, but the client neither sends nor asks any more.
	silent := create(bulk.Spec{Direction: bulk.Reverse, Streams: 1, Duration: time.Minute})
	conn = rawDial(t, far.address)
	_, _ = conn.Write(preamble{cookie: silent.Cookie, stream: 1}.bytes())
	start(silent)

	if n := far.running(); n == 0 {
		t.Error("no transfer has a place")
	}
	eventually(t, "all places are free", func() bool { return far.running() == 0 })
}

func TestStreamsOfTheWrongKind(t *testing.T) {
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	client := far.dial(t, "")
	var place job.Place
	if err := client.call(within(t, generous), request{method: http.MethodPost, path: "/v1/transfers", body: short(bulk.Forward, 1), answer: &place}); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]preamble{
		"unknown cookie":    {cookie: strings.Repeat("a", cookieSize), stream: 1},
		"beyond the last":   {cookie: place.Cookie, stream: 2},
		"the id, no cookie": {cookie: place.ID, stream: 1},
	} {
		conn := rawDial(t, far.address)
		_, _ = conn.Write(p.bytes())
		if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil || os.IsTimeout(err) {
			t.Errorf("%s: connection stays open", name)
		}
	}
	if err := client.call(within(t, generous), request{method: http.MethodDelete, path: resource("/v1/transfers", place.ID)}); err != nil {
		t.Error(err)
	}
	if n := far.running(); n != 0 {
		t.Errorf("%d transfers still have a place after their end", n)
	}
}
