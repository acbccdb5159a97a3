// Package clock holds hosts' clocks against each other, so that many start at the same instant: by
// exchanges over a connection that is there, on monotonic clocks. Neither NTP nor PTP is needed, nor
// trusted: a bound of the error follows from the exchanges alone.
package clock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

// Instant is a time of one host's monotonic clock: since some instant of its own, such as its boot.
type Instant = time.Duration

// Reading is what a host says when it is asked for its time.
type Reading struct {
	Received Instant `json:"received_ns"` // when the question was there
	Answered Instant `json:"answered_ns"` // when the answer went
}

// Exchange is a reading, with when it was asked for and when it came, by this host's clock.
type Exchange struct {
	Sent, Came Instant
	Reading
}

// roundTrip is the time that the exchange was on its way (RFC 5905, section 8).
func (e *Exchange) roundTrip() time.Duration { return e.Came - e.Sent - (e.Answered - e.Received) }

// Offset says how far another clock is ahead of this host's.
type Offset struct {
	Ahead time.Duration
	Bound time.Duration // the error is no more than that at the time of the exchange
	At    Instant       // this host's clock at the exchange
}

// Exchanges are how many are made. The one with the least round trip counts: it waited least in
// queues, which are all that makes the ways there and back differ on a path that is the same both ways.
const Exchanges = 16

// ErrNonsense says that a host's readings cannot be those of a clock.
var ErrNonsense = errors.New("these are no readings of a clock")

// Estimate takes the exchange with the least round trip. The error is half of that at most, however
// unequal the ways there and back were (F. Cristian, Probabilistic clock synchronization, Distributed
// Computing 3, 1989).
func Estimate(all []Exchange) (Offset, error) {
	for i := range all {
		if e := &all[i]; e.Came < e.Sent || e.Answered < e.Received || e.roundTrip() < 0 {
			return Offset{}, fmt.Errorf("%w: asked at %v, answered at %v, and there it was %v to %v", ErrNonsense, e.Sent, e.Came, e.Received, e.Answered)
		}
	}
	if len(all) == 0 {
		return Offset{}, errors.New("no exchange of times")
	}
	best := slices.MinFunc(all, func(a, b Exchange) int { return cmp.Compare(a.roundTrip(), b.roundTrip()) })
	return Offset{
		Ahead: (best.Received - best.Sent + best.Answered - best.Came) / 2,
		Bound: best.roundTrip() / 2,
		At:    best.Came,
	}, nil
}

// Ask makes exchanges with a host, one after the other. Now is this host's clock.
func Ask(ctx context.Context, now func() Instant, ask func(context.Context) (Reading, error)) (Offset, error) {
	var all []Exchange
	for range Exchanges {
		e := Exchange{Sent: now()}
		var err error
		if e.Reading, err = ask(ctx); err != nil {
			return Offset{}, err
		}
		e.Came = now()
		all = append(all, e)
	}
	return Estimate(all)
}

// drift is how far two clocks may go apart in a second: each may be 500 parts in a million fast or
// slow, the most that Linux corrects one by (MAXFREQ, include/linux/timex.h).
const drift = 2 * 500e-6

// Error is the bound at an instant of this host's clock, before or after the exchange. Clocks are read in
// whole nanoseconds: two readings may be one further apart than what they are of.
func (o Offset) Error(at Instant) time.Duration {
	apart := at - o.At
	return o.Bound + time.Duration(math.Ceil(drift*float64(max(apart, -apart)))) + 1
}

// Narrow is what is known of the offset at an instant from an exchange before it and one after it: each
// leaves a range, and the truth is in both. Its error is [ErrNonsense] where they have nothing in
// common, as when a clock was set.
func Narrow(before, after Offset, at Instant) (Offset, error) {
	least := max(before.Ahead-before.Error(at), after.Ahead-after.Error(at))
	most := min(before.Ahead+before.Error(at), after.Ahead+after.Error(at))
	if least > most {
		return Offset{}, fmt.Errorf("%w: %v ahead before, and %v after %v", ErrNonsense, before.Ahead, after.Ahead, after.At-before.At)
	}
	return Offset{Ahead: least + (most-least)/2, Bound: (most - least) / 2, At: at}, nil
}

// There is the other clock at an instant of this host's.
func (o Offset) There(here Instant) Instant { return here + o.Ahead }

// Here is this host's clock at an instant of the other.
func (o Offset) Here(there Instant) Instant { return there - o.Ahead }

var began = time.Now()

// Now is this process's clock: since it began, monotonic.
func Now() Instant { return time.Since(began) }

// At is this process's clock at a time that it read itself.
func At(t time.Time) Instant { return t.Sub(began) }

// spin is how long before an instant the wait for it is awake: a timer may be late by as much (Go's
// are up to 1 ms in an idle process, and an idle processor takes some time to wake up).
const spin = 2 * time.Millisecond

// Until waits until it is that instant of this process's clock, and gives when it woke up: some µs
// late where a processor is free. Its error is the context's.
func Until(ctx context.Context, at Instant) (woke Instant, err error) {
	if left := at - Now() - spin; left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return Now(), context.Cause(ctx)
		}
	}
	for woke = Now(); woke < at; woke = Now() {
		if ctx.Err() != nil {
			return woke, context.Cause(ctx)
		}
		runtime.Gosched() // others in this process may wait for the same instant
	}
	runtime.Gosched() // and look at their clocks before this one goes to work
	return woke, ctx.Err()
}
