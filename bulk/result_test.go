package bulk

import (
	"testing"
	"time"

	"github.com/fullbore/fullbore/unit"
)

func TestGoodput(t *testing.T) {
	const s = time.Second
	timed, bytes := Spec{Duration: 8 * s}, Spec{Bytes: 2000}
	for name, test := range map[string]struct {
		spec             Spec
		client, server   []Stream
		forward, reverse unit.Rate
	}{
		"nothing": {spec: timed},
		"only what the receiver counted": {
			spec:    timed,
			client:  []Stream{{Sender: true, Bytes: 9999, Elapsed: 8 * s}},
			server:  []Stream{{Bytes: 1000, Omitted: 500, Elapsed: 8 * s}},
			forward: 1 * unit.Kbps,
		},
		"both ways": {
			spec:    timed,
			client:  []Stream{{Sender: true, Bytes: 2000, Elapsed: 8 * s}, {Bytes: 3000, Elapsed: 8 * s}},
			server:  []Stream{{Bytes: 1000, Elapsed: 8 * s}, {Sender: true, Bytes: 4000, Elapsed: 8 * s}},
			forward: 1 * unit.Kbps, reverse: 3 * unit.Kbps,
		},
		"streams of equal time add up": {
			spec:    timed,
			server:  []Stream{{Bytes: 1000, Elapsed: 8 * s}, {Bytes: 1000, Began: 1 * s, Elapsed: 8 * s}},
			forward: 2 * unit.Kbps,
		},
		"streams of bytes one after the other do not": {
			spec:    bytes,
			server:  []Stream{{Bytes: 1000, Began: 1 * s, Elapsed: 8 * s}, {Bytes: 1000, Began: 9 * s, Elapsed: 8 * s}},
			forward: 1 * unit.Kbps,
		},
		"a stream without bytes does not count": {
			spec:    bytes,
			server:  []Stream{{}, {Bytes: 2000, Began: 9 * s, Elapsed: 8 * s}},
			forward: 2 * unit.Kbps,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := Result{Spec: test.spec, Client: End{Streams: test.client}, Server: End{Streams: test.server}}
			if got := r.Goodput(Forward); got != test.forward {
				t.Errorf("forward %v, want %v", got, test.forward)
			}
			if got := r.Goodput(Reverse); got != test.reverse {
				t.Errorf("reverse %v, want %v", got, test.reverse)
			}
		})
	}
}
