package peer

import (
	"strings"
	"testing"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
)

// What a far end says of a transfer is believed only as far as it can be.
func TestCheckEnd(t *testing.T) {
	spec := bulk.Spec{Direction: bulk.Forward, Streams: 1}
	for _, c := range []struct {
		name   string
		change func(*bulk.End)
		says   string
	}{
		{"all is well", func(*bulk.End) {}, ""},
		{"its interface", func(e *bulk.End) { e.Links = []host.LinkDelta{{Name: "eth0", Used: true}} }, ""},
		{"its memory", func(e *bulk.End) { e.Memory = &host.TCPMemory{Used: 1 << 20} }, ""},
		{"two streams", func(e *bulk.End) { e.Streams = append(e.Streams, e.Streams[0]) }, "2 streams of 1"},
		{"another stream", func(e *bulk.End) { e.Streams[0].ID = 7 }, "none of this transfer's"},
		{"it sent, too", func(e *bulk.End) { e.Streams[0].Sender = true }, "both ends were the sender"},
		{"negative bytes", func(e *bulk.End) { e.Streams[0].Bytes = -1 }, "negative counts"},
		{"thousands of interfaces", func(e *bulk.End) { e.Links = make([]host.LinkDelta, 4000) }, "4000 interfaces"},
		{"negative errors", func(e *bulk.End) {
			e.Links = []host.LinkDelta{{Name: "eth0", LinkCounters: host.LinkCounters{CRC: -1}}}
		}, "negative counts"},
		{"negative memory", func(e *bulk.End) { e.Memory = &host.TCPMemory{Used: -1} }, "negative memory"},
	} {
		far := bulk.End{Streams: []bulk.Stream{{ID: 1}}}
		c.change(&far)
		err := checkEnd(spec, &far)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}
