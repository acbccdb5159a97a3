package sweep

import (
	"fmt"
	"math"
	"strconv"
)

// Range is {from: 16KiB, to: 1MiB, step: x2}.
type Range struct {
	From, To Value
	Step     string // "x2" or "+1"; "": of a search
	times    float64
	plus     float64
}

// fromRange reads {from, to, step}.
func (f *Factor) fromRange(from, to, step string) (err error) {
	if f.kind == Name {
		return fmt.Errorf("%s has words, which have no range: list them", f.name)
	}
	r := &Range{Step: step}
	if r.From, err = f.read(from); err != nil {
		return fmt.Errorf("from: %w", err)
	}
	if r.To, err = f.read(to); err != nil {
		return fmt.Errorf("to: %w", err)
	}
	switch {
	case !r.To.IsNumber() && r.To.Word != allOfCPU:
		return fmt.Errorf("the range of %s ends with %q: use a number", f.name, to)
	case !r.From.IsNumber() && (step != "" || !r.From.Present()):
		return fmt.Errorf("the range of %s begins with %q: use a number", f.name, from)
	case r.From.Number > r.To.Number:
		return fmt.Errorf("the range of %s ends before it begins", f.name)
	}
	f.Range = r
	if step == "" {
		return nil
	}
	number := step[1:]
	if step[0] == '+' && f.kind != Count && f.kind != Tunable {
		v, err := f.kind.read(number)
		if err != nil {
			return fmt.Errorf("step: %w", err)
		}
		r.plus = v.Number
	} else {
		v, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return fmt.Errorf("step %.20q is neither x2 nor +1", step)
		}
		r.plus = v
	}
	if step[0] == 'x' {
		r.times, r.plus = r.plus, 0
	}
	switch {
	case step[0] == 'x' && !(r.times >= 1.01 && r.times <= 1e6 && r.From.Number > 0):
		return fmt.Errorf("step %.20q: multiply what is above 0 by 1.01 to 1000000", step)
	case step[0] == '+' && !(r.plus > 0) || step[0] != 'x' && step[0] != '+':
		return fmt.Errorf("step %.20q is neither x2 nor +1", step)
	}
	f.Values, err = r.values(f.name, f.kind, mostCPUs)
	return err
}

// values are those of the range, with so many CPUs for "all".
func (r *Range) values(name string, k Kind, all int) (values []Value, err error) {
	to := r.To.Number
	if !r.To.IsNumber() {
		to = float64(all)
	}
	for v := r.From.Number; v <= to*(1+1e-9); {
		at := v
		if k == Bytes || k == Count || k == Tunable || k == BitRate {
			at = math.Round(v)
		}
		if n := len(values); n == 0 || values[n-1].Number != at {
			values = append(values, number(at))
		}
		if len(values) > mostPoints {
			return nil, fmt.Errorf("the range of %s has more than %d values", name, mostPoints)
		}
		if r.times > 0 {
			v *= r.times
		} else {
			v += r.plus
		}
	}
	if !r.To.IsNumber() && values[len(values)-1].Number < to {
		values = append(values, number(to))
	}
	return values, nil
}
