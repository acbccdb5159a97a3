package stat

import "slices"

// Decision is what repeated runs say about a change.
type Decision string

// The decisions.
const (
	Better    Decision = "better"    // surely more than before, and by the smallest effect that matters
	Worse     Decision = "worse"     // surely less than before, and by as much
	Same      Decision = "same"      // surely within the smallest effect that matters, either way
	Undecided Decision = "undecided" // measure again
)

// pocock is the error allowed at each look so that all looks together err in 5 %
// of cases: S. J. Pocock, "Group sequential methods in the design and analysis
// of clinical trials", Biometrika 64 (1977), table 1; index is the number of
// looks.
var pocock = []float64{0.05, 0.05, 0.0294, 0.0221, 0.0182, 0.0158, 0.0142, 0.0130, 0.0120, 0.0112, 0.0106}

// MaxLooks is how often Decide may be asked about growing samples of the same
// runs before its 5 % no longer hold.
const MaxLooks = 10

// Decide compares repeated runs before and after a change. minEffect is the
// smallest relative difference that matters (0.03: 3 %). looks says how many
// times, at most, the caller means to ask as its runs accumulate (1..MaxLooks):
// asking again until the answer pleases finds differences where there are none,
// so every look is held to a stricter confidence.
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
func Decide(before, after []float64, minEffect float64, looks int) (Decision, Effect) {
	looks = min(max(looks, 1), MaxLooks)
	e := RatioAt(1-pocock[looks], before, after)
	margin := 1 + max(minEffect, 0)
	apart := chanceApart(len(before), len(after)) <= pocock[looks]
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
// all of m others although nothing tells them apart: 2 of the ways to deal n + m
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
