package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/internal/golden"
)

// docs/causes.md is what --explain says; go test ./report -update writes it anew.
func TestManualOfCauses(t *testing.T) {
	var doc bytes.Buffer
	doc.WriteString("# Causes\n\nWhat a bulk transfer may be limited by: the physics, how fullbore recognises it, and what to do.\n" +
		"`fullbore diagnose --explain CAUSE` prints the same. This file is generated from [diagnose/explain](../diagnose/explain).\n\n")
	for _, c := range diagnose.Causes {
		doc.WriteString("- [" + c.ID + "](#" + c.ID + "): " + c.Means + "\n")
	}
	for _, c := range diagnose.Causes {
		doc.WriteString("\n")
		ExplanationMarkdown(&doc, explanation(t, c.ID))
	}
	doc.WriteString("\n## The order in which causes are judged\n\n" +
		"Each cause is looked for once, in this order: first the limits of the two ends, then what lies between them. A cause is not claimed where one that it yields to was found.\n" +
		"What shows in the network alone is looked at only where no processor is the limit, and where no trial that asked the network for more met a limit of a host.\n" +
		"The verdict is the finding that held the sender back for most of the time, weighted by how sure it is; of two that come to the same, the earlier one in this list.\n\n")
	for i, o := range diagnose.Order() {
		fmt.Fprintf(&doc, "%d. %s\n", i+1, o.Cause)
		for _, y := range o.Yields {
			surely := ""
			if y.Surely {
				surely = ", if that is sure"
			}
			fmt.Fprintf(&doc, "   - yields to %s%s: %s\n", y.To, surely, y.Why)
		}
	}
	golden.Check(t, "../../docs/causes.md", doc.Bytes())
}

// An explanation is one or two screens: nobody reads more.
func TestExplanationFits(t *testing.T) {
	for _, c := range diagnose.Causes {
		var out bytes.Buffer
		Explanation(&out, explanation(t, c.ID), Style{})
		lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
		if len(lines) > 60 {
			t.Errorf("%s: %d lines, want at most 60", c.ID, len(lines))
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > columns {
				t.Errorf("%s: longer than %d columns: %s", c.ID, columns, line)
			}
		}
	}
}

func TestExplanation(t *testing.T) {
	var unstyled, styled bytes.Buffer
	Explanation(&unstyled, explanation(t, diagnose.RandomLoss), Style{})
	Explanation(&styled, explanation(t, diagnose.RandomLoss), Style{Terminal: true})
	golden.Check(t, "explanation.txt", unstyled.Bytes())
	golden.Check(t, "explanation-terminal.txt", styled.Bytes())
}

func explanation(t *testing.T, cause string) *diagnose.Explanation {
	t.Helper()
	e, err := diagnose.Explain(cause)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
