package diagnose

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// WriteText writes a diagnosis for people: the verdict with all it rests on,
// then the other findings in a line each.
func WriteText(w io.Writer, d Diagnosis) error {
	var text strings.Builder
	v := d.Verdict
	fmt.Fprintf(&text, "Verdict: %s", v.Cause)
	if v.Confidence > 0 {
		fmt.Fprintf(&text, " (%.0f %% sure)", 100*v.Confidence)
	}
	fmt.Fprintf(&text, "\n%s\n", printable(v.Says))
	if len(v.Evidence) > 0 {
		fmt.Fprintln(&text, "\nEvidence:")
	}
	for _, e := range v.Evidence {
		fmt.Fprintf(&text, "- %s\n", printable(e.Says))
	}
	fmt.Fprintf(&text, "\nWhat to do: %s.\n", printable(v.Action))
	if v.Gain >= worthwhile {
		fmt.Fprintf(&text, "Expected then: %v, %.3g times as much.\n", v.Predicted, v.Gain)
	}
	others := false
	for _, f := range d.Findings {
		if f.Cause == v.Cause || v.Cause == Healthy && f.Cause == PathCapacity {
			continue
		}
		if !others {
			fmt.Fprintln(&text, "\nAlso seen:")
			others = true
		}
		fmt.Fprintf(&text, "- %s (%.0f %% sure): %s\n", f.Cause, 100*f.Confidence, printable(f.Says))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// printable keeps what the far end sent from acting on a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
