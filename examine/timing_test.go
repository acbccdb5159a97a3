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

// Where the path was not probed, or no handshake was timed, its round trip is taken
// to be a long one.
func TestRoundTrip(t *testing.T) {
	if got := roundTrip(&diagnose.Evidence{}); got != assumedRTT {
		t.Errorf("no path: %v", got)
	}
	for median, want := range map[time.Duration]time.Duration{-1: assumedRTT, 0: assumedRTT, 1: 1, 20 * ms: 20 * ms} {
		if got := roundTrip(evidence(median)); got != want {
			t.Errorf("median %v: %v, want %v", median, got, want)
		}
	}
}

// What a trial's times are where just so much, or a moment less, is left. At 20 ms
// the first transfer takes 0.5 s and 1.5 s, and getting it under way and stopped
// takes 0.36 s more.
func TestTrialTimingBorders(t *testing.T) {
	const rtt, around = 20 * ms, 360 * ms
	for _, test := range []struct {
		kind           diagnose.TrialKind
		left           time.Duration
		omit, measured time.Duration // 0: there is no time for it
	}{
		{diagnose.TrialPaced, 2000 * ms, 500 * ms, 1500 * ms},
		{diagnose.TrialPaced, 2000*ms - 1, 400 * ms, 1300 * ms}, // the shortest that will do
		{diagnose.TrialPaced, 1700 * ms, 400 * ms, 1300 * ms},
		{diagnose.TrialPaced, 1700*ms - 1, 0, 0},
		{diagnose.TrialDepth, 2000 * ms, 500 * ms, 1500 * ms}, // has no shorter one
		{diagnose.TrialDepth, 2000*ms - 1, 0, 0},
		{diagnose.TrialAgain, 3000 * ms, 1000 * ms, 1500 * ms}, // twice the time to begin with
		{diagnose.TrialAgain, 2200 * ms, 700 * ms, 1500 * ms},  // or as much of it as there is
		{diagnose.TrialAgain, 2000 * ms, 500 * ms, 1500 * ms},
		{diagnose.TrialAgain, 2000*ms - 1, 0, 0},
		{diagnose.TrialLonger, 2000 * ms, 1000 * ms, 1000 * ms}, // begins where the first one's had been under way for as long again
		{diagnose.TrialLonger, 2000*ms - 2, 0, 0},
	} {
		omit, measured, ok := trialTiming(test.kind, rtt, test.left+around)
		if ok != (test.measured > 0) || ok && (omit != test.omit || measured != test.measured) {
			t.Errorf("%s, %v left: %v + %v, %v; want %v + %v", test.kind, test.left, omit, measured, ok, test.omit, test.measured)
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
