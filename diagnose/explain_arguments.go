package diagnose

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// A reader takes an argument as an explanation has it: written out, or as
// another function gave it.
type reader[T any] func(any) (T, error)

func size(v any) (unit.Size, error) { return read(v, unit.ParseSize) }

func rate(v any) (unit.Rate, error) { return read(v, unit.ParseRate) }

func span(v any) (time.Duration, error) { return read(v, time.ParseDuration) }

func number(v any) (float64, error) {
	if n, ok := v.(int); ok {
		return float64(n), nil
	}
	return read(v, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
}

func read[T any](v any, parse func(string) (T, error)) (T, error) {
	if text, ok := v.(string); ok {
		return parse(text)
	}
	is, ok := v.(T)
	if !ok {
		return is, fmt.Errorf("%v is of type %T, not %T", v, v, is)
	}
	return is, nil
}

// with1, with2 and with3 make a function that templates can call of one that
// knows its types.
func with1[A, R any](a reader[A], f func(A) R) func(any) (R, error) {
	return func(x any) (r R, err error) {
		p, err := a(x)
		if err != nil {
			return r, err
		}
		return f(p), nil
	}
}

func with2[A, B, R any](a reader[A], b reader[B], f func(A, B) R) func(any, any) (R, error) {
	return func(x, y any) (r R, err error) {
		p, err := a(x)
		if err != nil {
			return r, err
		}
		return with1(b, func(q B) R { return f(p, q) })(y)
	}
}

func with3[A, B, C, R any](a reader[A], b reader[B], c reader[C], f func(A, B, C) R) func(any, any, any) (R, error) {
	return func(x, y, z any) (r R, err error) {
		p, err := a(x)
		if err != nil {
			return r, err
		}
		return with2(b, c, func(q B, s C) R { return f(p, q, s) })(y, z)
	}
}

// thousands writes a number with three significant digits, in groups:
// "503,000,000".
func thousands(v float64) string {
	if scale := math.Pow(10, math.Floor(math.Log10(v))-2); scale > 1 {
		v = math.Round(v/scale) * scale
	}
	digits := strconv.FormatFloat(v, 'f', 0, 64)
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
