package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// reading is one transfer, reduced to what the loop decides by.
type reading struct {
	goodput  unit.Rate
	latency  time.Duration // median smoothed RTT of the loaded flow
	retrans  float64       // share of the sent bytes that were sent again
	transfer *bulk.Result
}

// candidate is one configuration with everything measured of it.
type candidate struct {
	config   config
	readings []reading
	trials   []diagnose.Trial // that settled its diagnosis
	steadyAt time.Duration    // when its first run reached its steady rate, since the start
	steady   bool             // whether it did, before the measured time
	failed   error            // of a transfer with it, that ended a proof
	short    []float64        // goodputs of runs so short that only a threefold difference counts (see shortTiming), bit/s
}

// goodputs of all its runs, in bit/s.
func (c *candidate) goodputs() []float64 {
	return c.each(func(r reading) float64 { return float64(r.goodput) })
}

// goodput is the median over the runs.
func (c *candidate) goodput() unit.Rate { return unit.Rate(stat.Median(c.goodputs())) }

// latency under load, median over the runs.
func (c *candidate) latency() time.Duration {
	return time.Duration(stat.Median(c.each(func(r reading) float64 { return float64(r.latency) })))
}

// retrans is the share of bytes sent again, median over the runs.
func (c *candidate) retrans() float64 {
	return stat.Median(c.each(func(r reading) float64 { return r.retrans }))
}

func (c *candidate) each(figure func(reading) float64) []float64 {
	var all []float64
	for _, r := range c.readings {
		all = append(all, figure(r))
	}
	return all
}

// typical is the run to diagnose: the one nearest to the median; of two, the
// faster one, since outliers are slow runs.
func (c *candidate) typical() *bulk.Result {
	middle := c.goodput()
	sorted := slices.SortedFunc(slices.Values(c.readings), func(a, b reading) int {
		off := cmp.Compare(math.Abs(float64(a.goodput-middle)), math.Abs(float64(b.goodput-middle)))
		return cmp.Or(off, cmp.Compare(b.goodput, a.goodput))
	})
	return sorted[0].transfer
}

// timing is how much of a transfer is not measured, and how much is.
type timing struct{ omit, measured time.Duration }

const (
	// repeatedTrips is for how many round trips a transfer is measured that is compared
	// with others, and shortTrips for one that only has to show a threefold difference.
	// Where round trips are short, leastMeasured and leastShort apply, or chance would
	// decide. It is never longer than a first transfer (examine.Timing).
	repeatedTrips, leastMeasured = 10, 1500 * time.Millisecond
	shortTrips, leastShort       = 5, 750 * time.Millisecond
	// settling is how many round trips after the time at which a flow's first run reached
	// its steady rate further runs are measured: the next one may take a little longer.
	settling = 3
	// initialWindow of a connection, in segments (RFC 6928), which doubles each round
	// trip; and the further round trips until a flow holds its rate: HyStart++ spreads
	// the last doublings over four times as many (RFC 9406), and the queue fills.
	initialWindow, afterSlowStart = 10, 5
)

// firstTiming of a configuration: the baseline is measured as any examination
// measures. What is compared with it, if that was steady, is measured half as long,
// and left out is no more than slow start takes to fill the path.
func (t *tuning) firstTiming(c *candidate) timing {
	omit, measured := examine.Timing(t.rtt())
	if len(c.config) == 0 || !t.baseline.steady {
		return timing{omit, measured}
	}
	if way := t.way(); !way.Capacity.Assumed && way.Capacity.High > 0 {
		segments := float64(t.path.BDP(way)) / segment
		trips := math.Log2(max(1, segments/initialWindow)) + afterSlowStart
		omit = min(omit, max(leastOmitted, time.Duration(trips*float64(t.rtt()))))
	}
	return timing{omit, t.shorter(measured)}
}

const (
	// segment is what a packet of an Ethernet carries, in bytes.
	segment = 1448
	// leastOmitted keeps the bursts of a connection's beginning out of a short path's
	// figures.
	leastOmitted = 500 * time.Millisecond
)

func (t *tuning) shorter(measured time.Duration) time.Duration {
	return min(measured, max(repeatedTrips*t.rtt()+t.rtt()/4, leastMeasured)) // a window arrives at once: the last one is in it
}

// shortTiming is the timing of a run that only has to show a threefold difference: it
// is measured from one round trip after both reached their rates, if that is known.
func (t *tuning) shortTiming(less, best *candidate) timing {
	omit, measured := examine.Timing(t.rtt())
	return timing{min(omit, max(less.steadyAt, best.steadyAt)+t.rtt()), min(measured, max(shortTrips*t.rtt(), leastShort))}
}

// repeated is the timing of further runs of two candidates that are compared: both
// in the same phase. A flow that holds its rate is in one phase all the time, so
// that its further runs need only wait until it does.
func (t *tuning) repeated(a, b *candidate) (ofA, ofB timing) {
	if !a.steady || !b.steady {
		full := t.firstTiming(a)
		if len(a.config) == 0 {
			full = t.firstTiming(b)
		}
		return full, full
	}
	again := func(c *candidate) timing {
		omit, measured := examine.Timing(t.rtt())
		return timing{min(omit, c.steadyAt+settling*t.rtt()), t.shorter(measured)}
	}
	return again(a), again(b)
}

// errTransfer says that a transfer failed, though the far end is still there.
var errTransfer = errors.New("transfer failed")

// measure brings the hosts to the candidate's configuration and runs one transfer.
func (t *tuning) measure(ctx context.Context, c *candidate, spend timing) error {
	if err := t.hosts.bring(ctx, c.config); err != nil {
		return err
	}
	run := t.meter.Move(ctx, bulk.Spec{
		Direction: t.o.Direction, Streams: t.o.Streams, Duration: spend.measured, Omit: spend.omit,
	}, t.mostOf(spend))
	if run.Err != nil {
		return t.failed(ctx, c, run)
	}
	r := reading{goodput: run.Result.Goodput(t.o.Direction), retrans: examine.Repeated(run.Result, t.o.Direction), transfer: run.Result}
	if loaded := run.Result.Figures(t.o.Direction).LoadedRTT; loaded != nil {
		r.latency = loaded.Median
	}
	if len(c.readings) == 0 {
		c.steadyAt, c.steady = steadyFrom(run.Result, t.o.Direction, t.rtt())
	}
	c.readings = append(c.readings, r)
	return nil
}

// mostOf is how long one transfer may take: a change set that is not renewed in time
// reverts, and a late transfer must not use what is reserved for the proof.
func (t *tuning) mostOf(spend timing) time.Duration {
	most := t.meter.Cost(spend.omit, spend.measured) + lateness
	return min(most, max(t.meter.Cost(spend.omit, spend.measured), t.meter.Left()-t.reserve), confirmWithin-renewing)
}

const (
	// lateness is how much longer than expected a transfer may take: enough for a
	// first packet that was lost and sent again twice (RFC 6298: after 1 s and 2 s).
	lateness = 3 * time.Second
	// renewing is what is left of a change set's deadline when a transfer has to be
	// over, for the next call to reach the host.
	renewing = 5 * time.Second
)

// failed turns a transfer's failure into an error. If it was the baseline, the reason
// is diagnosed.
func (t *tuning) failed(ctx context.Context, c *candidate, run examine.Moved) error {
	err := run.Err
	if run.Result != nil {
		err = fmt.Errorf("%w (so far %s)", err, run.Result.Goodput(t.o.Direction))
	}
	err = fmt.Errorf("measure: %w%s", err, mtuNote(t.way()))
	if fatal := run.Fatal(ctx); fatal != nil {
		return err
	}
	if len(c.readings) == 0 && len(c.config) == 0 {
		t.explain(ctx, run.Result, err)
	}
	return fmt.Errorf("%w: %w", errTransfer, err)
}

// mtuNote is what the probe found odd about the path's MTU, to be put behind the
// error of a transfer that failed: most transfers that connect and then stall do so
// because large packets are lost. It is empty if the probe found nothing odd.
func mtuNote(way path.Direction) string {
	if way.MTU.Note == "" {
		return ""
	}
	return "; the probe found: " + way.MTU.Note
}

// steadyFrom is when a transfer reached the rate that it held until its end, since its
// start, and whether that was before the measured time. From then on the bytes
// received lie on a straight line, apart from what one round trip brings at once: a
// window arrives as a burst.
func steadyFrom(r *bulk.Result, d bulk.Direction, rtt time.Duration) (at time.Duration, ok bool) {
	for _, s := range r.Receivers(d) {
		from, held := holds(s.Samples, s.Began, rtt)
		if !held {
			return 0, false
		}
		at, ok = max(at, from), true
	}
	return at, ok
}

// flatness is how far the bytes received may be off the line, in round trips of the
// steady rate, in addition to what arrives between two samples.
const flatness = 1.0

func holds(samples []bulk.Sample, began, rtt time.Duration) (from time.Duration, ok bool) {
	beginning := slices.IndexFunc(samples, func(s bulk.Sample) bool { return s.At >= began })
	if len(samples) < 3 || beginning < 0 {
		return 0, false
	}
	first, last := samples[beginning], samples[len(samples)-1]
	took := (last.At - first.At).Seconds()
	if took <= 0 || last.Bytes <= first.Bytes {
		return 0, false
	}
	rate := float64(last.Bytes-first.Bytes) / took
	from = last.At
	for i := len(samples) - 2; i >= 0; i-- {
		off := float64(last.Bytes-samples[i].Bytes) - rate*(last.At-samples[i].At).Seconds()
		between := (samples[i+1].At - samples[i].At).Seconds()
		if math.Abs(off) > rate*(flatness*rtt.Seconds()+between) {
			break
		}
		from = samples[i].At
	}
	return from, from < began
}
