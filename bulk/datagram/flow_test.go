package datagram

import (
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// Datagrams that waited in the receive buffer when the measured time began came
// before it, however late they are read.
func TestDatagramsThatWaitedAreOmitted(t *testing.T) {
	const ms = time.Millisecond
	r := &Running{spec: bulk.Spec{Omit: 500 * ms, Bytes: 1 << 30}, start: time.Now().Add(-time.Minute)}
	came := func(at time.Duration, numbers ...int64) (batch []arrival) {
		for _, n := range numbers {
			batch = append(batch, arrival{number: n, size: 100, at: time.Duration(r.start.UnixNano()) + at})
		}
		return batch
	}
	for name, test := range map[string]struct {
		batches           [][]arrival
		read              []time.Duration // when
		omitted, measured int64           // datagrams
		arrived           int64           // bytes that count towards the end of the transfer
	}{
		"read at once":                 {[][]arrival{came(499*ms, 1, 2), came(501*ms, 3)}, []time.Duration{499 * ms, 501 * ms}, 2, 1, 100},
		"some had waited":              {[][]arrival{came(400*ms, 1), append(came(499*ms, 2, 3), came(500*ms, 4)...)}, []time.Duration{400 * ms, 600 * ms}, 3, 1, 100},
		"though it was looked at":      {[][]arrival{came(600*ms, 1), came(499*ms, 2)}, []time.Duration{600 * ms, 601 * ms}, 2, 0, 100},
		"the clock was set back since": {[][]arrival{came(-time.Hour, 1, 2)}, []time.Duration{600 * ms}, 0, 2, 200},
		"not yet":                      {[][]arrival{came(10*ms, 1, 2)}, []time.Duration{20 * ms}, 2, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := &flow{}
			r.arrived.Store(0)
			for i, batch := range test.batches {
				f.arrived(batch, 0, test.read[i], r)
			}
			d := f.datagrams()
			if d.Omitted.Packets != test.omitted || d.Packets != test.measured || r.arrived.Load() != test.arrived {
				t.Errorf("%d omitted, %d measured, %d bytes; want %d, %d and %d", d.Omitted.Packets, d.Packets, r.arrived.Load(), test.omitted, test.measured, test.arrived)
			}
		})
	}
}

// Where nothing is omitted, what a far end sent before this end's time began is
// measured: both ends count the same datagrams.
func TestNothingIsOmittedUnasked(t *testing.T) {
	r := &Running{spec: bulk.Spec{Bytes: 1 << 30}, start: time.Now()}
	f := &flow{}
	before := time.Duration(r.start.UnixNano()) - time.Millisecond
	f.arrived([]arrival{{number: 1, size: 100, at: before}, {number: 2, size: 100, at: before + 2*time.Millisecond}}, 0, 3*time.Millisecond, r)
	if d := f.datagrams(); d.Omitted.Packets != 0 || d.Packets != 2 {
		t.Errorf("%d omitted, %d measured, want 0 and 2", d.Omitted.Packets, d.Packets)
	}
}
