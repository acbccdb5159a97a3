package sweep

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/fullbore/fullbore/lab/schema"
)

// Factor is one thing that an experiment varies.
type Factor struct {
	setting
	Values []Value // in the order of the file; of a range in a grid, all that it stands for
	Range  *Range  // nil: the file lists the values
}

// Name is what files and documents call it.
func (f *Factor) Name() string { return f.name }

// Kind is what its values are.
func (f *Factor) Kind() Kind { return f.kind }

// MarshalJSON writes the name, the unit and the values.
func (f Factor) MarshalJSON() ([]byte, error) {
	type ends struct {
		From Value `json:"from"`
		To   Value `json:"to"`
	}
	out := struct {
		Name   string  `json:"name"`
		Unit   Kind    `json:"unit"`
		Values []Value `json:"values,omitempty"`
		Range  *ends   `json:"range,omitempty"` // of a search
	}{f.name, f.kind, f.Values, nil}
	if f.Range != nil && f.Range.Step == "" {
		out.Range = &ends{f.Range.From, f.Range.To}
	}
	return json.Marshal(out)
}

// Factors are all of an experiment, in the order of its file.
type Factors []Factor

// of finds a factor by its name; nil if the experiment does not vary it.
func (f Factors) of(name string) *Factor {
	for i := range f {
		if f[i].name == name {
			return &f[i]
		}
	}
	return nil
}

// mostFactors of an experiment: more cannot be read in a table.
const mostFactors = 8

// mostCPUs is what "all" is taken for where the hosts are not known yet.
const mostCPUs = 256

// FromNode reads the factors of a file.
func (f *Factors) FromNode(node ast.Node) (found []*schema.Placed) {
	reject := func(at ast.Node, err error) { found = append(found, schema.Place(at, err)) }
	mapping, ok := node.(ast.MapNode)
	if !ok {
		reject(node, fmt.Errorf("expected names of factors with their values, not %s", schema.Present(node)))
		return found
	}
	for entries := mapping.MapRange(); entries.Next(); {
		key := entries.Key().GetToken().Value
		s, err := lookup(key)
		switch {
		case err != nil:
			reject(entries.Key(), err)
			continue
		case f.of(key) != nil:
			reject(entries.Key(), fmt.Errorf("%s is there twice", key))
			continue
		case len(*f) == mostFactors:
			reject(entries.Key(), fmt.Errorf("more than %d factors", mostFactors))
			return found
		}
		factor := Factor{setting: s}
		found = append(found, factor.fromNode(entries.Value())...)
		*f = append(*f, factor)
	}
	return found
}

func (f *Factor) fromNode(node ast.Node) (found []*schema.Placed) {
	reject := func(at ast.Node, format string, args ...any) {
		found = append(found, schema.Place(at, fmt.Errorf(format, args...)))
	}
	one := func(item ast.Node) (Value, bool) {
		text, ok := schema.WordOf(item)
		if !ok {
			reject(item, "expected a value of %s, not %s", f.name, schema.Present(item))
			return Value{}, false
		}
		v, err := f.read(text)
		if err != nil {
			reject(item, "%w", err)
		}
		return v, err == nil
	}
	switch node := node.(type) {
	case *ast.NullNode:
		reject(node, "%s has no values", f.name)
	case *ast.SequenceNode:
		if n := len(node.Values); n == 0 || n > mostPoints {
			reject(node, "%s has %d values: use 1 to %d", f.name, n, mostPoints)
			return found
		}
		for _, item := range node.Values {
			v, ok := one(item)
			if ok && f.has(v) {
				reject(item, "%s has the value %s twice", f.name, v.Text(f.kind))
			}
			f.Values = append(f.Values, v)
		}
	case *ast.MappingNode:
		var text struct {
			From string `yaml:"from"`
			To   string `yaml:"to"`
			Step string `yaml:"step"`
		}
		if found = schema.Decode(node, &text); found != nil {
			return found
		}
		if err := f.fromRange(text.From, text.To, text.Step); err != nil {
			reject(node, "%w", err)
		}
	default:
		if v, ok := one(node); ok {
			f.Values = []Value{v}
		}
	}
	return found
}

func (f *Factor) has(v Value) bool { return slices.ContainsFunc(f.Values, v.Equal) }

// with gives the factors with "all" CPUs for what it stands for.
func (f Factors) with(cpus int) (Factors, error) {
	out := slices.Clone(f)
	for i := range out {
		o := &out[i]
		if r := o.Range; r != nil && r.Step != "" && !r.To.IsNumber() {
			var err error
			if o.Values, err = r.values(o.name, o.kind, cpus); err != nil {
				return nil, err
			}
		}
		o.Values = slices.Clone(o.Values)
		for j, v := range o.Values {
			if v.Word == allOfCPU && o.kind == Count {
				o.Values[j] = number(float64(cpus))
			}
		}
		o.Values = distinct(o.Values)
	}
	return out, nil
}

// distinct leaves out what is there before: "all" may be one of the numbers.
func distinct(values []Value) (out []Value) {
	for _, v := range values {
		if !slices.ContainsFunc(out, v.Equal) {
			out = append(out, v)
		}
	}
	return out
}

// combinations is how many points the factors make, with so many CPUs.
func (f Factors) combinations(cpus int) int {
	all, err := f.with(cpus)
	if err != nil {
		return math.MaxInt
	}
	n := 1
	for i := range all {
		if n *= max(1, len(all[i].Values)); n > 1<<20 {
			return n
		}
	}
	return n
}

// String names them: "buffers, connections".
func (f Factors) String() string {
	var names []string
	for i := range f {
		names = append(names, f[i].name)
	}
	return strings.Join(names, ", ")
}
