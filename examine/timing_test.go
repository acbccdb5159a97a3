package examine

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/diagnose"
)

func TestTiming(t *testing.T) {
	for _, test := range []struct{ rtt, omit, measured time.Duration }{
		{100 * time.Microsecond, 500 * time.Millisecond, 1500 * time.Millisecond},
		{40 * time.Millisecond, 800 * time.Millisecond, 1500 * time.Millisecond},
		{150 * time.Millisecond, 3 * time.Second, 3 * time.Second},
		{time.Second, 5 * time.Second, 4 * time.Second},
	} {
		if omit, measured := Timing(test.rtt); omit != test.omit || measured != test.measured {
			t.Errorf("Timing(%v) = %v, %v, want %v, %v", test.rtt, omit, measured, test.omit, test.measured)
		}
	}
}

// What is promised: a verdict in 8 s of traffic on a LAN, in 20 s at 150 ms.
func TestDefaultBudget(t *testing.T) {
	for _, test := range []struct{ rtt, want time.Duration }{
		{0, 8 * s}, {200 * time.Microsecond, 8 * s}, {ms, 8 * s}, {75500 * time.Microsecond, 14 * s}, {150 * ms, 20 * s}, {time.Hour, 8*s + 12*s*299/149},
	} {
		if got := DefaultBudget(test.rtt).Round(ms); got != test.want.Round(ms) {
			t.Errorf("DefaultBudget(%v) = %v, want %v", test.rtt, got, test.want)
		}
	}
}

// On every path the usual budget allows the first transfer with two of the trials
// that tell losses apart (up to 75 ms with all three), or any other one; and no
// trial takes longer than the first transfer, or more than there is.
func TestTrialTiming(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rtt := time.Duration(rapid.Int64Range(0, int64(150*ms)).Draw(t, "rtt"))
		omit, measured := Timing(rtt)
		first := omit + measured
		const looks = 10 * ms // between the end of a transfer and when that is seen
		left := DefaultBudget(rtt) - first - rtt - looks
		for _, kind := range []diagnose.TrialKind{diagnose.TrialLonger, diagnose.TrialSegment, diagnose.TrialDepth} {
			if omit, measured, ok := trialTiming(kind, rtt, left); !ok || omit+measured > left {
				t.Errorf("%s: %v + %v of %v", kind, omit, measured, left)
			}
		}
		kinds := []diagnose.TrialKind{diagnose.TrialPaced, diagnose.TrialCongestion, diagnose.TrialStreams}
		if rtt > 75*ms {
			kinds = kinds[:2]
		}
		for _, kind := range kinds {
			omit, measured, ok := trialTiming(kind, rtt, left)
			if !ok || omit <= 0 || measured < leastMeasured || omit+measured > first {
				t.Errorf("%s: %v + %v, first %v, left %v", kind, omit, measured, first, left)
			}
			left -= omit + measured + rtt + looks
		}
		if left < 0 {
			t.Errorf("%v over the budget", -left)
		}
	})
}
