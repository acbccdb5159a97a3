package format

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/plan"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/tunable"
)

// sheet is the part of a plan for one host.
type sheet struct {
	host     *host.Facts
	settings []setting // in the order in which they are to be made
	left     []left
}

// setting is a tunable and the value that it is to have.
type setting struct {
	plan.Change
	entry    *tunable.Tunable
	instance string // the interface, mount or route; "": none
}

// left is a planned change that is not made, and why.
type left struct{ name, value, why string }

// newSheet settles on one value for every tunable, and leaves out what cannot
// be carried out safely.
func newSheet(p *plan.Plan, h *host.Facts) *sheet {
	s := &sheet{host: h}
	for _, c := range settled(p, h.Name) {
		one, err := examine(c, h)
		if err != nil {
			s.left = append(s.left, left{c.Tunable, c.To, err.Error()})
			continue
		}
		s.settings = append(s.settings, one)
	}
	s.settings = ordered(s.settings)
	return s
}

// settled is what a host ends up with: of every tunable its last change, From
// its first.
func settled(p *plan.Plan, host string) []plan.Change {
	var out []plan.Change
	for _, s := range p.Steps {
		for _, c := range s.Changes {
			if c.Host != host {
				continue
			}
			at := slices.IndexFunc(out, func(o plan.Change) bool { return o.Tunable == c.Tunable })
			if at < 0 {
				out = append(out, c)
				continue
			}
			c.From = out[at].From
			out[at] = c
		}
	}
	return out
}

// examine holds a change against the catalogue: a plan may come from a file.
func examine(c plan.Change, h *host.Facts) (setting, error) {
	entry, ok := tunable.Lookup(h.OS, c.Tunable)
	if !ok {
		return setting{}, fmt.Errorf("the catalogue of %s does not have it", h.OS)
	}
	_, instance := tunable.Split(c.Tunable)
	switch {
	case entry.Leave != "":
		return setting{}, fmt.Errorf("it is left alone: %s", entry.Leave)
	case !entry.Applies(h.Version):
		why := strings.TrimSpace(h.OS+" "+h.Version) + " does not have it, or it has no effect there"
		if entry.Obsolete != "" {
			why += ": " + entry.Obsolete
		}
		return setting{}, errors.New(why)
	case entry.Scope.Instanced() != (instance != ""):
		return setting{}, fmt.Errorf("it is a tunable of the %s: its name must say so, and be followed by @ only where there are several", entry.Scope)
	}
	if err := checkInstance(entry.Scope, instance); err != nil {
		return setting{}, err
	}
	if err := entry.Check(c.To); err != nil {
		return setting{}, err
	}
	c.From, c.To = tunable.Normalise(c.From), tunable.Normalise(c.To)
	return setting{c, entry, instance}, nil
}

// maxInstance bounds the names of interfaces, mounts and routes, and of hosts and
// profiles, in bytes. Paths of mounts are the longest; what is longer is no name
// that anyone gave.
const maxInstance = 255

// checkInstance refuses names that no system would have, and that commands would
// take for something else: an option, another directory, the end of a line.
func checkInstance(scope tunable.Scope, name string) error {
	switch {
	case name == "":
		return nil
	case len(name) > maxInstance || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("its name is longer than %d bytes or cannot be printed", maxInstance)
	case strings.HasPrefix(name, "-") || strings.ContainsAny(name, "|"):
		return fmt.Errorf("commands would not take %q for a name", name)
	case scope == tunable.OfInterface && (name == "." || name == ".." || strings.ContainsAny(name, `/\"*?<>`)):
		return fmt.Errorf("%q is not the name of an interface", name)
	}
	return nil
}

// ordered puts every setting behind those that have to come before it, and
// otherwise leaves the plan's order.
func ordered(in []setting) []setting {
	out := make([]setting, 0, len(in))
	for len(in) > 0 {
		next := slices.IndexFunc(in, func(s setting) bool { return len(s.after(in)) == 0 })
		next = max(next, 0) // a circle: the catalogue's tests exclude it
		out = append(out, in[next])
		in = slices.Delete(slices.Clone(in), next, next+1)
	}
	return out
}

// after gives the names of those among others that have to be set before s.
func (s *setting) after(others []setting) []string {
	var names []string
	for _, o := range others {
		if o.Tunable != s.Tunable && slices.ContainsFunc(s.entry.After, func(name string) bool {
			return o.Tunable == name || o.Tunable == tunable.Join(name, s.instance)
		}) {
			names = append(names, o.Tunable)
		}
	}
	return names
}

// split parts the settings into those that a format can express, and those that
// it cannot, with the reason.
func (s *sheet) split(why func(*setting) string) *sheet {
	part := &sheet{host: s.host, left: slices.Clone(s.left)}
	for _, one := range s.settings {
		if reason := why(&one); reason != "" {
			part.left = append(part.left, left{one.Tunable, one.To, reason})
		} else {
			part.settings = append(part.settings, one)
		}
	}
	return part
}

// intro begins every file: what it is and for whom.
func (s *sheet) intro(w *page, how ...string) {
	name := printable.Line(strings.TrimSpace(s.host.Name))
	w.comment(fmt.Sprintf("Settings for bulk transfers on %s (%s), planned by fullbore.", name, printable.Line(strings.TrimSpace(s.host.OS+" "+s.host.Version))))
	for _, line := range how {
		w.comment(line)
	}
	if len(s.settings)+len(s.left) == 0 {
		w.comment("Nothing is planned for it.")
	} else if len(s.settings) == 0 {
		w.comment("Nothing that is planned for it can be set this way.")
	}
}

// leftOut says what is not set, and why.
func (s *sheet) leftOut(w *page) {
	for i, l := range s.left {
		if i == 0 {
			w.blank()
		}
		w.comment(fmt.Sprintf("Not set here: %s = %s: %s.", l.name, l.value, strings.TrimRight(l.why, ". ")))
	}
}

// about is a setting's comment, for what calls it by its name.
func (s *setting) about(w *page) {
	s.because(w, s.Why)
}

// aboutNamed is a setting's comment, for what calls it something else.
func (s *setting) aboutNamed(w *page) {
	s.because(w, s.Tunable+": "+s.Why)
}

func (s *setting) because(w *page, why string) {
	w.comment(why)
	effect := string(s.entry.Effect)
	if s.entry.Also != "" {
		effect += " (" + s.entry.Also + ")"
	}
	w.comment("Was: " + s.From + ". Counts for: " + effect + ".")
	if s.entry.Bounces {
		w.comment("Setting it can take the link down for a moment.")
	}
	w.comment("Source: " + s.Source)
}
