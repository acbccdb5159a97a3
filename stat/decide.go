package stat

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
// A difference counts when the interval excludes 1 and the gain reaches
// minEffect; sameness counts when the whole interval lies within minEffect (the
// two one-sided tests of D. J. Schuirmann, Journal of Pharmacokinetics and
// Biopharmaceutics 15, 1987, at half their usual error).
func Decide(before, after []float64, minEffect float64, looks int) (Decision, Effect) {
	looks = min(max(looks, 1), MaxLooks)
	e := RatioAt(1-pocock[looks], before, after)
	margin := 1 + max(minEffect, 0)
	switch {
	case e.Low > 1 && e.Gain >= margin:
		return Better, e
	case e.High < 1 && e.Gain <= 1/margin:
		return Worse, e
	case e.Low > 1/margin && e.High < margin:
		return Same, e
	}
	return Undecided, e
}
