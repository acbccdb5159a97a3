package plan

import (
	"fmt"
	"io"
	"strings"

	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// columns of a terminal as most people have it.
const columns = 80

// WriteText writes a plan for people. What is prose is wrapped; names and values
// are not, so that they can be copied.
func WriteText(w io.Writer, p *Plan) error {
	var text strings.Builder
	switch {
	case len(p.Steps) == 0 && len(p.Notes) == 0:
		fmt.Fprintln(&text, "Nothing is planned: what is set is right for this path.")
	case len(p.Steps) == 0:
		fmt.Fprintln(&text, "Nothing is planned.")
	}
	for i, s := range p.Steps {
		prose(&text, fmt.Sprintf("%d. ", i+1), s.Idea+predicted(s.Predicted))
		for _, c := range s.Changes {
			fmt.Fprintf(&text, "   %s: %s\n", printable.Line(c.Host), printable.Line(c.Tunable))
			fmt.Fprintf(&text, "      from  %s\n", printable.Line(c.From))
			fmt.Fprintf(&text, "      to    %s\n", printable.Line(c.To))
			prose(&text, "      why   ", c.Why)
			prose(&text, "      see   ", c.Source)
		}
		if s.Risk != "" {
			prose(&text, "   Risk: ", s.Risk)
		}
	}
	if len(p.Notes) > 0 {
		fmt.Fprintln(&text, "\nNotes:")
		for _, n := range p.Notes {
			prose(&text, "- ", n)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func predicted(rate unit.Rate) string {
	if rate <= 0 {
		return ""
	}
	return fmt.Sprintf(" (predicted: %v)", rate)
}

// prose writes a paragraph behind what it begins with.
func prose(w io.Writer, begin, text string) {
	for _, line := range printable.Hang(begin, text, columns) {
		fmt.Fprintln(w, line)
	}
}
