package iperf3

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// maxFields is how many keys an object may have: iperf3's have up to 40.
const maxFields = 200

// fields are the keys of a JSON object, which its owner takes one by one. As in
// iperf3 since 3.18, a value of the wrong type is as good as none.
type fields struct {
	values map[string]json.RawMessage
	wrong  []string // what was passed over, in sentences
}

// parseFields takes an object apart. A key that comes twice is an error: two
// readers could disagree about it.
func parseFields(text []byte) (*fields, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	f := &fields{values: make(map[string]json.RawMessage)}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, _ := t.(string) // a key is nothing else
		if _, twice := f.values[key]; twice {
			return nil, fmt.Errorf("key %.40q comes twice", key)
		}
		if len(f.values) == maxFields {
			return nil, fmt.Errorf("object with more than %d keys", maxFields)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		f.values[key] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the JSON object")
	}
	return f, nil
}

// pass notes a value of the wrong type.
func (f *fields) pass(key, want string) bool {
	f.wrong = append(f.wrong, fmt.Sprintf("%q is not %s: ignored", key, want))
	return false
}

// float takes a number; one beyond the range of float64 is infinite.
func (f *fields) float(key string, to *float64) bool {
	v, ok := f.values[key]
	if !ok {
		return false
	}
	if !number(v) {
		return f.pass(key, "a number")
	}
	*to, _ = strconv.ParseFloat(string(v), 64)
	return true
}

// integer takes a number as an integer, exact over all of int64. As in iperf3 a
// fraction is cut off, and what is beyond the range becomes its end. From 2^63 up
// it is a negative number, though: iperf3 as Debian 12 has it writes -1 as
// 18446744073709551615.
func integer[T int | int64](f *fields, key string, to *T) bool {
	v, ok := f.values[key]
	if !ok {
		return false
	}
	if !number(v) {
		return f.pass(key, "a number")
	}
	n := parseInteger(string(v))
	if *to = T(n); int64(*to) != n { // an int of 32 bits
		*to = T(max(math.MinInt32, min(math.MaxInt32, n)))
	}
	return true
}

func parseInteger(text string) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return int64(n)
	}
	x, _ := strconv.ParseFloat(text, 64) // beyond its range: infinite
	return saturate(x)
}

// saturate is x without its fraction, in the range of int64.
func saturate(x float64) int64 {
	switch {
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}

// flag takes true or false.
func (f *fields) flag(key string, to *bool) {
	if v, ok := f.values[key]; ok && json.Unmarshal(v, to) != nil || string(v) == "null" {
		f.pass(key, "true or false")
	}
}

func (f *fields) text(key string, to *string) {
	if v, ok := f.values[key]; ok && json.Unmarshal(v, to) != nil || string(v) == "null" {
		f.pass(key, "a string")
	}
}

func number(v json.RawMessage) bool {
	return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9')
}
