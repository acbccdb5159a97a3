package twin

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Knowledge is how a value is known.
type Knowledge string

// The ways to know, best first.
const (
	Measured Knowledge = "measured" // directly, with an interval where one can be given
	Inferred Knowledge = "inferred" // from what was measured, by a law or a model
	AtLeast  Knowledge = "at least" // it may be more
	AtMost   Knowledge = "at most"  // it may be less, or nothing
	Assumed  Knowledge = "assumed"  // nothing shows it
)

// Key is one value of the scenario and what is known of it.
type Key struct {
	Key   string    `json:"key"`             // "path.a_to_b.rate"
	Value string    `json:"value,omitempty"` // as the scenario has it; empty: the key is left out
	How   Knowledge `json:"known"`
	Low   string    `json:"low,omitempty"` // of the interval, or the bound
	High  string    `json:"high,omitempty"`
	Why   string    `json:"why"`

	at []string // the names of Key: those of sysctls have dots
}

func (k *Key) name() { k.Key = strings.Join(k.at, ".") }

// Known says how the value is known, with its interval: "measured, 99.9 Mb/s to 100 Mb/s".
func (k *Key) Known() string {
	switch {
	case k.Low != "" && k.High != "" && k.Low != k.High:
		return fmt.Sprintf("%s, %s to %s", k.How, k.Low, k.High)
	case k.How == AtLeast && k.Low != "":
		return fmt.Sprintf("%s %s", k.How, k.Low)
	case k.How == AtMost && k.High != "":
		return fmt.Sprintf("%s %s", k.How, k.High)
	}
	return string(k.How)
}

// Values as a scenario writes them, with four digits: more is beyond what any of them
// is known.

// rate writes one within what a scenario takes.
func rate(r unit.Rate) string {
	v := clamp(float64(r), 1e3, 9.99e12)
	switch {
	case v >= 1e9:
		return digits(v/1e9) + "gbit"
	case v >= 1e6:
		return digits(v/1e6) + "mbit"
	}
	return digits(v/1e3) + "kbit"
}

// span writes a time of up to 10 s, which is the most that a scenario delays.
func span(d time.Duration) string {
	v := clamp(float64(d), 0, float64(10*time.Second))
	switch {
	case v >= float64(time.Second):
		return digits(v/1e9) + "s"
	case v >= float64(time.Millisecond):
		return digits(v/1e6) + "ms"
	case v == 0:
		return "0s"
	}
	return digits(math.Ceil(v/1e3)) + "us"
}

// size writes bytes, at least so many.
func size(bytes, least float64) string {
	v := clamp(bytes, least, 1e12)
	switch {
	case v >= 10e6:
		return digits(v/1e6) + "MB"
	case v >= 10e3:
		return digits(v/1e3) + "KB"
	}
	return fmt.Sprintf("%.0f", math.Ceil(v))
}

// share writes 0 to 1 as a percentage.
func share(p float64) string { return digits(100*clamp(p, 0, 1)) + "%" }

// digits writes a number with up to four of them, without an exponent.
func digits(v float64) string {
	if v == 0 {
		return "0"
	}
	places := max(0, 3-int(math.Floor(math.Log10(math.Abs(v)))))
	text := fmt.Sprintf("%.*f", min(places, 9), v)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// clamp keeps a figure within bounds; what is no number is the least.
func clamp(v, least, most float64) float64 {
	if !(v >= least) { // also NaN
		return least
	}
	return min(v, most)
}

// counted is the 95 % interval of a count of rare, independent events: its square root
// is nearly normal with a deviation of one half (Anscombe, Biometrika 35, 1948).
func counted(events float64) (low, high float64) {
	root := math.Sqrt(events + 3.0/8)
	least, most := max(0, root-0.98), root+0.98
	return least * least, most * most
}
