package diagnose

import (
	"math"
	"testing"

	"github.com/fullbore/fullbore/bulk"
)

// Slow start lost much before the measured time: neither its losses nor its loss
// events count as those of the measured time.
func TestLossRateIsOfOneTime(t *testing.T) {
	evidence := func() *Evidence {
		s := scene{goodput: 100 * mbps, rtt: 40 * ms, lossEvery: 1000, counters: map[string]int64{"TcpExt.TCPSackRecovery": 50, "TcpExt.TCPTimeouts": 10}}
		e := s.evidence()
		samples := e.Transfer.Client.Streams[0].Samples
		for i := range samples { // it lost 3000 segments in slow start
			if samples[i].At > 0 {
				samples[i].TCP.TotalRetrans += 3000
				samples[i].TCP.DataSegsOut += 3000
			}
		}
		return e
	}
	measured := func(e *Evidence) (packets, segments float64) {
		f := flows(e.Transfer.Senders(bulk.Forward))[0]
		return float64(f.last().TCP.TotalRetrans - f.base.TCP.TotalRetrans), float64(f.last().TCP.DataSegsOut - f.base.TCP.DataSegsOut)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

	t.Run("counters of the measured time", func(t *testing.T) {
		e := evidence()
		e.Transfer.Client.Measured = map[string]int64{"TcpExt.TCPSackRecovery": 20}
		packets, segments := measured(e)
		l := newView(e).loss
		if l.events != 20 || !near(l.rate, 20/segments) || !near(l.clumped, packets/20) || !l.sawCause {
			t.Errorf("%+v, want 20 events in %.0f segments", l, segments)
		}
	})
	t.Run("counters of the whole transfer only", func(t *testing.T) {
		e := evidence()
		last := e.Transfer.Client.Streams[0].Samples[110].TCP
		l := newView(e).loss
		if l.events != 60 || !near(l.rate, 60/float64(last.DataSegsOut)) || !near(l.clumped, float64(last.TotalRetrans)/60) || !l.sawCause {
			t.Errorf("%+v, want 60 events in %d segments", l, last.DataSegsOut)
		}
	})
	t.Run("no counters", func(t *testing.T) {
		e := evidence()
		e.Transfer.Client.Counters = nil
		packets, segments := measured(e)
		l := newView(e).loss
		if l.events != packets || !near(l.rate, packets/segments) || l.clumped != 1 || l.sawCause {
			t.Errorf("%+v, want %.0f events in %.0f segments", l, packets, segments)
		}
	})
	t.Run("nothing was lost in the measured time", func(t *testing.T) {
		e := evidence()
		samples := e.Transfer.Client.Streams[0].Samples
		for i := range samples {
			samples[i].TCP.TotalRetrans = 3000
		}
		if l := newView(e).loss; l.packets != 0 || l.events != 0 || l.rate != 0 {
			t.Errorf("%+v", l)
		}
	})
}
