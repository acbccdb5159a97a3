package collector

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/tunable"
)

// Read understands what a command of Script printed, and the JSON of "fullbore
// facts". It reads at most 4 MB. Text before the first line of the command's
// output is passed over. Each value is what its tunable can have, though it may
// be outside of what fullbore would set; what cannot be is left out.
func Read(r io.Reader) (*host.Facts, error) {
	facts, _, err := Understand(r)
	return facts, err
}

// Understand is Read with notes: what in there was not understood and is left
// out, a sentence each with the line.
func Understand(r io.Reader) (facts *host.Facts, notes []string, err error) {
	text, err := readText(r)
	if err != nil {
		return nil, nil, fmt.Errorf("read facts: %w", err)
	}
	read := &reading{facts: host.Facts{Interfaces: []host.Interface{}, Tunables: map[string]string{}}}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		err = read.document(text)
	} else {
		err = read.output(text)
	}
	if err == nil && read.facts.Version == "" {
		err = errors.New("there is no version of the system: without it nobody knows what its tunables do")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read facts: %w", err)
	}
	return &read.facts, read.notes, nil
}

// reading is facts while they are read.
type reading struct {
	facts    host.Facts
	notes    []string
	places   map[string]int    // of interfaces by name, as far as placed
	placed   int               // how many
	forwards bool              // packets, between whatever there is
	locked   map[string]bool   // tunables that nobody may set
	mounts   map[string]string // of NFS, by device
	guids    map[string]string // the name of an interface of Windows, by its GUID in small letters
	sparse   bool              // what keeps only what differs from the default was read: a registry, /etc/system
}

// maxNotes bounds what is said about one file.
const maxNotes = 50

// note says what of a line was not understood.
func (r *reading) note(at int, format string, args ...any) {
	r.remark("line %d: "+format, append([]any{at}, args...)...)
}

func (r *reading) remark(format string, args ...any) {
	if len(r.notes) < maxNotes {
		r.notes = append(r.notes, printable.Line(fmt.Sprintf(format, args...)))
	}
}

// parser understands one section.
type parser func(*reading, *section) error

// sectionsOf are the sections of each system's output, by name.
var sectionsOf = map[string]map[string]parser{
	"linux": linuxSections, "solaris": solarisSections, "illumos": solarisSections,
	"macos": macosSections, "freebsd": freebsdSections, "windows": windowsSections,
}

// output reads what a command of Script printed.
func (r *reading) output(text string) error {
	system, all, err := sections(text)
	if err != nil {
		return err
	}
	if _, err := tunable.Of(system); err != nil {
		return fmt.Errorf("system %.40q is not known: there are %s", system, strings.Join(tunable.Systems(), ", "))
	}
	r.facts.OS, r.facts.CanChange = system, true
	for i := range all {
		s := &all[i]
		parse, ok := sectionsOf[system][s.name]
		if !ok {
			r.note(s.at, "section %.40q is not known here, and left out", s.name)
			continue
		}
		if err := parse(r, s); err != nil {
			return err
		}
	}
	r.finish()
	return check(&r.facts)
}

// finish draws the conclusions that need all sections.
func (r *reading) finish() {
	f := &r.facts
	f.Forwards = r.forwards && networks(f.Interfaces) >= 2
	maps.DeleteFunc(f.Tunables, func(name, _ string) bool { return r.idle(name) || r.alias(name) })
	maps.DeleteFunc(f.Most, func(name string, _ int64) bool { return r.idle(name) })
	for name := range f.Tunables {
		if r.locked[name] {
			f.ReadOnly = append(f.ReadOnly, name)
		}
	}
	slices.Sort(f.ReadOnly)
	if r.sparse {
		r.defaults()
	}
}

// idle says whether a tunable is one of an interface that is down, or leads
// nowhere: those are not tuned, as in host.Collect.
func (r *reading) idle(name string) bool {
	known, ok := tunable.Lookup(r.facts.OS, name)
	if !ok || known.Scope != tunable.OfInterface {
		return false
	}
	_, instance := tunable.Split(name)
	n := r.known(instance)
	return n != nil && (!n.Up || loopback.MatchString(n.Name))
}

// alias says whether a tunable is only an old name of another one: Solaris 11
// still answers ndd.
func (r *reading) alias(name string) bool {
	known, ok := tunable.Lookup(r.facts.OS, name)
	return ok && r.facts.OS == "solaris" && !known.Applies(r.facts.Version)
}

// loopback are names of interfaces to the host itself.
var loopback = regexp.MustCompile(`^(?i:lo[0-9]*$|loopback)`)

// defaults fills in what a system keeps nowhere as long as it is as it comes.
func (r *reading) defaults() {
	all, err := tunable.Catalogue(r.facts.OS)
	if err != nil {
		return
	}
	for _, t := range all {
		if _, there := r.facts.Tunables[t.Name]; there || !slices.Contains(unwritten, t.Way) || t.Scope.Instanced() || !t.Applies(r.facts.Version) {
			continue
		}
		if value, ok := t.Default(r.facts.Version); ok {
			r.facts.Tunables[t.Name] = value
		}
	}
}

// unwritten are the catalogue's ways of tunables whose value stands nowhere
// unless somebody has set it.
var unwritten = []string{"registry", "afd", "etc-system"}

// set takes a tunable's present value over. A name that is not in the catalogue
// is nothing to note: commands print more than was asked for.
func (r *reading) set(at int, name, value string) {
	known, ok := tunable.Lookup(r.facts.OS, name)
	if !ok || known.Scope.Instanced() != strings.Contains(name, "@") {
		return
	}
	_, instance := tunable.Split(name)
	if known.Scope.Instanced() && !plausible(instance) {
		r.note(at, "%s: %.40q is no name of an interface, a mount or a route; left out", known.Name, instance)
		return
	}
	value, err := accept(known, value)
	if err != nil {
		r.note(at, "%s: %v; left out", name, err)
		return
	}
	if _, there := r.facts.Tunables[name]; !there && len(r.facts.Tunables) < maxTunables {
		r.facts.Tunables[name] = value
	}
}

// most takes over the largest value that a device takes; 0: it does not say.
func (r *reading) most(name string, most int64) {
	if _, there := r.facts.Tunables[name]; !there || most <= 0 {
		return
	}
	if r.facts.Most == nil {
		r.facts.Most = map[string]int64{}
	}
	r.facts.Most[name] = most
}

// settle takes over all settings that the catalogue knows.
func (r *reading) settle(all []setting) {
	for _, s := range all {
		r.set(s.line, s.name, s.value)
	}
}

// settings makes a section's parser of one that gives settings.
func settings(parse func([]line) []setting) parser {
	return func(r *reading, s *section) error {
		r.settle(parse(s.lines))
		return nil
	}
}

// text makes a section's parser that keeps its first line.
func text(keep func(*host.Facts, string)) parser {
	return func(r *reading, s *section) error {
		if first := clean(s.first()); first != "" {
			keep(&r.facts, first)
		}
		return nil
	}
}

// clean makes what a host prints of itself fit for showing.
func clean(text string) string {
	text = strings.TrimSpace(printable.Line(text))
	return strings.ToValidUTF8(text[:min(len(text), maxWord)], "")
}

// device gives the interface of a name, a new one if there is none yet.
func (r *reading) device(name string) *host.Interface {
	if n := r.known(name); n != nil {
		return n
	}
	r.facts.Interfaces = append(r.facts.Interfaces, host.Interface{Name: name})
	return &r.facts.Interfaces[len(r.facts.Interfaces)-1]
}

// known gives the interface of a name, nil if the host has none.
func (r *reading) known(name string) *host.Interface {
	if r.places == nil {
		r.places = map[string]int{}
	}
	for ; r.placed < len(r.facts.Interfaces); r.placed++ {
		one := r.facts.Interfaces[r.placed].Name
		if _, there := r.places[one]; !there {
			r.places[one] = r.placed
		}
	}
	if i, ok := r.places[name]; ok {
		return &r.facts.Interfaces[i]
	}
	return nil
}

// manager adds what else sets tunables, once.
func (r *reading) manager(name, sets string) {
	m := host.Manager{Name: name, Sets: sets}
	if !slices.Contains(r.facts.Managers, m) && len(r.facts.Managers) < maxManagers {
		r.facts.Managers = append(r.facts.Managers, m)
	}
}

// sizeOf is 10 MB for "10", "MB"; 0 where that is no number.
func sizeOf(number string, unit int64) int64 {
	var n int64
	if !isNumber(number) {
		return 0
	}
	if _, err := fmt.Sscan(number, &n); err != nil || n > maxMemory/unit {
		return 0
	}
	return n * unit
}

// number writes one.
func number(n int) string { return strconv.Itoa(n) }
