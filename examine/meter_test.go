package examine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// What a transfer takes of the budget goes by those before it: the most that one
// took beside its own time, of those that came to their end.
func TestMeterExpects(t *testing.T) {
	const rtt, omit, measured = 20 * ms, s, 2 * s
	beside, fails := time.Duration(0), error(nil)
	far := newFake(t, func(_ context.Context, spec bulk.Spec, _ func(bulk.Progress)) (*bulk.Result, error) {
		time.Sleep(spec.Omit + spec.Duration + beside)
		return moved(spec, 8000), fails
	})
	synctest.Test(t, func(t *testing.T) {
		m := NewMeter(far, rtt, time.Hour, silent{})
		for _, test := range []struct {
			beside time.Duration
			fails  error
			want   time.Duration // beside omitted and measured time, of the next one
		}{
			{0, nil, 6 * rtt}, // as many round trips as it takes at least
			{s, nil, s},
			{s / 2, nil, s}, // the most counts
			{5 * s, errors.New("refused"), s},
			{2 * s, nil, 2 * s},
		} {
			beside, fails = test.beside, test.fails
			m.Move(t.Context(), bulk.Spec{Direction: bulk.Forward, Streams: 1, Omit: omit, Duration: measured}, time.Hour)
			if got := m.Expect(omit, measured) - omit - measured; got != test.want {
				t.Errorf("after one that took %v more (error %v): %v, want %v", test.beside, test.fails, got, test.want)
			}
		}
		if want := (Spent{5*(omit+measured) + 8500*ms, 5 * 2000}); m.Spent() != want || m.Left() != time.Hour-want.Time {
			t.Errorf("spent %+v, left %v, want %+v", m.Spent(), m.Left(), want)
		}
	})
	if got, want := (Spent{1, 20}).Add(Spent{300, 4000}), (Spent{301, 4020}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A transfer in which nothing arrives is stopped after three seconds and two round
// trips, to the look; whoever watches sees every look.
func TestMeterStops(t *testing.T) {
	const rtt = 50 * ms
	far := newFake(t, standsStill)
	synctest.Test(t, func(t *testing.T) {
		var seen counter
		m := NewMeter(far, rtt, time.Hour, &seen)
		r := m.Move(t.Context(), bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: time.Minute}, time.Hour)
		if !errors.Is(r.Err, errStalled) || r.Spent.Time != 3100*ms || seen.told != 31 {
			t.Errorf("error %v after %v, with %d looks", r.Err, r.Spent.Time, seen.told)
		}
	})
}
