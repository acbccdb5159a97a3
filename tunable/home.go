package tunable

import (
	"cmp"
	"errors"
	"fmt"
)

// Home is what keeps a value over a boot, with the placeholders of [Steps].
type Home struct {
	Kind    HomeKind `json:"kind,omitempty" yaml:"kind"`
	File    string   `json:"file,omitempty" yaml:"file"`       // that Line stands in: "/etc/sysctl.conf"; of the registry the key
	Line    string   `json:"line,omitempty" yaml:"line"`       // "{name} = {value}"; of udev what a rule does: ATTR{mtu}="{value}"; of the registry the value's name
	Match   string   `json:"match,omitempty" yaml:"match"`     // of udev: what a rule finds the interface by, by its name
	Command string   `json:"command,omitempty" yaml:"command"` // "ipadm set-prop -p {name}={value} tcp"; Steps.Unset takes that back
	Kept    string   `json:"kept,omitempty" yaml:"kept"`       // prints what Command has kept, "" if nothing; "": that is not told apart from what is live
	People  string   `json:"people,omitempty" yaml:"people"`   // what people do where nothing else keeps it, or could do instead: "…; or …"
}

// HomeKind says which part of the system keeps a value.
type HomeKind string

// The kinds of homes.
const (
	Nowhere    HomeKind = ""         // it holds until the next boot
	InSysctl   HomeKind = "sysctl"   // a line that sysctl reads: sysctl.d(5), sysctl.conf(5)
	InUdev     HomeKind = "udev"     // a rule of udev(7), which sets it whenever the device appears
	InFile     HomeKind = "file"     // a line of another file
	InRegistry HomeKind = "registry" // of Windows
	ByCommand  HomeKind = "command"
	ByPeople   HomeKind = "people"
)

// Rule is the whole line that stands in File.
func (h Home) Rule() string {
	if h.Kind == InUdev {
		return h.Match + ", " + h.Line
	}
	return h.Line
}

// or fills in what h leaves out. A home of another kind than the way's is whole
// by itself.
func (h Home) or(way Home) Home {
	if h.Kind != Nowhere && h.Kind != way.Kind {
		return h
	}
	h = Home{
		Kind: cmp.Or(h.Kind, way.Kind), File: cmp.Or(h.File, way.File), Line: cmp.Or(h.Line, way.Line), Match: cmp.Or(h.Match, way.Match),
		Command: cmp.Or(h.Command, way.Command), Kept: cmp.Or(h.Kept, way.Kept), People: cmp.Or(h.People, way.People),
	}
	if h.Line == "" && h.Command == "" && h.People == "" { // the way has a place, and the tunable nothing to put there
		return Home{}
	}
	return h
}

// words is a home as people read it.
func (h Home) words() string {
	says := ""
	switch h.Kind {
	case InSysctl, InUdev, InFile:
		says = h.Rule() + " in " + h.File
	case InRegistry:
		says = "reg add " + h.File + " /v " + h.Line + " /t REG_DWORD /d {value} /f"
	case ByCommand:
		says = h.Command
	}
	switch {
	case says == "":
		return h.People
	case h.People == "":
		return says
	}
	return says + "; or " + h.People
}

// needs are the fields that each kind of home has.
var needs = map[HomeKind]func(Home) bool{
	Nowhere:    func(h Home) bool { return h == Home{} },
	InSysctl:   func(h Home) bool { return h.File != "" && h.Line != "" && h.Match+h.Command+h.Kept == "" },
	InUdev:     func(h Home) bool { return h.File != "" && h.Line != "" && h.Match != "" && h.Command+h.Kept == "" },
	InFile:     func(h Home) bool { return h.File != "" && h.Line != "" && h.Match+h.Command+h.Kept == "" },
	InRegistry: func(h Home) bool { return h.File != "" && h.Line != "" && h.Match+h.Command+h.Kept+h.People == "" },
	ByCommand:  func(h Home) bool { return h.Command != "" && h.File+h.Line+h.Match == "" },
	ByPeople:   func(h Home) bool { return h.People != "" && h.File+h.Line+h.Match+h.Command+h.Kept == "" },
}

func (h Home) check() error {
	complete, ok := needs[h.Kind]
	switch {
	case !ok:
		return fmt.Errorf("home of kind %q: there is no such kind", h.Kind)
	case !complete(h):
		return fmt.Errorf("home of kind %q lacks a field of its kind, or has another's: %+v", h.Kind, h)
	case h.People != "" && !oneLine(h.People):
		return errors.New("home: people is not a line of text")
	}
	return nil
}
