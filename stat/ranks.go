package stat

import "slices"

// Ranked is the chance (0..1) that runs after a change come out at least as high
// above those before it, by their order alone, if the change did nothing: the
// one-sided rank-sum test of F. Wilcoxon ("Individual comparisons by ranking
// methods", Biometrics Bulletin 1, 1945), exact by the counts of H. B. Mann and D.
// R. Whitney. A run that goes astray moves it little, wherever it comes out. Equal
// runs count for neither side. It is 1 if a side has no runs.
func Ranked(before, after []float64) float64 {
	n, m := len(before), len(after)
	if n == 0 || m == 0 {
		return 1
	}
	above := 0
	for _, b := range after {
		for _, a := range before {
			if b > a {
				above++
			}
		}
	}
	counts := deals(n, m)
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

// Gathered gives runs without the slowest if that went astray: if it is, on
// logarithms, too far off the others to be one of them (Dixon's test). Of fewer
// than three runs, or more than ten, all are given. It is for finding out what to
// go on with; to leave runs out makes an interval too narrow.
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
