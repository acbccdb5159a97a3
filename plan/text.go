package plan

import (
	"fmt"
	"io"
	"strings"

	"github.com/fullbore/fullbore/printable"
)

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
