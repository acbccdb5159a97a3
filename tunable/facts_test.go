package tunable

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/internal/golden"
)

// What plans and changes rely on, a line for each tunable, beside the sources' own
// words elsewhere in these tests: no range, order, version or default changes here
// without being seen, as it can where one entry is copied to make the next.
func TestFacts(t *testing.T) {
	var out bytes.Buffer
	for _, id := range Systems() {
		s, err := Of(id)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Tunables {
			k := &s.Tunables[i]
			fmt.Fprintf(&out, "%s %s: %s", id, k.Name, k.Kind)
			for _, part := range []struct{ what, says string }{
				{"of", k.Unit}, {"in", numbersBetween(k)}, {"one of", strings.Join(k.Choices, " ")}, {"per", string(k.Scope)}, {"effect", string(k.Effect)},
				{"since", k.Since}, {"until", k.Until}, {"after", strings.Join(k.After, " ")}, {"within", k.Within}, {"defaults", defaults(k)},
			} {
				if part.says != "" {
					fmt.Fprintf(&out, "; %s %s", part.what, part.says)
				}
			}
			for _, part := range []struct {
				says string
				so   bool
			}{{"rising", k.Rising}, {"bounces", k.Bounces}, {"left alone", k.Leave != ""}} {
				if part.so {
					fmt.Fprintf(&out, "; %s", part.says)
				}
			}
			fmt.Fprintln(&out)
		}
	}
	golden.Check(t, "facts.txt", out.Bytes())
}

func numbersBetween(t *Tunable) string {
	if t.Kind != Int && t.Kind != Triplet {
		return ""
	}
	return fmt.Sprintf("%d..%d", t.Min, t.Max)
}

// defaults has a ? behind what is not verified.
func defaults(t *Tunable) string {
	var all []string
	for _, d := range t.Defaults {
		sure := "?"
		if d.Verified {
			sure = ""
		}
		all = append(all, d.From+": "+d.Value+sure)
	}
	return strings.Join(all, ", ")
}
