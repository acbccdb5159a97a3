// Package exposition writes metrics as Prometheus reads them, in its text format 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats).
package exposition

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ContentType is that of the format.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// LongestValue of a label, in bytes: a host's name has 253 at most (RFC 1035), and
// who names things at random must not fill a store.
const LongestValue = 256

// Text is metrics in the order of their first sample: all samples of one must be
// together.
type Text struct {
	prefix   string   // of all names
	common   []string // labels of all, name and value
	families []*family
	known    map[string]*family
}

type family struct {
	name, help, kind string
	samples          []string
	series           map[string]bool
}

// New is a text without metrics: the names of all will begin with prefix, and all will
// have the common labels, name and value in turns.
func New(prefix string, common ...string) *Text {
	return &Text{prefix: prefix, common: common, known: map[string]*family{}}
}

// Gauge adds a sample of what goes up and down. Labels are name and value in turns.
// A series that is there already stays as it is: two names may look the same once they
// are made safe, and Prometheus refuses series that are there twice.
func (t *Text) Gauge(name, help string, v float64, labels ...string) {
	t.sample("gauge", name, help, v, labels)
}

// Counter adds a sample of what only goes up; its name ends in _total.
func (t *Text) Counter(name, help string, v float64, labels ...string) {
	t.sample("counter", name, help, v, labels)
}

func (t *Text) sample(kind, name, help string, v float64, labels []string) {
	name = t.prefix + name
	f := t.known[name]
	if f == nil {
		f = &family{name: name, help: help, kind: kind, series: map[string]bool{}}
		t.known[name] = f
		t.families = append(t.families, f)
	}
	all := append(append([]string{}, t.common...), labels...)
	var pairs []string
	for i := 0; i < len(all); i += 2 {
		pairs = append(pairs, all[i]+`="`+escape(Value(all[i+1]))+`"`)
	}
	series := name
	if len(pairs) > 0 {
		series += "{" + strings.Join(pairs, ",") + "}"
	}
	if f.series[series] {
		return
	}
	f.series[series] = true
	f.samples = append(f.samples, series+" "+strconv.FormatFloat(v, 'g', -1, 64))
}

// String is the text.
func (t *Text) String() string {
	var out strings.Builder
	for _, f := range t.families {
		fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
		for _, sample := range f.samples {
			out.WriteString(sample + "\n")
		}
	}
	return out.String()
}

// Value is text as the value of a label: valid UTF-8, and no longer than LongestValue.
func Value(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= LongestValue {
		return text
	}
	const cut = "…"
	end := LongestValue - len(cut)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cut
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// escape writes a value as the text format wants it.
func escape(value string) string { return escapes.Replace(value) }
