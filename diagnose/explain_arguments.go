package diagnose

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// The functions of explanations take their arguments as they are written, "1gbit",
// or as another function gave them. What is neither is a panic with an error,
// which text/template makes the error of the whole text.

func size(v any) unit.Size { return argument(v, unit.ParseSize) }

func rate(v any) unit.Rate { return argument(v, unit.ParseRate) }

func span(v any) time.Duration { return argument(v, time.ParseDuration) }

func number(v any) float64 {
	if n, ok := v.(int); ok {
		return float64(n)
	}
	return argument(v, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
}

func argument[T any](v any, parse func(string) (T, error)) T {
	is, ok := v.(T)
	if ok {
		return is
	}
	text, ok := v.(string)
	if !ok {
		panic(fmt.Errorf("%v is of type %T, not %T", v, v, is))
	}
	is, err := parse(text)
	if err != nil {
		panic(err)
	}
	return is
}

// thousands writes a number with three significant digits, in groups:
// "503,000,000".
func thousands(v float64) string {
	scale := max(1, math.Pow(10, math.Floor(math.Log10(v))-2))
	digits := strconv.FormatFloat(math.Round(v/scale)*scale, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// duration writes seconds as "72 ms" or "1.5 s".
func duration(seconds float64) string {
	if seconds >= 1 {
		return fmt.Sprintf("%.2g s", seconds)
	}
	return unit.Milliseconds(time.Duration(seconds * float64(time.Second)))
}
