package stat

import (
	"math"
	"slices"
)

// Ranked is the chance (0..1) that runs after a change rank at least as high above
// those before it if the change did nothing: the
// one-sided rank-sum test of F. Wilcoxon ("Individual comparisons by ranking
// methods", Biometrics Bulletin 1, 1945), exact by the counts of H. B. Mann and D.
// R. Whitney. An outlier moves it little, however far off it is. Equal
// runs count for neither side. It is 1 if a side has no runs.
func Ranked(before, after []float64) float64 {
	above := 0
	for _, b := range after {
		for _, a := range before {
			if b > a {
				above++
			}
		}
	}
	counts := deals(len(before), len(after))
	all, high := 0.0, 0.0
	for u, ways := range counts {
		all += ways
		if u >= above {
			high += ways
		}
	}
	return high / all
}

// deals gives in how many ways n and m values can be dealt so that u pairs of one
// each have the second above the first, for u from 0 to n·m. The highest value is
// either of the first n, above none, or of the other m, above all n.
func deals(n, m int) []float64 {
	rows := make([][][]float64, n+1)
	for i := range rows {
		rows[i] = make([][]float64, m+1)
		for j := range rows[i] {
			ways := make([]float64, i*j+1)
			if i == 0 || j == 0 {
				ways[0] = 1
				rows[i][j] = ways
				continue
			}
			for u, w := range rows[i-1][j] {
				ways[u] += w
			}
			for u, w := range rows[i][j-1] {
				ways[u+i] += w
			}
			rows[i][j] = ways
		}
	}
	return slices.Clone(rows[n][m])
}

// dixon are the shares of the range above which a gap below the least of 3, 4, ...
// values shows that it does not belong to the others, with 10 % error for an
// outlier on either side: R. B. Dean and W. J. Dixon, "Simplified statistics for
// small numbers of observations", Analytical Chemistry 23 (1951), table II, Q at 90 %.
var dixon = []float64{0.941, 0.765, 0.642, 0.560, 0.507, 0.468, 0.437, 0.412}

// Gathered gives runs without the slowest if that is an outlier: on logarithms, too
// far from the others to be one of them (Dixon's test). Of fewer than three runs, or
// more than ten, all are given. It is for choosing what to try next only, as leaving
// runs out makes an interval too narrow.
func Gathered(runs []float64) []float64 {
	sorted := slices.Sorted(slices.Values(runs))
	if n := len(runs); n < 3 || n-3 >= len(dixon) || !(sorted[0] > 0) {
		return runs
	}
	logs := logarithms(sorted, 0)
	if gap := logs[1] - logs[0]; gap <= dixon[len(runs)-3]*(logs[len(logs)-1]-logs[0]) {
		return runs
	}
	return sorted[1:]
}

// Rarer is the chance (0..1) of so few events in the second of two series if
// events came equally often in both: the conditional test of two Poisson rates
// (Przyborowski and Wilenski, Biometrika 31, 1940), in which the events of both
// together fall into the second with the probability of its share of the tries.
// It is 1 where nothing can be said: without events, or without tries.
func Rarer(events, tries, eventsThen, triesThen float64) float64 {
	n, k := math.Round(max(0, events)+max(0, eventsThen)), math.Round(max(0, eventsThen))
	if !(tries > 0 && triesThen > 0 && n+tries+triesThen < math.Inf(1)) { // also NaN
		return 1
	}
	share := triesThen / (tries + triesThen)
	if k > manyEvents { // then it is as good as normal (De Moivre and Laplace), and the sum would take long
		mean, deviation := n*share, math.Sqrt(n*share*(1-share))
		return math.Erfc((mean-k-0.5)/(deviation*math.Sqrt2)) / 2
	}
	sum := 0.0
	for i := 0.0; i <= k; i++ {
		sum += math.Exp(lchoose(n, i) + i*math.Log(share) + (n-i)*math.Log1p(-share))
	}
	return min(1, sum)
}

// manyEvents from which on a sum of their chances is not worth its time.
const manyEvents = 100_000

// lchoose is the logarithm of the number of ways to choose k of n.
func lchoose(n, k float64) float64 {
	all, _ := math.Lgamma(n + 1)
	in, _ := math.Lgamma(k + 1)
	out, _ := math.Lgamma(n - k + 1)
	return all - in - out
}
