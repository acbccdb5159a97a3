package stat

import (
	"math"
	"slices"
)

// Decision is what repeated runs say about a change.
type Decision string

// The decisions.
const (
	Better    Decision = "better"    // surely more than before, and by the smallest effect that matters
	Worse     Decision = "worse"     // surely less than before, and by as much
	Same      Decision = "same"      // surely within the smallest effect that matters, either way
	Undecided Decision = "undecided" // measure again
)

// Spend is how much of an error (0.05: 5 %) may be spent at one look of several
// at growing samples, so that all of them together err no more often. Asking again
// until the answer pleases finds differences where there are none; a look that is
// never made costs nothing. look counts from 1, looks is how many there can be.
//
// The looks get what the spending function of K. K. G. Lan and D. L. DeMets for
// equal shares adds from one to the next ("Discrete sequential boundaries for
// clinical trials", Biometrika 70, 1983). Each is held to its own share, so that
// their sum bounds the error however the looks depend on each other.
func Spend(allowed float64, look, looks int) float64 {
	spent := func(n int) float64 { return math.Log1p((math.E - 1) * float64(n) / float64(looks)) }
	return allowed * (spent(look) - spent(look-1))
}

// Decide compares repeated runs before and after a change. minEffect is the
// smallest relative difference that matters (0.03: 3 %), allowed the error that
// this one look may make (0.05: 5 %); of growing samples, see [Spend].
//
// A difference counts when the gain reaches minEffect and the interval excludes
// 1, or every run of one side is above every run of the other, which few runs do
// by chance (the exact test of H. B. Mann and D. R. Whitney, Annals of
// Mathematical Statistics 18, 1947, at its extreme). The second rule sees what
// the first is blind to: a change that frees a path also frees its noise, and
// runs between 1.2 and 3 times as fast as before are surely faster, however wide
// their interval. Sameness counts when the whole interval lies within minEffect
// (the two one-sided tests of D. J. Schuirmann, Journal of Pharmacokinetics and
// Biopharmaceutics 15, 1987, at half their usual error).
func Decide(before, after []float64, minEffect, allowed float64) (Decision, Effect) {
	e := RatioAt(1-allowed, before, after)
	margin := 1 + max(minEffect, 0)
	apart := chanceApart(len(before), len(after)) <= allowed
	switch {
	case e.Gain >= margin && (e.Low > 1 || apart && slices.Min(after) > slices.Max(before)):
		return Better, e
	case e.Gain <= 1/margin && (e.High < 1 || apart && slices.Max(after) < slices.Min(before)):
		return Worse, e
	case e.Low > 1/margin && e.High < margin:
		return Same, e
	}
	return Undecided, e
}

// chanceApart is the probability that all of n values come to lie on one side of
// all of m others although nothing distinguishes them: 2 of the ways to deal n + m
// values into two such hands. It is 1 if either side has no value.
func chanceApart(n, m int) float64 {
	if n == 0 || m == 0 {
		return 1
	}
	hands := 1.0
	for i := 1; i <= n; i++ {
		hands = hands * float64(m+i) / float64(i)
	}
	return 2 / hands
}
