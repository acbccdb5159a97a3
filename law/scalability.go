package law

import (
	"errors"
	"math"
	"slices"
)

// Scalability is the Universal Scalability Law: with n processors or connections at
// work, the rate is n·One / (1 + Contention·(n-1) + Coherency·n·(n-1)). Contention is
// the share of the work that only one can do at a time, as in Amdahl's law; Coherency
// is what each pair costs to agree, which makes the rate fall again beyond a peak
// (N. J. Gunther, "Guerrilla Capacity Planning", 2007, chapter 4; "A general theory of
// computational scalability based on rational functions", arXiv:0808.1431, 2008).
type Scalability struct {
	One        float64 `json:"one"`        // rate of one, in the unit of what was fitted
	Contention float64 `json:"contention"` // sigma, 0 and up
	Coherency  float64 `json:"coherency"`  // kappa, 0 and up
}

// At is the rate with n at work, n at least 1.
func (s Scalability) At(n float64) float64 {
	return n * s.One / (1 + s.Contention*(n-1) + s.Coherency*n*(n-1))
}

// Peak is the n beyond which the rate falls; infinite if it never does.
func (s Scalability) Peak() float64 {
	if s.Coherency <= 0 {
		return math.Inf(1)
	}
	return math.Sqrt(max(0, 1-s.Contention) / s.Coherency)
}

// ErrFew says that there are fewer different n than a fit has to find, and one to
// contradict it.
var ErrFew = errors.New("the scalability law has three numbers to find: at least four different values are needed")

// ErrNone says that rates are not like those of any scalability law.
var ErrNone = errors.New("no scalability law fits these rates")

// FewestForFit is how many different n a fit needs.
const FewestForFit = 4

// Fit finds the law that fits rates measured with n at work best, in the sense of
// least squares of relative deviations.
//
// With a = 1/One the law is n/rate = a + a·Contention·(n-1) + a·Coherency·n·(n-1),
// which is linear in three numbers that must not be negative. A deviation of n/rate is
// as large in proportion as one of the rate, so each equation is divided by its left
// side. Each number may be held at 0, which makes seven cases; the best of those without
// a negative number is the solution (the conditions of Karush, Kuhn and Tucker; C. L.
// Lawson and R. J. Hanson, "Solving least squares problems", 1974, chapter 23). Rates
// that would have one alone infinitely fast are refused.
func Fit(n, rates []float64) (Scalability, error) {
	var rows [][3]float64
	different := map[float64]bool{}
	for i := range min(len(n), len(rates)) {
		if !(n[i] >= 1 && rates[i] > 0) || math.IsInf(n[i], 0) || math.IsInf(rates[i], 0) {
			continue
		}
		different[n[i]] = true
		scale := rates[i] / n[i]
		rows = append(rows, [3]float64{scale, scale * (n[i] - 1), scale * n[i] * (n[i] - 1)})
	}
	if len(different) < FewestForFit {
		return Scalability{}, ErrFew
	}
	best, least := [3]float64{}, math.Inf(1)
	for _, free := range [][]int{{0}, {0, 1}, {0, 2}, {0, 1, 2}, {1}, {2}, {1, 2}} {
		x, off, ok := leastSquares(rows, free)
		if ok && off < least && min(x[0], x[1], x[2]) >= 0 {
			best, least = x, off
		}
	}
	if best[0] == 0 {
		return Scalability{}, ErrNone
	}
	return Scalability{1 / best[0], best[1] / best[0], best[2] / best[0]}, nil
}

// leastSquares finds x, of which only the free ones are not 0, so that each row times
// x is nearest to 1, and the sum of the squares of what remains. The columns are made
// orthogonal one after the other (Gram and Schmidt, modified), which keeps the digits
// that the normal equations would lose.
func leastSquares(rows [][3]float64, free []int) (x [3]float64, off float64, ok bool) {
	columns := make([][]float64, len(free))
	for j, f := range free {
		columns[j] = make([]float64, len(rows))
		for i := range rows {
			columns[j][i] = rows[i][f]
		}
	}
	rest := slices.Repeat([]float64{1}, len(rows))
	upper := make([][]float64, len(free)) // of the triangle
	right := make([]float64, len(free))
	for j, q := range columns {
		before := dot(q, q)
		upper[j] = make([]float64, len(free))
		for k := range j {
			upper[k][j] = dot(columns[k], q)
			along(q, columns[k], -upper[k][j])
		}
		length := math.Sqrt(dot(q, q))
		if !(length > 1e-9*math.Sqrt(before)) { // the same as those before it
			return x, 0, false
		}
		upper[j][j] = length
		for i := range q {
			q[i] /= length
		}
		right[j] = dot(q, rest)
		along(rest, q, -right[j])
	}
	for j, f := range slices.Backward(free) {
		v := right[j]
		for k := j + 1; k < len(free); k++ {
			v -= upper[j][k] * x[free[k]]
		}
		x[f] = v / upper[j][j]
	}
	return x, dot(rest, rest), true
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// along adds to a the part-fold of b.
func along(a, b []float64, part float64) {
	for i := range a {
		a[i] += part * b[i]
	}
}
