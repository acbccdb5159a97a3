package tunable

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

//go:embed *.yaml
var files embed.FS

// System is what is known of one operating system: one file of the catalogue.
type System struct {
	ID       string         `yaml:"system"`   // "linux", as in host.Facts.OS
	Title    string         `yaml:"title"`    // "Linux"
	Versions string         `yaml:"versions"` // what the versions in the file are, for people: "kernel version"
	Releases []Release      `yaml:"releases"` // oldest first
	Ways     map[string]Way `yaml:"ways"`     // how groups of tunables are read, set and kept
	Tunables []Tunable      `yaml:"tunables"`

	byName map[string]int // index in Tunables
}

// Way is what tunables of a kind have in common: how they are read, set and kept.
type Way struct {
	Steps `yaml:",inline"`
	Home  Home `yaml:"home"`
}

// Release is a name that people use for a version.
type Release struct {
	Name    string `yaml:"name"`    // "Windows Server 2003"
	Short   string `yaml:"short"`   // "2003", as in --for windows2003
	Version string `yaml:"version"` // "5.2"

	name, short string // both as squeeze makes them
}

// systems has, by id, what decodes a catalogue once: the first time that someone
// asks for it, since that takes a good part of a short command's time. The files
// are part of the program, so an error in one is found by this package's tests,
// and is the same on every call.
var systems = func() map[string]func() (*System, error) {
	all := map[string]func() (*System, error){}
	names, _ := fs.Glob(files, "*.yaml") // fails for bad patterns only
	for _, name := range names {
		all[strings.TrimSuffix(name, ".yaml")] = sync.OnceValues(func() (*System, error) { return read(name) })
	}
	return all
}()

// read decodes one file, which is named after its system.
func read(name string) (*System, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	s := &System{}
	if err := yaml.UnmarshalWithOptions(text, s, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("read catalogue %s: %w", name, err)
	}
	if s.ID+".yaml" != name {
		return nil, fmt.Errorf("read catalogue %s: it is that of %q", name, s.ID)
	}
	s.complete()
	return s, nil
}

// complete gives every tunable the steps of its way where it has none of its own,
// and prepares what Find compares.
func (s *System) complete() {
	for i := range s.Releases {
		r := &s.Releases[i]
		r.name, r.short = squeeze(r.Name), squeeze(r.Short)
	}
	s.byName = make(map[string]int, len(s.Tunables))
	for i := range s.Tunables {
		t := &s.Tunables[i]
		s.byName[t.Name] = i
		way := s.Ways[t.Way]
		t.Home = t.Home.or(way.Home)
		t.Steps = t.or(way.Steps)
		t.Persist = t.Home.words()
	}
}

// Systems gives the operating systems that have a catalogue, by their ids, sorted.
func Systems() []string { return slices.Sorted(maps.Keys(systems)) }

// Of gives the catalogue of an operating system. It is shared: not to be changed.
func Of(os string) (*System, error) {
	s, ok := systems[os]
	if !ok {
		return nil, fmt.Errorf("no catalogue of tunables for operating system %q", os)
	}
	return s()
}

// Catalogue gives every tunable known of an operating system ("linux", as in
// host.Facts.OS), in the order of its file.
func Catalogue(os string) ([]Tunable, error) {
	s, err := Of(os)
	if err != nil {
		return nil, err
	}
	return slices.Clone(s.Tunables), nil
}

// Lookup finds one tunable of an operating system, by its name with or without
// an instance ("link.mtu@eth0").
func Lookup(os, name string) (*Tunable, bool) {
	s, err := Of(os)
	if err != nil {
		return nil, false
	}
	base, instance := Split(name)
	i, known := s.byName[base]
	if !known || instance != "" && !s.Tunables[i].Scope.Instanced() {
		return nil, false
	}
	t := s.Tunables[i]
	return &t, true
}

// Split takes a name apart: "link.mtu@eth0" is "link.mtu" of "eth0".
func Split(name string) (base, instance string) {
	base, instance, _ = strings.Cut(name, "@")
	return base, instance
}

// Join is the opposite of Split.
func Join(base, instance string) string {
	if instance == "" {
		return base
	}
	return base + "@" + instance
}
