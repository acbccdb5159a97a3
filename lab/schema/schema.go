// Package schema is what the keys of a scenario have in common: how a value is
// written, which values a key takes, and where a fault is.
//
// A key is a field with the tag yaml. More tags say what it takes, beside its
// type; a zero value is a key that was not given, and always right:
//
//	range:"88 65535"              the least and the most, as a scenario writes them
//	of:"wscale sack timestamps"   the words that it may be, or that its list may have
//	example:"{share: 2%, by: 5ms}"  what docs/scenario.md shows, and tests try
//
// The parser, the check, the wire and the test of docs/scenario.md all read these.
package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Fault is what is wrong with the value of a key.
type Fault struct {
	Key string // names of keys joined by dots, and places in lists, as in "path.a_to_b.strip[1]"
	Err error
}

// Word is a type of its own whose values are written as one word, such as "0.01%".
type Word interface {
	// FromWord sets the value to what the word means.
	FromWord(word string) error
	// Range says in words of the format what is allowed.
	Range() string
}

// Share is a share of packets, 0 to 1, written "0.01%".
type Share float64

// FromWord reads "0.01%" or "0".
func (s *Share) FromWord(word string) error {
	number, found := strings.CutSuffix(word, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil || !found && v != 0:
		return fmt.Errorf("share %q is not a number with %%, such as 0.01%%", word)
	case !(v >= 0 && v <= 100): // also catches NaN
		return fmt.Errorf("share %s is not within 0%% and 100%%", word)
	}
	*s = Share(v / 100)
	return nil
}

// Range is that of all shares.
func (s *Share) Range() string { return "0% to 100%" }

// String writes the share in per cent.
func (s Share) String() string { return strconv.FormatFloat(100*float64(s), 'g', 6, 64) + "%" }

// IsWord says whether values of the type are written as one word.
func IsWord(t reflect.Type) bool {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[Word]()) {
		return true
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64, reflect.String:
		return true
	}
	return false
}

// Read sets a value of a type that [IsWord] to what the word means.
func Read(word string, into reflect.Value) (err error) {
	switch v := into.Addr().Interface().(type) {
	case Word:
		return v.FromWord(word)
	case *unit.Rate:
		*v, err = unit.ParseRate(word)
		return err
	case *unit.Size:
		*v, err = unit.ParseSize(word)
		return err
	case *time.Duration:
		if *v, err = time.ParseDuration(word); err != nil {
			return fmt.Errorf("duration %q is not a number with a unit such as 75ms or 150us", word)
		}
		return nil
	}
	switch into.Kind() {
	case reflect.String:
		into.SetString(word)
	case reflect.Int:
		var n int64
		n, err = strconv.ParseInt(word, 0, 0)
		into.SetInt(n)
	case reflect.Uint64:
		var n uint64
		n, err = strconv.ParseUint(word, 0, 64)
		into.SetUint(n)
	case reflect.Float64:
		var v float64
		v, err = strconv.ParseFloat(word, 64)
		into.SetFloat(v)
	default:
		panic("schema: no word for a " + into.Type().String())
	}
	if err != nil {
		return fmt.Errorf("expected a number, not %q", word)
	}
	return nil
}

// Keys gives the fields of a struct that are keys, and their names; with those of a struct
// that it embeds.
func Keys(t reflect.Type) func(yield func(name string, field reflect.StructField) bool) {
	return func(yield func(string, reflect.StructField) bool) {
		for field := range t.Fields() {
			if field.Anonymous && field.Type.Kind() == reflect.Struct {
				for name, inner := range Keys(field.Type) {
					inner.Index = append(slices.Clone(field.Index), inner.Index...)
					if !yield(name, inner) {
						return
					}
				}
			}
			if name := field.Tag.Get("yaml"); name != "" && !yield(name, field) {
				return
			}
		}
	}
}

// Check compares the values of all keys of a struct, and of what is in it, with
// what they take.
func Check(of any) []Fault {
	var found []Fault
	check("", reflect.Indirect(reflect.ValueOf(of)), "", &found)
	return found
}

func check(at string, v reflect.Value, tag reflect.StructTag, found *[]Fault) {
	switch {
	case v.IsZero():
		return
	case v.Kind() == reflect.Pointer:
		check(at, v.Elem(), tag, found)
	case v.Kind() == reflect.Struct:
		for name, field := range Keys(v.Type()) {
			check(strings.TrimPrefix(at+"."+name, "."), v.FieldByIndex(field.Index), field.Tag, found)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			check(fmt.Sprintf("%s[%d]", at, i), v.Index(i), tag, found)
		}
	case tag.Get("of") != "":
		if words := strings.Fields(tag.Get("of")); !slices.Contains(words, v.String()) {
			*found = append(*found, Fault{at, fmt.Errorf("%s %q is not one of %s", at, v, strings.Join(words, ", "))})
		}
	default:
		low, high, ok := bounds(v.Type(), tag)
		if ok && !(number(v) >= bound(low, v.Type()) && number(v) <= bound(high, v.Type())) { // also catches NaN
			*found = append(*found, Fault{at, fmt.Errorf("%s %v is not within %s and %s", at, v, low, high)})
		}
	}
}

// bounds are the least and the most that a number may be, as a scenario writes them.
func bounds(t reflect.Type, tag reflect.StructTag) (low, high string, ok bool) {
	if low, high, ok = strings.Cut(tag.Get("range"), " "); !ok && t == reflect.TypeFor[Share]() {
		return "0%", "100%", true
	}
	return low, high, ok
}

// bound is the number that a word of a range stands for.
func bound(word string, t reflect.Type) float64 {
	v := reflect.New(t).Elem()
	if err := Read(word, v); err != nil {
		panic(fmt.Sprintf("schema: range of %v: %v", t, err)) // a test reads all of them
	}
	return number(v)
}

func number(v reflect.Value) float64 {
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	default:
		return v.Float()
	}
}

// Range says what a key takes, as docs/scenario.md has it: "0s to 10s", words,
// or of a key with keys of its own, of each of those. It is "" where any value
// of the type will do.
func Range(field reflect.StructField) string {
	t := field.Type
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if low, high, ok := bounds(t, field.Tag); ok {
		return low + " to " + high
	}
	if words := field.Tag.Get("of"); words != "" {
		return strings.Join(strings.Fields(words), ", ")
	}
	if word, ok := reflect.TypeAssert[Word](reflect.New(t)); ok {
		return word.Range()
	}
	var all []string
	if t.Kind() == reflect.Struct {
		for name, inner := range Keys(t) {
			if inside := Range(inner); inside != "" {
				all = append(all, name+" "+inside)
			}
		}
	}
	return strings.Join(all, "; ")
}
