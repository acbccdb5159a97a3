package unit

import "fmt"

// standstill is the gain from which there was almost nothing to compare with: the
// largest that a diagnosis predicts, of a transfer in which nothing arrived.
const standstill = 10_000

// Factor writes a gain, the new figure divided by the old, as a person would:
// "+5.0 %", "x 2.4", "x 120".
func Factor(gain float64) string {
	switch {
	case gain < 2:
		return fmt.Sprintf("%+.1f %%", 100*(gain-1))
	case gain < 100:
		return fmt.Sprintf("x %.3g", gain)
	case gain < standstill:
		return fmt.Sprintf("x %.0f", gain)
	}
	return "from next to nothing" // also where the old figure was 0
}

// Percent writes a share (1: all): "0.49 %", "12 %".
func Percent(share float64) string {
	switch p := 100 * share; {
	case p == 0:
		return "0 %"
	case p < 0.001:
		return "below 0.001 %"
	case p < 10:
		return fmt.Sprintf("%.2g %%", p)
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

// Count writes a number of things: "1 run", "3 runs".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
