package plan

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/printable"
)

// WriteSysctl writes one host's part of a plan as a sysctl.d(5) file, with the
// reason for every line. Where several steps set the same tunable, the last one
// counts.
func WriteSysctl(w io.Writer, p *Plan, host string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# Settings for bulk transfers on %s, planned by fullbore.\n", printable.Line(host))
	fmt.Fprintf(&text, "# Install as /etc/sysctl.d/90-fullbore.conf; load with: sysctl -p /etc/sysctl.d/90-fullbore.conf\n")
	changes := settled(p, host)
	if len(changes) == 0 {
		fmt.Fprintf(&text, "# Nothing is planned for it.\n")
	}
	for _, c := range changes {
		fmt.Fprintf(&text, "\n")
		comment(&text, c.Why)
		comment(&text, "Was: "+c.From+". Source: "+c.Source)
		fmt.Fprintf(&text, "%s = %s\n", printable.Line(c.Tunable), printable.Line(c.To))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// WriteText writes a plan for people.
func WriteText(w io.Writer, p *Plan) error {
	var text strings.Builder
	if len(p.Steps) == 0 {
		fmt.Fprintln(&text, "Nothing is planned.")
	}
	for i, s := range p.Steps {
		fmt.Fprintf(&text, "%d. %s", i+1, printable.Line(s.Idea))
		if s.Predicted > 0 {
			fmt.Fprintf(&text, " (predicted: %v)", s.Predicted)
		}
		fmt.Fprintln(&text)
		for _, c := range s.Changes {
			fmt.Fprintf(&text, "   %s: %s\n      from  %s\n      to    %s\n      why   %s\n      see   %s\n",
				printable.Line(c.Host), printable.Line(c.Tunable), printable.Line(c.From), printable.Line(c.To), printable.Line(c.Why), printable.Line(c.Source))
		}
		if s.Risk != "" {
			fmt.Fprintf(&text, "   Risk: %s\n", printable.Line(s.Risk))
		}
	}
	if len(p.Notes) > 0 {
		fmt.Fprintln(&text, "\nNotes:")
		for _, n := range p.Notes {
			fmt.Fprintf(&text, "- %s\n", printable.Line(n))
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// settled is what a host ends up with: of every tunable its last change, From
// its first.
func settled(p *Plan, host string) []Change {
	var out []Change
	for _, s := range p.Steps {
		for _, c := range s.Changes {
			if c.Host != host {
				continue
			}
			at := slices.IndexFunc(out, func(o Change) bool { return o.Tunable == c.Tunable })
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

// comment writes text behind number signs, in lines of at most 78 columns.
func comment(w *strings.Builder, text string) {
	line := "#"
	for word := range strings.FieldsSeq(printable.Line(text)) {
		if len(line)+1+len(word) > 78 && line != "#" {
			fmt.Fprintln(w, line)
			line = "#"
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}
