// Package sweep runs experiments: the same transfer with the settings of both ends,
// and in the lab those of the path, varied by a plan. It says how fast each was, which
// is the smallest value that is enough, and how that agrees with the law that should
// hold.
//
// An experiment is a file ([Load]), what is varied a [Factor], one combination of
// values a [Point]. [Run] measures the points in randomised blocks, or searches, in a
// [World] that sets them and puts all back.
package sweep

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/fullbore/fullbore/lab/schema"
	"github.com/fullbore/fullbore/unit"
)

// Kind is what a factor's values are.
type Kind string

// The kinds, each with the unit of its numbers.
const (
	Bytes    Kind = "bytes"
	Count    Kind = "count"
	BitRate  Kind = "bit/s"
	Seconds  Kind = "seconds"
	Share    Kind = "share"   // 0..1
	Name     Kind = "word"    // such as that of a congestion control
	Tunable  Kind = "tunable" // as the catalogue has it: a number, or whatever it takes
	inWords       = "present" // the value that leaves a setting to the host
	allOfCPU      = "all"     // as many CPUs as both hosts have
)

// Value is one value of a factor.
type Value struct {
	Number float64 // in the unit of its kind; NaN: it is a word
	Word   string  // if it is not a number: "present", "cubic"
}

// present is what a host does unasked.
var present = word(inWords)

func number(v float64) Value { return Value{Number: v} }
func word(w string) Value    { return Value{Number: math.NaN(), Word: w} }

// Present says that the setting is left as it is.
func (v Value) Present() bool { return v.Word == inWords }

// IsNumber says whether it is one.
func (v Value) IsNumber() bool { return !math.IsNaN(v.Number) }

// Equal says whether two values are the same.
func (v Value) Equal(other Value) bool {
	return v.Word == other.Word && (v.Number == other.Number || !v.IsNumber() && !other.IsNumber())
}

// Text writes the value as people read it: "64 KiB", "10", "0.1 %", "cubic".
func (v Value) Text(k Kind) string {
	if !v.IsNumber() {
		return v.Word
	}
	switch k {
	case Bytes:
		if exact := unit.Size(v.Number); exact%unit.KiB != 0 && exact < 10*unit.MiB {
			return fmt.Sprintf("%d B", exact)
		}
		return unit.Size(v.Number).String()
	case BitRate:
		return unit.Rate(v.Number).String()
	case Seconds:
		return unit.Milliseconds(time.Duration(v.Number * float64(time.Second)))
	case Share:
		return unit.Percent(v.Number)
	}
	return strconv.FormatFloat(v.Number, 'f', -1, 64)
}

// key is the value as stored points are recognised by: exact.
func (v Value) key() string {
	if !v.IsNumber() {
		return strconv.Quote(v.Word)
	}
	return strconv.FormatFloat(v.Number, 'g', -1, 64)
}

// MarshalJSON writes a number, or a string.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.IsNumber() {
		return json.Marshal(v.Word)
	}
	return json.Marshal(v.Number)
}

// UnmarshalJSON reads either.
func (v *Value) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &v.Number); err == nil && string(data) != "null" {
		v.Word = ""
		return nil
	}
	v.Number = math.NaN()
	return json.Unmarshal(data, &v.Word)
}

// read gives the value that a word of the format stands for.
func (k Kind) read(text string) (Value, error) {
	if text == inWords {
		return present, nil
	}
	switch k {
	case Bytes:
		v, err := unit.ParseSize(text)
		return number(float64(v)), err
	case BitRate:
		v, err := unit.ParseRate(text)
		return number(float64(v)), err
	case Seconds:
		v, err := time.ParseDuration(text)
		if err != nil {
			return Value{}, fmt.Errorf("duration %q is not a number with a unit such as 75ms or 150us", text)
		}
		return number(v.Seconds()), nil
	case Share:
		var v schema.Share
		err := v.FromWord(text)
		return number(float64(v)), err
	case Count:
		if text == allOfCPU {
			return word(allOfCPU), nil
		}
		v, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return Value{}, fmt.Errorf("expected a whole number, not %q", text)
		}
		return number(float64(v)), nil
	case Tunable:
		v, err := strconv.ParseUint(text, 10, 53)
		if err == nil && strconv.FormatUint(v, 10) == text { // not a mask such as 00000003
			return number(float64(v)), nil
		}
	}
	switch {
	case text == "":
		return Value{}, fmt.Errorf("a value is needed")
	case len(text) > 256 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }):
		return Value{}, fmt.Errorf("%.40q is not a value of up to 256 printable characters", text)
	}
	return word(text), nil
}
