package tune

import (
	"context"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/examine"
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

// cost is what one transfer takes off the budget.
func (m *meter) cost() time.Duration {
	omit, measured := examine.Timing(m.rtt)
	return omit + measured
}

// affords says whether n more transfers fit the budget.
func (m *meter) affords(n int) bool { return m.spent+time.Duration(n)*m.cost() <= m.o.Budget }

// part is a share of what is left of the budget.
func (m *meter) part(share float64) time.Duration {
	return time.Duration(share * float64(max(0, m.o.Budget-m.spent)))
}

// spend takes trials off the budget.
func (m *meter) spend(s examine.Spent) {
	m.spent += s.Time
	m.bytes += s.Bytes
}

// read runs one transfer. With an error, the reading has nothing but what the
// transfer recorded until then.
func (m *meter) read(ctx context.Context) (reading, error) {
	omit, measured := examine.Timing(m.rtt)
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
		return reading{transfer: result}, fmt.Errorf("measure: %w%s", err, mtuNote(m.way))
	}
	r := reading{goodput: result.Goodput(m.o.Direction), retrans: examine.Repeated(result, m.o.Direction), transfer: result}
	if loaded := result.Figures(m.o.Direction).LoadedRTT; loaded != nil {
		r.latency = loaded.Median
	}
	return r, nil
}

// mtuNote is what the probe found odd about the path's MTU, to be put behind the
// error of a transfer that failed: large packets that vanish are why most
// transfers that connect and then stand still do so. It is empty if there was
// nothing.
func mtuNote(way path.Direction) string {
	if way.MTU.Note == "" {
		return ""
	}
	return "; the probe found: " + way.MTU.Note
}
