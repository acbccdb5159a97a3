package stat

import (
	"math"
	"math/rand/v2"
	"slices"
)

// fewestOfLevel is how many values a level has at least: of fewer, chance alone
// makes one too often.
const fewestOfLevel = 4

// permutations of the test: with 199, one in 200 orders is the least that it can
// tell apart, and its level of 1 % needs no more (Hope, "A Simplified Monte Carlo
// Significance Test Procedure", 1968).
const permutations = 199

// alpha is the chance of a level that is none.
const alpha = 0.01

// Levels says where a series of values, in the order in which they were measured,
// moved to another level: the indices of the first value of each new one. It knows no
// thresholds, but adapts to the noise: E-divisive (Matteson and James, "A
// Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data",
// JASA 109, 2014), with the energy distance between what is before and after a
// point, and a permutation test of the largest at 1 %. The same values always give
// the same answer. It takes time with the square of their number.
func Levels(values []float64) []int {
	var points []int
	random := rand.New(rand.NewPCG(1, uint64(len(values))))
	segments := [][2]int{{0, len(values)}}
	for len(segments) > 0 {
		from, to := segments[0][0], segments[0][1]
		segments = segments[1:]
		at, distance := split(values[from:to])
		if distance <= 0 || !significant(values[from:to], distance, random) {
			continue
		}
		points = append(points, from+at)
		segments = append(segments, [2]int{from, from + at}, [2]int{from + at, to})
	}
	slices.Sort(points)
	return points
}

// significant says whether values in another order rarely have as large a distance.
func significant(values []float64, distance float64, random *rand.Rand) bool {
	shuffled := slices.Clone(values)
	asLarge := 0
	for range permutations {
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if _, d := split(shuffled); d >= distance {
			asLarge++
		}
		if float64(asLarge+1) > alpha*(permutations+1) {
			return false // whatever the others say
		}
	}
	return true
}

// split finds where values first move to another level: the index of the first
// value after it, and the energy distance there, 0 if there are too few values. What is
// after the point may end anywhere, since a level that comes back would hide the one
// between.
//
// With n values before and m after, the distance is n m / (n + m) times twice the mean
// of |x - y| between the parts less the mean within each.
func split(x []float64) (at int, distance float64) {
	n := len(x)
	// Sums of |x[i] - x[j]| over pairs, by the index of the point: within what is before
	// it, within what is after, and between the two.
	before, after, between := make([]float64, n+1), make([]float64, n+1), make([]float64, n+1)
	for end := range n { // the last value that counts
		all := 0.0
		for i := range end {
			all += math.Abs(x[i] - x[end])
		}
		before[end+1] = before[end] + all
		sum := 0.0
		for point := 1; point <= end; point++ {
			sum += math.Abs(x[point-1] - x[end])
			between[point] += sum
			after[point] += all - sum
			p, q := float64(point), float64(end+1-point)
			if point < fewestOfLevel || end+1-point < fewestOfLevel {
				continue
			}
			energy := p * q / (p + q) * (2*between[point]/(p*q) - before[point]/pairs(p) - after[point]/pairs(q))
			if energy > distance {
				at, distance = point, energy
			}
		}
	}
	return at, distance
}

// pairs of so many values.
func pairs(n float64) float64 { return n * (n - 1) / 2 }
