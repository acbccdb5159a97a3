package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/tunable"
)

// Tunable is an entry of the catalogue as a version of its system has it, and what
// a host has.
type Tunable struct {
	*tunable.Tunable
	System    *tunable.System `json:"-"`
	Of        string          `json:"system"`  // id of System
	Version   string          `json:"version"` // of the system
	Instance  string          `json:"-"`       // "eth0", if only that is asked for
	State     tunable.State   `json:"state"`
	WhyNot    string          `json:"why_not,omitempty"` // not present in the version: why
	Default   *string         `json:"default,omitempty"` // in the version; nil: none is known
	Present   []Present       `json:"present,omitempty"` // on this host, of each instance
	Elsewhere []string        `json:"elsewhere,omitempty"`
}

// Present is what this host has.
type Present struct {
	Name     string `json:"name"` // with the instance, if there are any
	Value    string `json:"value"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

// NewTunable says what a version of a system makes of one of its tunables. The name
// may have an instance.
func NewTunable(s *tunable.System, version, name string) (*Tunable, bool) {
	known, ok := tunable.Lookup(s.ID, name)
	if !ok {
		return nil, false
	}
	_, instance := tunable.Split(name)
	t := &Tunable{Tunable: known, System: s, Of: s.ID, Version: version, Instance: instance, State: known.In(version), WhyNot: known.WhyNot(version)}
	if d := known.DefaultIn(version); d != nil {
		t.Default = &d.Value
	}
	t.Elsewhere = slices.DeleteFunc(tunable.Having(name), func(id string) bool { return id == s.ID })
	return t, true
}

// On adds what a host has, whose values go by names with instances.
func (t *Tunable) On(values map[string]string, readOnly []string) {
	for name, value := range values {
		base, instance := tunable.Split(name)
		if base == t.Name && (t.Instance == "" || t.Instance == instance) {
			t.Present = append(t.Present, Present{Name: name, Value: value, ReadOnly: slices.Contains(readOnly, name)})
		}
	}
	slices.SortFunc(t.Present, func(a, b Present) int { return cmp.Compare(a.Name, b.Name) })
}

// scopes says what one value holds for, in the order of the list.
var scopes = []struct {
	scope    tunable.Scope
	one      string // "" is for the system to say
	instance string // what stands behind the @, in capitals as in usage
}{
	{tunable.OfNamespace, "", ""},
	{tunable.OfHost, "host", ""},
	{tunable.OfInterface, "interface", "INTERFACE"},
	{tunable.OfMount, "mount", "MOUNTPOINT"},
	{tunable.OfRoute, "route", "PREFIX"},
}

// namespaces is what systems call a network stack of its own on a host.
var namespaces = map[string]string{
	"linux": "network namespace", "freebsd": "VNET jail", "solaris": "exclusive-IP zone", "illumos": "exclusive-IP zone",
}

// Columns of the list.
const (
	nameWidth = 42 // net.ipv4.tcp_available_congestion_control
	listWidth = columns - nameWidth - 4
)

// Tunables lists all tunables of a system with what a version has by default.
func Tunables(w io.Writer, s *tunable.System, version string, all []*Tunable, style Style) {
	m := &manual{w: w, style: style}
	m.lines("", fmt.Sprintf("%s: %d tunables with their defaults. fullbore tunables NAME shows all that is known of one.", versionNamed(s, version), len(all)), nil)
	unsure := false
	for _, of := range scopes {
		here := slices.DeleteFunc(slices.Clone(all), func(t *Tunable) bool { return t.Scope != of.scope })
		if len(here) == 0 {
			continue
		}
		heading := "Of each " + cmp.Or(of.one, namespaces[s.ID], "network stack")
		if of.instance != "" {
			heading += ", NAME@" + of.instance
		} else if of.scope == tunable.OfHost {
			heading = "Of the host"
		}
		m.heading(heading)
		for _, t := range here {
			says, sure := t.summary()
			unsure = unsure || !sure
			for i, line := range printable.Wrap(says, listWidth) {
				text := fmt.Sprintf("  %-*s  %s", nameWidth, first(i, t.Name), line)
				if t.State != tunable.Present {
					text = style.faint(text)
				}
				fmt.Fprintln(w, strings.TrimRight(text, " "))
			}
		}
	}
	if unsure {
		fmt.Fprintln(w)
		m.lines("", "(?) not checked against a source", nil)
	}
}

// versionNamed is a version with the names of its releases: "Windows 5.2 (Windows
// Server 2003)".
func versionNamed(s *tunable.System, version string) string {
	name := s.Title + " " + version
	var names []string
	for _, r := range s.Releases {
		if r.Version == version && r.Name != name {
			names = append(names, r.Name)
		}
	}
	if len(names) == 0 {
		return name
	}
	return name + " (" + strings.Join(names, ", ") + ")"
}

// released is a version, of Windows with the release that brought it: few know
// its versions by number.
func released(s *tunable.System, version string) string {
	if s.ID == "windows" {
		for _, r := range s.Releases {
			if r.Version == version {
				return version + " (" + r.Name + ")"
			}
		}
	}
	return version
}

// summary is what a list says of a tunable, and whether that is sure.
func (t *Tunable) summary() (says string, sure bool) {
	switch {
	case t.State == tunable.NotYet:
		return "since " + released(t.System, t.Since), true
	case t.State == tunable.Obsolete:
		return "obsolete since " + released(t.System, t.Until), true
	case t.Default == nil:
		return "the host's own", true
	}
	says = *t.Default
	if t.Unit != "" {
		says += " " + t.Unit
	}
	if d := t.DefaultIn(t.Version); d != nil && !d.Verified {
		return says + " (?)", false
	}
	return says, true
}

// TunablePage writes all that is known of a tunable, like a page of a manual.
func TunablePage(w io.Writer, t *Tunable, style Style) {
	m := &manual{w: w, style: style}
	m.lines("", t.Name+": "+t.About, style.bold)
	if t.WhyNot != "" {
		fmt.Fprintln(w)
		m.lines("  ", fmt.Sprintf("In %s: %s.", versionNamed(t.System, t.Version), t.WhyNot), style.yellow)
	}
	m.heading("Value")
	m.paragraph(t.values())
	if t.Rising {
		m.paragraph("never set below what the host has")
	}
	if t.Within != "" {
		m.paragraph("never above " + t.Within)
	}
	if t.Leave != "" {
		m.paragraph("never set by fullbore: " + t.Leave)
	}
	t.defaults(m)
	m.heading("Holds for")
	m.paragraph(t.holds())
	m.heading("Takes effect")
	m.paragraph(t.takesEffect())
	if len(t.After) > 0 {
		m.heading("Order")
		m.paragraph("raised after " + strings.Join(t.After, " and ") + ", where they are raised too; put back before them")
	}
	t.howTo(m)
	m.heading("Versions")
	m.paragraph(t.versions())
	m.heading("Risk")
	m.paragraph(t.Risk)
	m.heading("Source")
	m.paragraph(t.Source.Title)
	m.verbatim(t.Source.URL + "\n")
	m.paragraph(sure(t.Source.Verified))
	if len(t.Present) > 0 {
		m.heading("This host")
		for _, p := range t.Present {
			says := ""
			if p.ReadOnly {
				says = "cannot be set here"
			}
			m.item(printable.Line(fmt.Sprintf("%s = %s", p.Name, p.Value)), says)
		}
	}
	if len(t.Elsewhere) > 0 {
		m.heading("Also")
		var commands []string
		for _, id := range t.Elsewhere {
			commands = append(commands, "fullbore tunables --os "+id+" "+t.Name)
		}
		m.paragraph("Of the same name on other systems: " + strings.Join(commands, ", ") + ".")
	}
}

func sure(verified bool) string {
	if verified {
		return "checked against it, or on a host"
	}
	return "not checked against it: general knowledge"
}

// values says what a value looks like.
func (t *Tunable) values() string {
	unit := ""
	if t.Unit != "" {
		unit = " of " + t.Unit
	}
	switch t.Kind {
	case tunable.Bool:
		return "0 (off) or 1 (on)"
	case tunable.Int:
		return fmt.Sprintf("a number%s, %d to %d", unit, t.Min, t.Max)
	case tunable.Triplet:
		return fmt.Sprintf("three numbers%s: minimum, default, maximum; none below the one before; %d to %d", unit, t.Min, t.Max)
	case tunable.Word, tunable.Words:
		says := "a name"
		if t.Kind == tunable.Words {
			says = "names"
		}
		if len(t.Choices) > 0 {
			return says + ": " + strings.Join(t.Choices, ", ")
		}
		return says + " that the host knows"
	case tunable.Mask:
		return "a mask of processors: hexadecimal digits, the first processor last, a comma before every 8 of them"
	}
	return string(t.Kind)
}

func (t *Tunable) defaults(m *manual) {
	m.heading("Default")
	if len(t.Defaults) == 0 {
		m.paragraph(cmp.Or(t.Varies, "the host's own"))
		return
	}
	width, inForce := 0, t.DefaultIn(t.Version)
	for _, d := range t.Defaults {
		width = max(width, len(d.From))
	}
	for i := range t.Defaults {
		d := &t.Defaults[i]
		line := fmt.Sprintf("since %-*s  %s", width, d.From, d.Value)
		if t.Unit != "" {
			line += " " + t.Unit
		}
		if !d.Verified {
			line += " (not checked)"
		}
		if d == inForce && t.State == tunable.Present {
			line = m.style.bold(line + "  <- " + t.Version)
		}
		fmt.Fprintln(m.w, "  "+line)
	}
	if t.Varies != "" {
		m.paragraph(t.Varies)
	}
}

func (t *Tunable) holds() string {
	for _, of := range scopes {
		switch {
		case of.scope != t.Scope:
		case of.instance != "":
			return fmt.Sprintf("one %s: %s", of.one, tunable.Join(t.Name, cmp.Or(printable.Line(t.Instance), of.instance)))
		case of.one == "":
			return "one " + cmp.Or(namespaces[t.System.ID], "network stack") + ": each has its own" + t.before()
		default:
			return "the whole " + of.one
		}
	}
	return string(t.Scope)
}

// before says what held for versions that came before a system's namespaces, where
// the tunable is older than those.
func (t *Tunable) before() string {
	switch {
	case t.System.ID == "linux" && (t.Since == "" || tunable.Older(t.Since, "4.15")):
		return "; before 4.15 most of these were of the whole host"
	case t.System.ID == "solaris" && !t.Applies("11"):
		return "; there are none before Solaris 10, where it is of the whole host"
	}
	return ""
}

func (t *Tunable) takesEffect() string {
	says := map[tunable.Effect]string{
		tunable.AtOnce: "at once", tunable.NewConnections: "for new connections", tunable.NextCall: "at the application's next call",
		tunable.NewDevices: "for new devices", tunable.NewMounts: "for new mounts", tunable.RestartService: "when the service restarts",
		tunable.RestartInterface: "when the interface restarts", tunable.Reboot: "after a reboot",
	}[t.Effect]
	if t.Also != "" {
		says += "; " + t.Also
	}
	if t.Bounces {
		says += "; setting it can take the link down for a moment"
	}
	return says
}

// howTo shows the steps. They are meant to be copied, so only alternatives get lines of
// their own, and the line of a file stands apart from its name.
func (t *Tunable) howTo(m *manual) {
	m.heading("How to")
	instance := printable.Line(t.Instance)
	for _, of := range scopes {
		if of.scope == t.Scope {
			instance = cmp.Or(instance, of.instance)
		}
	}
	steps := t.Fill(t.Name, "VALUE", instance)
	for _, step := range []struct{ what, run string }{{"read", steps.Read}, {"set", steps.Live}, {"persist", steps.Persist}, {"unset", steps.Unset}} {
		if step.run == "" {
			continue
		}
		for i, run := range strings.Split(step.run, "; or ") {
			what := step.what
			if i > 0 {
				what = "or"
			}
			line, file, inFile := strings.Cut(run, " in /etc/")
			if inFile && !strings.HasPrefix(run, "take ") {
				fmt.Fprintf(m.w, "  %-8s in /etc/%s:\n           %s\n", what, file, line)
				continue
			}
			fmt.Fprintf(m.w, "  %-8s %s\n", what, run)
		}
	}
}

func (t *Tunable) versions() string {
	switch {
	case t.Since != "" && t.Until != "":
		return fmt.Sprintf("%s since %s, obsolete since %s: %s", t.System.Title, released(t.System, t.Since), released(t.System, t.Until), t.Obsolete)
	case t.Until != "":
		return fmt.Sprintf("%s, obsolete since %s: %s", t.System.Title, released(t.System, t.Until), t.Obsolete)
	case t.Since != "":
		return fmt.Sprintf("%s since %s", t.System.Title, released(t.System, t.Since))
	}
	return t.System.Title + ", all versions"
}
