// Package tunable is the catalogue: every knob of an operating system that
// matters to bulk transfers, as data with sources, and the rules that hold for
// its values.
package tunable

// Tunable describes one knob of one operating system.
type Tunable struct {
	Name     string           `json:"name" yaml:"name"` // "net.ipv4.tcp_rmem"; of one interface or mount: "link.mtu", and "link.mtu@eth0" in facts and plans
	About    string           `json:"about" yaml:"about"`
	Kind     Kind             `json:"kind" yaml:"kind"`
	Unit     string           `json:"unit,omitempty" yaml:"unit"`                 // "bytes", "pages", ""
	Min      int64            `json:"min,omitempty" yaml:"min"`                   // of each element
	Max      int64            `json:"max,omitempty" yaml:"max"`                   // of each element
	Choices  []string         `json:"choices,omitempty" yaml:"choices"`           // all that a word can be; none: the host knows
	Defaults []Default        `json:"defaults,omitempty" yaml:"defaults"`         // by version, oldest first
	Varies   string           `json:"default_note,omitempty" yaml:"default_note"` // what makes the default another one
	Scope    Scope            `json:"scope" yaml:"scope"`
	Effect   Effect           `json:"effect" yaml:"effect"`                     // when a new value counts
	Also     string           `json:"effect_note,omitempty" yaml:"effect_note"` // what else is to be known of that
	Since    string           `json:"since,omitempty" yaml:"since"`             // first version that has it
	Until    string           `json:"until,omitempty" yaml:"until"`             // first version where it is gone, or has no effect
	Obsolete string           `json:"obsolete,omitempty" yaml:"obsolete"`       // what holds from Until on, for whoever still sets it
	Rising   bool             `json:"rising,omitempty" yaml:"rising"`           // a size: no element is ever set below what the host has
	After    []string         `json:"after,omitempty" yaml:"after"`             // raised only after these, where they are raised too; put back before them
	Within   string           `json:"within,omitempty" yaml:"within"`           // a tunable whose value this one may not exceed
	Bounces  bool             `json:"bounces,omitempty" yaml:"bounces"`         // setting it can take the link down for a moment
	Leave    string           `json:"leave,omitempty" yaml:"leave"`             // why it is never changed; "": it may be
	Risk     string           `json:"risk" yaml:"risk"`
	Way      string           `json:"-" yaml:"way"` // how it is read and set: one of the system's ways
	Steps    `yaml:",inline"` // where its steps differ from its way's; complete after reading
	Home     Home             `json:"home,omitzero" yaml:"home"` // what keeps it over a boot, where that differs from its way's; complete after reading
	Source   Source           `json:"source" yaml:"source"`
}

// Scope is what one value holds for.
type Scope string

// The scopes.
const (
	OfNamespace Scope = "namespace" // a network namespace, VNET jail or exclusive-IP zone
	OfHost      Scope = "host"      // the whole machine
	OfInterface Scope = "interface"
	OfMount     Scope = "mount"
	OfRoute     Scope = "route" // one destination
)

// Instanced reports whether a name of this scope is followed by @ and what it is of.
func (s Scope) Instanced() bool { return s == OfInterface || s == OfMount || s == OfRoute }

// Effect is when a new value begins to count.
type Effect string

// The effects, soonest first.
const (
	AtOnce           Effect = "at once"
	NewConnections   Effect = "new connections"
	NextCall         Effect = "the application's next call" // setsockopt, listen
	NewDevices       Effect = "new devices"
	NewMounts        Effect = "new mounts"
	RestartService   Effect = "restart of the service"
	RestartInterface Effect = "restart of the interface"
	Reboot           Effect = "reboot"
)

// Kind is the shape of a tunable's value.
type Kind string

// The kinds of values.
const (
	Int     Kind = "int"
	Bool    Kind = "bool"    // 0 or 1
	Triplet Kind = "triplet" // min, default, max
	Word    Kind = "word"    // one of Choices, or of a list that the host knows
	Words   Kind = "words"   // such a list
	Mask    Kind = "mask"    // CPUs, as in /sys: hexadecimal, in groups of 32 bits
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
