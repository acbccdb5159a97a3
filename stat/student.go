package stat

import "math"

// studentT is the t for which a Student-distributed value with df degrees of
// freedom (a real number of at least 1, as Welch's formula gives) lies within
// ±t with the given probability.
func studentT(df, probability float64) float64 {
	low, high := 0.0, math.Pi/2
	for range 40 { // halves the angle down to 1e-12
		if middle := (low + high) / 2; withinAngle(df, middle) < probability {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Sqrt(df) * math.Tan(low)
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
	upper, _ := math.Lgamma((df + 1) / 2)
	lower, _ := math.Lgamma(df / 2)
	return 2 * math.Exp(upper-lower) / math.Sqrt(math.Pi) * sum * step / 3
}
