package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/internal/golden"
)

// Everything that is found in the scenes of a test, with all figures, against
// testdata/findings: what a change of the rules does elsewhere shows there.
type findings struct{ text strings.Builder }

// add writes down a diagnosis: with its evidence and words, or in a line a finding.
func (all *findings) add(name string, d Diagnosis, whole bool) {
	fmt.Fprintf(&all.text, "%s\n  verdict %s %v\n", name, d.Verdict.Cause, d.Verdict.Confidence)
	for _, f := range d.Findings {
		fmt.Fprintf(&all.text, "  %s %v, weight %.3g, gain %.4g, predicted %.4g\n", f.Cause, f.Confidence, f.weight, f.Gain, float64(f.Predicted))
		if !whole {
			continue
		}
		fmt.Fprintf(&all.text, "    %s\n    %s\n", f.Says, f.Action)
		for _, fact := range f.Evidence {
			fmt.Fprintf(&all.text, "    %s %.4g %s: %s\n", fact.Name, fact.Value, fact.Unit, fact.Says)
		}
	}
	if n := d.Next; n != nil {
		fmt.Fprintf(&all.text, "  next %s: streams %d, congestion %q, pace %.4g, MSS %d\n", n.Kind, n.Spec.Streams, n.Spec.Congest, float64(n.Spec.Pace), n.Spec.MSS)
		for _, x := range n.Expects {
			fmt.Fprintf(&all.text, "    %s %.4g: %s\n", x.Cause, float64(x.Goodput), x.Says)
		}
	}
}

func (all *findings) check(t *testing.T) {
	t.Helper()
	golden.Check(t, "findings/"+t.Name()+".txt", all.text.String())
}
