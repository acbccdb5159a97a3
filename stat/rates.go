package stat

import "math"

// Rarer is the chance (0..1) of so few events in the second of two series if
// events came equally often in both: the conditional test of two Poisson rates
// (Przyborowski and Wilenski, Biometrika 31, 1940), in which the events of both
// together fall into the second with the probability of its share of the tries.
// It is 1 where nothing can be told: without events, or without tries.
func Rarer(events, tries, eventsThen, triesThen float64) float64 {
	n, k := math.Round(max(0, events)+max(0, eventsThen)), math.Round(max(0, eventsThen))
	if !(n > 0 && tries > 0 && triesThen > 0) || math.IsInf(n+tries+triesThen, 0) {
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
