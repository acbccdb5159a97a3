package tune

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

// meter runs transfers and keeps account of the budget.
type meter struct {
	far   Far
	o     Options
	rtt   time.Duration
	way   path.Direction // of the path, as probed
	spent time.Duration
	bytes int64
}

// reading is one transfer, reduced to what the loop decides by.
type reading struct {
	goodput  unit.Rate
	latency  time.Duration // median smoothed RTT of the loaded flow
	retrans  float64       // share of the sent bytes that were sent again
	transfer *bulk.Result
}

// Timing gives how much of a transfer is not measured, and how much is. Twenty
// round trips take a flow from its initial window of 10 segments through slow
// start (doubling each RTT: 2^14 segments, a 20 MB window, after 11) and leave
// time to settle, and twenty more even out what one loss does; the lower bounds
// keep a short path's figures out of the noise of the scheduler, the upper ones
// keep a very long path affordable.
func Timing(rtt time.Duration) (omit, measured time.Duration) {
	omit = min(max(20*rtt, 500*time.Millisecond), 5*time.Second)
	measured = min(max(20*rtt, 1500*time.Millisecond), 4*time.Second)
	return omit, measured
}

// cost is what one transfer takes off the budget.
func (m *meter) cost() time.Duration {
	omit, measured := Timing(m.rtt)
	return omit + measured
}

// affords says whether n more transfers fit the budget.
func (m *meter) affords(n int) bool { return m.spent+time.Duration(n)*m.cost() <= m.o.Budget }

// read runs one transfer.
func (m *meter) read(ctx context.Context) (reading, error) {
	omit, measured := Timing(m.rtt)
	began := time.Now()
	result, err := m.far.Transfer(ctx, bulk.Spec{
		Direction: m.o.Direction, Streams: m.o.Streams, Duration: measured, Omit: omit,
	}, m.o.Watch.Progress)
	m.spent += time.Since(began)
	if result != nil {
		m.bytes += result.Received(m.o.Direction)
	}
	if err != nil {
		if result != nil {
			err = fmt.Errorf("%w (so far %s)", err, result.Goodput(m.o.Direction))
		}
		return reading{}, fmt.Errorf("measure: %w%s", err, MTUNote(m.way))
	}
	latency, retrans := load(result.Senders(m.o.Direction))
	return reading{result.Goodput(m.o.Direction), latency, retrans, result}, nil
}

// load is how the senders' flows fared in the measured time.
func load(senders []bulk.Stream) (latency time.Duration, retrans float64) {
	var rtts []uint32
	var sent, again uint64
	for _, s := range senders {
		first, last := -1, -1
		for i, sample := range s.Samples {
			if sample.Omitted {
				continue
			}
			if first < 0 {
				first = i
			}
			last = i
			if sample.TCP.RTT > 0 {
				rtts = append(rtts, sample.TCP.RTT)
			}
		}
		if first >= 0 && last > first {
			sent += s.Samples[last].TCP.BytesSent - s.Samples[first].TCP.BytesSent
			again += s.Samples[last].TCP.BytesRetrans - s.Samples[first].TCP.BytesRetrans
		}
	}
	if len(rtts) > 0 {
		slices.Sort(rtts)
		latency = time.Duration(rtts[len(rtts)/2]) * time.Microsecond
	}
	if sent > 0 {
		retrans = float64(again) / float64(sent)
	}
	return latency, retrans
}

// MTUNote is what the probe found odd about the path's MTU, to be put behind the
// error of a transfer that failed: large packets that vanish are why most
// transfers that connect and then stand still do so. It is empty if there was
// nothing.
func MTUNote(way path.Direction) string {
	if way.MTU.Note == "" {
		return ""
	}
	return "; the probe found: " + way.MTU.Note
}
