// Package tunable is the catalogue: every knob of an operating system that
// matters to bulk transfers, as data with sources, and the rules that hold for
// its values.
package tunable

// Tunable describes one knob of one operating system.
type Tunable struct {
	Name     string    `json:"name" yaml:"name"` // "net.ipv4.tcp_rmem"
	About    string    `json:"about" yaml:"about"`
	Kind     Kind      `json:"kind" yaml:"kind"`
	Unit     string    `json:"unit,omitempty" yaml:"unit"` // "bytes", "packets", ""
	Min      int64     `json:"min,omitempty" yaml:"min"`
	Max      int64     `json:"max,omitempty" yaml:"max"`
	Values   []string  `json:"values,omitempty" yaml:"values"`
	Defaults []Default `json:"defaults,omitempty" yaml:"defaults"` // by version, oldest first
	Scope    string    `json:"scope" yaml:"scope"`                 // "namespace" or "host"
	Effect   string    `json:"effect" yaml:"effect"`               // "new connections", "at once"
	Since    string    `json:"since,omitempty" yaml:"since"`       // first version that has it
	Until    string    `json:"until,omitempty" yaml:"until"`       // first version where it has no effect
	Risk     string    `json:"risk" yaml:"risk"`
	Source   Source    `json:"source" yaml:"source"`
}

// Kind is the shape of a tunable's value.
type Kind string

// The kinds of values.
const (
	Int     Kind = "int"
	Bool    Kind = "bool"    // 0 or 1
	Triplet Kind = "triplet" // min, default, max
	Word    Kind = "word"    // one of a list that the host knows
)

// Default is a default value from a version on.
type Default struct {
	From  string `json:"from" yaml:"from"` // version
	Value string `json:"value" yaml:"value"`
}

// Source says where a fact comes from.
type Source struct {
	Title    string `json:"title" yaml:"title"`
	URL      string `json:"url" yaml:"url"`
	Verified bool   `json:"verified" yaml:"verified"`
}
