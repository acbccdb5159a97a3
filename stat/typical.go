package stat

import "math"

// Interval is a typical value of repeated runs, with the interval that holds the
// true one with the stated confidence.
type Interval struct {
	Typical float64 `json:"typical"` // geometric mean
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

// Typical is the typical value of one set of repeated runs, with its 95 %
// confidence interval.
//
// It is the geometric mean with Student's interval, on logarithms, for the
// reasons that [RatioAt] gives: rates scatter in proportion to themselves
// (Student, "The probable error of a mean", Biometrika 6, 1908). The order
// statistics of the median, which assume no distribution at all, need six runs
// before their widest interval holds with 95 % (the chance that six runs all lie
// on one side of the median is 2/2^6; H. A. David and H. N. Nagaraja, "Order
// Statistics", 2003, section 7.1), and then stretch from the least to the most.
//
// One run has an interval without bounds, as has nothing, or a run that moved
// nothing among others that did.
func Typical(runs []float64) Interval { return typicalAt(0.95, runs) }

func typicalAt(confidence float64, runs []float64) Interval {
	top := largest(runs)
	if top == 0 {
		return Interval{}
	}
	m := average(logarithms(runs, top/beyond), 0)
	typical := math.Exp(m.value)
	half := math.Inf(1)
	if m.df > 0 {
		half = math.Sqrt(m.variance) * studentT(m.df, confidence)
	}
	return Interval{Typical: typical, Low: typical * factor(-half), High: typical * factor(half)}
}

// Within says whether the whole interval lies within a share (0.02: 2 %) of the
// typical value.
func (i Interval) Within(share float64) bool {
	return i.Typical > 0 && i.Low >= i.Typical*(1-share) && i.High <= i.Typical*(1+share)
}

// Runs that are repeated until they agree are at least and at most so many, as
// those of netperf's -I (its manual, section 4.1). Fewer than three say next to
// nothing about their scatter; what 30 do not settle is not settled by more, as
// the scatter is no longer that of the runs but of the path.
const (
	FewestRuns = 3
	MostRuns   = 30
)

// settledAt is the confidence of the interval that runs are repeated until. Runs
// that happen to lie close together end the repetition, so that an interval of
// 95 % would hold in 92 % of cases; with this one the typical value is within
// the share of the true one in 95 % (this package's simulation; the same is
// known of all such rules: Y. S. Chow and H. Robbins, "On the asymptotic theory
// of fixed-width sequential confidence intervals for the mean", Annals of
// Mathematical Statistics 36, 1965).
const settledAt = 0.97

// Settled says of runs that are repeated, and looked at after each, that there
// are enough: their typical value is now within the share (0.02: 2 %) of the
// true one, with 95 % confidence.
func Settled(runs []float64, share float64) bool {
	return len(runs) >= FewestRuns && typicalAt(settledAt, runs).Within(share)
}

// SettledRatio says the same of the ratio of two sets of runs.
func SettledRatio(before, after []float64, share float64) bool {
	if min(len(before), len(after)) < FewestRuns {
		return false
	}
	e := RatioAt(settledAt, before, after)
	return Interval{e.Gain, e.Low, e.High}.Within(share)
}

// studentT is the t for which a Student-distributed value with df degrees of
// freedom (a real number of at least 1, as Welch's formula gives) lies within
// ±t with the given probability.
func studentT(df, probability float64) float64 {
	// The density falls with the angle, so that Newton's steps come to it from
	// below, and never go beyond it.
	angle := 0.0
	for range 40 {
		step := (probability - withinAngle(df, angle)) / densityAt(df, angle)
		angle += step
		if step < 1e-12 {
			break
		}
	}
	return math.Sqrt(df) * math.Tan(angle)
}

// withinAngle is the probability that |T| < sqrt(df)·tan(angle). With that
// substitution the density of T becomes a power of the cosine, which is smooth
// and bounded for every df >= 1, so that Simpson's rule is exact to many digits
// where series for the incomplete beta function need care.
func withinAngle(df, angle float64) float64 {
	const panels = 40
	step := angle / panels
	sum := 1 + math.Pow(math.Cos(angle), df-1)
	for i := 1; i < panels; i++ {
		weight := 2.0
		if i%2 == 1 {
			weight = 4
		}
		sum += weight * math.Pow(math.Cos(float64(i)*step), df-1)
	}
	return densityAt(df, 0) * sum * step / 3
}

// densityAt is how fast withinAngle grows at an angle.
func densityAt(df, angle float64) float64 {
	upper, _ := math.Lgamma((df + 1) / 2)
	lower, _ := math.Lgamma(df / 2)
	return 2 * math.Exp(upper-lower) / math.Sqrt(math.Pi) * math.Pow(math.Cos(angle), df-1)
}
