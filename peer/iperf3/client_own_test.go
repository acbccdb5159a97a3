package iperf3

import (
	"fmt"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// With fullbore's own server the client needs nothing else.
func TestOwnServer(t *testing.T) {
	t.Parallel()
	server := startServer(t, ServerConfig{})
	for name, change := range map[string]func(*Options){
		"-P 4":        func(o *Options) { o.Spec.Streams = 4 },
		"-n 1M -P 3":  func(o *Options) { o.Spec.Duration, o.Spec.Bytes, o.Spec.Streams = 0, 1<<20, 3 },
		"-n 1":        func(o *Options) { o.Spec.Duration, o.Spec.Bytes = 0, 1 },
		"-n 0":        func(o *Options) { o.Spec.Duration = 0 },
		"-N -w 64K":   func(o *Options) { o.Spec.NoDelay, o.Spec.SendBuf, o.Spec.RecvBuf = true, 64<<10, 64<<10 },
		"-k 3 -l 10K": func(o *Options) { o.Spec.Duration, o.Blocks, o.Spec.Length = 0, 3, 10<<10 },
	} {
		for _, direction := range directions {
			t.Run(fmt.Sprintf("%s/%s", name, direction), func(t *testing.T) {
				o := Options{Spec: short(direction)}
				o.Spec.Rate = 400e6
				change(&o)
				r, err := test(t.Context(), server.address, o, nil, usualClientPatience)
				if err != nil {
					t.Fatal(err)
				}
				for i, ours := range r.Result.Client.Streams {
					agree(t, o, ours, r.Result.Server.Streams[i])
				}
				if bytes := r.Result.Spec.Bytes; bytes > 0 && direction == bulk.Forward && r.Result.Received(direction) != bytes {
					t.Errorf("of %d bytes %d were received", bytes, r.Result.Received(direction))
				}
			})
		}
	}
}

// What the client waits for at the end of a test is none of the receiver's time,
// and nothing was received sooner than it was sent.
func TestRestIsNotMeasured(t *testing.T) {
	t.Parallel()
	patience := patient
	patience.read = time.Second
	own := startServer(t, ServerConfig{})
	for name, spec := range map[string]bulk.Spec{
		"time":           {Duration: 200 * time.Millisecond},
		"bytes":          {Bytes: 1 << 20},
		"datagrams":      {Duration: 200 * time.Millisecond, Protocol: bulk.UDP, Length: 1000},
		"datagram bytes": {Bytes: 1 << 20, Protocol: bulk.UDP, Length: 1000},
	} {
		spec.Direction, spec.Streams, spec.Rate = bulk.Forward, 1, 40e6
		check := func(t *testing.T, address string) {
			t.Parallel()
			r, err := test(t.Context(), address, Options{Spec: spec}, nil, patience)
			if err != nil {
				t.Fatal(err)
			}
			sent, received := r.Result.Client.Streams[0].Elapsed, r.Result.Server.Streams[0].Elapsed
			if received < sent/2 || received > sent+patience.read/2 {
				t.Errorf("it was sent in %v and received in %v", sent, received)
			}
		}
		t.Run(name+"/stock", func(t *testing.T) { check(t, stockServer(t).at("127.0.0.1")) })
		if spec.Protocol != bulk.UDP { // this server has no port for datagrams
			t.Run(name+"/own", func(t *testing.T) { check(t, own.address) })
		}
	}
}
