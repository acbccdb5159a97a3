package twin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/printable"
)

// YAML is the scenario as a file: every value with how it is known behind it, and
// what is known of keys that are left out as a comment in their place.
func (t *Twin) YAML() string {
	var w strings.Builder
	comment := func(text string) {
		for _, line := range printable.Wrap(text, 110) {
			fmt.Fprintf(&w, "# %s\n", line)
		}
	}
	comment("The twin of a measured path, made by fullbore lab twin from run " + t.Run + ".")
	comment("a is " + t.From + ", which sent, b is " + t.To + ", which received. " + t.outcome())
	comment("Behind each value stands how it is known: measured, inferred (by a law or a model), at least, at most, or assumed, as nothing shows it.")
	for _, lack := range t.Lacks {
		comment("Not in the twin: " + lack + ".")
	}
	var at []string // the keys that are open
	for i := range t.Keys {
		k := &t.Keys[i]
		above := k.at[:len(k.at)-1]
		if k.Value != "" || i > 0 && !slices.Equal(above, at) {
			common := 0
			for common < len(above) && common < len(at) && above[common] == at[common] {
				common++
			}
			for j := common; j < len(above); j++ {
				fmt.Fprintf(&w, "%s%s:\n", strings.Repeat("  ", j), above[j])
			}
			at = above
		}
		indent := strings.Repeat("  ", len(above))
		if k.Value == "" {
			fmt.Fprintf(&w, "%s# %s: none; %s: %s\n", indent, k.at[len(above)], k.Known(), printable.Line(k.Why))
			continue
		}
		fmt.Fprintf(&w, "%s%s: %s%s\n", indent, k.at[len(above)], k.Value, k.comment())
	}
	return w.String()
}

// comment is what stands behind a value.
func (k *Key) comment() string {
	if k.Why == "" {
		return ""
	}
	return fmt.Sprintf(" # %s: %s", k.Known(), printable.Line(k.Why))
}

// outcome is what the run came to.
func (t *Twin) outcome() string {
	says := "Measured there: " + t.Before.String()
	if t.Verdict != "" {
		says = "Verdict there: " + printable.Line(t.Verdict) + ", at " + t.Before.String()
	}
	if t.After > 0 {
		says += ", and " + t.After.String() + " once it was tuned"
	}
	return says + "."
}

// quoted is a text as a YAML string of one line.
func quoted(text string) string {
	var w strings.Builder
	w.WriteByte('"')
	for _, r := range printable.Line(text) {
		switch {
		case r == '"' || r == '\\':
			w.WriteByte('\\')
			w.WriteRune(r)
		case r < ' ' || r > '~':
			w.WriteByte('?')
		default:
			w.WriteRune(r)
		}
	}
	w.WriteByte('"')
	return w.String()
}
