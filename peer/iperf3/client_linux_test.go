package iperf3

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/internal/cable"
)

// wired starts `iperf3 -s` on the far host of a cable; the test is on the near
// one.
func wired(t *testing.T) (server *stock, pull, plug func()) {
	t.Helper()
	c := cable.ForTest(t, cable.Spec{IPv6: true})
	err := c.Far.Do(func() error {
		server = stockServer(t)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	return server, func() { check(c.Pull()) }, func() { check(c.Plug()) }
}

// An address that only means something together with its zone.
func TestIntegrationLinkLocal(t *testing.T) {
	t.Parallel()
	server, _, _ := wired(t)
	for _, spec := range []bulk.Spec{
		{Direction: bulk.Both, Streams: 2, Duration: 200 * time.Millisecond},
		{Direction: bulk.Both, Streams: 2, Duration: 200 * time.Millisecond, Protocol: bulk.UDP, Rate: 10e6},
	} {
		r, err := test(t.Context(), server.at("fe80::2%cable"), Options{Spec: spec}, nil, patient)
		if err != nil {
			t.Fatal(err)
		}
		if r.Host != "fe80::2%cable" || r.Result.Received(bulk.Forward) == 0 || r.Result.Received(bulk.Reverse) == 0 {
			t.Errorf("with %s %d bytes were received there, %d here", r.Host, r.Result.Received(bulk.Forward), r.Result.Received(bulk.Reverse))
		}
		if got, want := r.Result.Client.Streams[0].Remote, net.JoinHostPort("fe80::2%cable", server.port); got != want {
			t.Errorf("the far end of the stream is %s, want %s", got, want)
		}
	}
	_, err := test(t.Context(), server.at("fe80::2"), Options{Spec: short(bulk.Forward)}, nil, hasty)
	if err == nil || !strings.Contains(err.Error(), "cannot connect to") {
		t.Errorf("without its zone: %v", err)
	}
}

// The server's host vanishes without a word: the client says so within seconds,
// whatever it was sending, and keeps what it measured.
func TestIntegrationHostVanishes(t *testing.T) {
	t.Parallel()
	patience := patient
	patience.alive = net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 2}
	for name, spec := range map[string]bulk.Spec{
		"forward":           {Direction: bulk.Forward},
		"reverse":           {Direction: bulk.Reverse},
		"datagrams":         {Direction: bulk.Forward, Protocol: bulk.UDP, Rate: 10e6},
		"datagrams reverse": {Direction: bulk.Reverse, Protocol: bulk.UDP, Rate: 10e6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec.Streams, spec.Duration = 1, time.Minute
			server, pull, _ := wired(t)
			pulled := make(chan time.Time, 1)
			moved := make(chan struct{}, 1)
			go func() {
				select {
				case <-moved:
					pulled <- time.Now()
					pull()
				case <-t.Context().Done():
				}
			}()
			r, err := test(t.Context(), server.at("198.18.0.2"), Options{Spec: spec}, func(p bulk.Progress) {
				if p.Sent+p.Received > 100<<10 {
					select {
					case moved <- struct{}{}:
					default:
					}
				}
			}, patience)
			if err == nil || !strings.Contains(err.Error(), "s after") {
				t.Errorf("error %v", err)
			}
			if late := time.Since(<-pulled); late > 15*time.Second {
				t.Errorf("it took %v", late)
			}
			if s := r.Result.Client.Streams; len(s) != 1 || s[0].Bytes < 100<<10 {
				t.Errorf("kept %+v", s)
			}
		})
	}
}

// A cable that is plugged in again after some seconds ends no test, whoever
// sends.
func TestIntegrationOutage(t *testing.T) {
	t.Parallel()
	for _, direction := range []bulk.Direction{bulk.Forward, bulk.Reverse} {
		t.Run(string(direction), func(t *testing.T) {
			t.Parallel()
			server, pull, plug := wired(t)
			spec := bulk.Spec{Direction: direction, Streams: 1, Duration: 5 * time.Second, Rate: 50e6}
			var down, up sync.Once
			var before, after int64
			_, err := test(t.Context(), server.at("198.18.0.2"), Options{Spec: spec}, func(p bulk.Progress) {
				moved := p.Sent + p.Received
				if p.At > 500*time.Millisecond {
					down.Do(pull)
				}
				if p.At > 3*time.Second {
					up.Do(func() { before = moved; plug() })
				}
				after = moved
			}, patient)
			if err != nil || after <= before {
				t.Errorf("%d bytes moved until it was plugged in, %d in all: %v", before, after, err)
			}
		})
	}
}
