// Package tunable is the catalogue: every knob of an operating system that
// matters to bulk transfers, as data with sources, and the rules that hold for
// its values.
package tunable

// Tunable describes one knob of one operating system.
type Tunable struct {
	Name     string    `json:"name" yaml:"name"` // "net.ipv4.tcp_rmem"
	About    string    `json:"about" yaml:"about"`
	Kind     Kind      `json:"kind" yaml:"kind"`
	Unit     string    `json:"unit,omitempty" yaml:"unit"`         // "bytes", "pages", ""
	Min      int64     `json:"min,omitempty" yaml:"min"`           // of each element
	Max      int64     `json:"max,omitempty" yaml:"max"`           // of each element
	Defaults []Default `json:"defaults,omitempty" yaml:"defaults"` // by version, oldest first
	Scope    string    `json:"scope" yaml:"scope"`                 // "namespace" or "host"
	Effect   string    `json:"effect" yaml:"effect"`               // "new connections", "at once"
	Since    string    `json:"since,omitempty" yaml:"since"`       // first version that has it
	Until    string    `json:"until,omitempty" yaml:"until"`       // first version where it has no effect
	Rising   bool      `json:"rising,omitempty" yaml:"rising"`     // a size: no element is ever set below what the host has
	Leave    string    `json:"leave,omitempty" yaml:"leave"`       // why it is never changed; "": it may be
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
	Words   Kind = "words"   // such a list
)

// Default is a default value from a version on.
type Default struct {
	From     string `json:"from" yaml:"from"` // version
	Value    string `json:"value" yaml:"value"`
	Verified bool   `json:"verified" yaml:"verified"` // seen in the source, its documentation, or on a host
}

// Source says where an entry comes from.
type Source struct {
	Title    string `json:"title" yaml:"title"`
	URL      string `json:"url" yaml:"url"`
	Verified bool   `json:"verified" yaml:"verified"` // the entry was checked against it, or on a host
}
