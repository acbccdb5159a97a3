package stat

import (
	"math"
	"slices"
)

// Effect is how much a change multiplied a figure, with the interval that holds
// the true factor with the stated confidence.
type Effect struct {
	Gain float64 `json:"gain"` // 1: no difference
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// beyond is where a factor stops meaning anything: an interval is cut off at
// 1/beyond and beyond, which also stand for "no idea" and keep JSON finite.
const beyond = 1e6

// noIdea is the effect when nothing is known of it.
var noIdea = Effect{Gain: 1, Low: 1 / beyond, High: beyond}

// Ratio is after divided by before, for two sets of repeated runs, with its
// 95 % confidence interval. See RatioAt.
func Ratio(before, after []float64) Effect { return RatioAt(0.95, before, after) }

// RatioAt is Ratio with another confidence (0..1).
//
// The gain is the ratio of geometric means and the interval is Welch's, on
// logarithms: rates of repeated runs scatter in proportion to themselves, the
// two sides scatter differently (a transfer held by a fixed window almost not at
// all), and a ratio of rates is a difference of logarithms (B. L. Welch, "The
// generalization of Student's problem when several different population
// variances are involved", Biometrika 34, 1947). A bootstrap interval is the
// usual alternative, but with the two to five runs a side that a tuner can
// afford it is far too narrow (T. Hesterberg, "What teachers should know about
// the bootstrap", The American Statistician 69, 2015, section 4; 66 % instead of
// 95 % with two runs a side in this package's coverage test).
//
// A side of one run says nothing about its own scatter, and the other side's says
// nothing about it either: the interval has no bounds then. A run that moved
// nothing counts as a millionth of the largest. With no run on a side the gain is
// 1 and the interval has no bounds.
func RatioAt(confidence float64, before, after []float64) Effect {
	return ratio(confidence, before, after, func(int) int { return 0 })
}

// TrimmedRatioAt is RatioAt for runs with occasional outliers: from
// six runs a side on, the least and the greatest are left out (see trimmed), and
// the interval is Yuen's (K. K. Yuen, "The two-sample trimmed t for unequal
// population variances", Biometrika 61, 1974).
func TrimmedRatioAt(confidence float64, before, after []float64) Effect {
	return ratio(confidence, before, after, trimmed)
}

// PairedAt is the factor between two series of paired runs, the first of before with
// the first of after and so on, with its interval at a confidence (0..1). A drift
// that is slow compared with the time a pair takes cancels out. The interval is Student's, on the logarithms of the pairs'
// ratios; from six pairs on the least and the greatest are left out (see
// trimmed), as J. W. Tukey and D. H. McLaughlin have it ("Less vulnerable
// confidence and significance procedures for location based on a single sample",
// Sankhya A 25, 1963). It holds even if the two sides scatter differently.
//
// With fewer than two pairs the interval has no bounds; runs without a partner
// are left out.
func PairedAt(confidence float64, before, after []float64) Effect {
	n := min(len(before), len(after))
	floor := max(largest(before[:n]), largest(after[:n])) / beyond
	if floor == 0 {
		return noIdea
	}
	differences := logarithms(after[:n], floor)
	for i, x := range logarithms(before[:n], floor) {
		differences[i] -= x
	}
	m := average(differences, trimmed(n))
	return effect(confidence, m.value, m.variance, m.df)
}

// trimmed is how many of n runs are left out at each end: a fifth, as Yuen has it,
// and at least one from six on, so that four are left. One run in twenty is an outlier
// on real paths, and so one pair in ten contains one.
func trimmed(n int) int {
	if n < 6 {
		return 0
	}
	return n / 5
}

func ratio(confidence float64, before, after []float64, trim func(n int) int) Effect {
	floor := max(largest(before), largest(after)) / beyond
	if floor == 0 || len(before) == 0 || len(after) == 0 {
		return noIdea
	}
	a := average(logarithms(before, floor), trim(len(before)))
	b := average(logarithms(after, floor), trim(len(after)))
	if a.df == 0 || b.df == 0 {
		return effect(confidence, b.value-a.value, 0, 0)
	}
	variance, df := a.variance+b.variance, a.df+b.df
	if variance > 0 { // Welch and Satterthwaite
		df = variance * variance / (a.variance*a.variance/a.df + b.variance*b.variance/b.df)
	}
	return effect(confidence, b.value-a.value, variance, df)
}

// effect is Student's interval around a mean of logarithms, of which the variance
// and its degrees of freedom are known; 0 degrees: nothing is.
func effect(confidence, mean, variance, df float64) Effect {
	half := math.Inf(1)
	if df > 0 {
		half = math.Sqrt(variance) * studentT(df, confidence)
	}
	return Effect{Gain: factor(mean), Low: factor(mean - half), High: factor(mean + half)}
}

// factor turns a difference of logarithms into a ratio, cut off at beyond.
func factor(difference float64) float64 {
	return min(max(math.Exp(difference), 1/beyond), beyond)
}

// mean is what a formula needs to know of one set of numbers.
type mean struct {
	value    float64
	variance float64 // of the mean itself
	df       float64 // degrees of freedom of that; 0 with a single number
}

// average is the mean of x with so many left out at each end. The variance is
// that of the winsorised numbers: each one left out counts as the nearest that is
// not (Yuen's; with none left out it is the usual one).
func average(x []float64, cut int) mean {
	sorted := slices.Sorted(slices.Values(x))
	kept := sorted[cut : len(sorted)-cut]
	m := mean{value: Mean(kept), df: float64(len(kept) - 1)}
	if m.df == 0 {
		return m
	}
	for i := range cut {
		sorted[i], sorted[len(sorted)-1-i] = kept[0], kept[len(kept)-1]
	}
	middle, squares := Mean(sorted), 0.0
	for _, v := range sorted {
		squares += (v - middle) * (v - middle)
	}
	m.variance = squares / (float64(len(kept)) * m.df)
	return m
}

// logarithms of rates; what is not above the floor counts as that.
func logarithms(x []float64, floor float64) []float64 {
	logs := make([]float64, len(x))
	for i, v := range x {
		if !(v > floor) { // also NaN
			v = floor
		}
		logs[i] = math.Log(v)
	}
	return logs
}

// largest finite value of x, 0 if there is none above.
func largest(x []float64) float64 {
	m := 0.0
	for _, v := range x {
		if v > m && !math.IsInf(v, 1) {
			m = v
		}
	}
	return m
}

// Within adds the scatter of repeated runs of one configuration to that of others:
// the squares of what the logarithms are off their mean, and how many of them are
// free to be. The root of squares / free is the standard deviation of a run.
func Within(runs []float64, squares, free float64) (moreSquares, moreFree float64) {
	top := largest(runs)
	if len(runs) < 2 || top == 0 {
		return squares, free
	}
	m := average(logarithms(runs, top/beyond), 0)
	return squares + m.variance*float64(len(runs))*m.df, free + m.df
}

// unknownScatter is the scatter assumed where nothing was measured twice.
const unknownScatter = 0.15

// Scatter of one run, as standard deviation of its logarithm: that within the settings that
// were measured more than once, all together. Of few runs it may have come out far too
// small by chance.
func Scatter(settings [][]float64) float64 {
	var squares, df float64
	for _, runs := range settings {
		squares, df = Within(runs, squares, df)
	}
	if df == 0 {
		return unknownScatter
	}
	return math.Sqrt(squares/df) * (1 + 2/df)
}

// enough is the part of a gain that half the interval of it may be, so that it is
// seen in nearly all cases (see PairsFor).
const enough = 0.6

// PairsFor is how many pairs of runs (see PairedAt) should show a gain, given as a
// logarithm, where the logarithm of a run has the standard deviation scatter: enough
// that half the interval is 0.6 of the gain, and between least and most.
func PairsFor(gain, scatter, confidence float64, least, most int) int {
	n := least
	for n < most && !(studentT(float64(n-1), confidence)*scatter*math.Sqrt2/math.Sqrt(float64(n)) <= enough*math.Abs(gain)) {
		n++
	}
	return n
}
