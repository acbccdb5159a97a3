package report

import (
	"bytes"
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
	var plain, styled bytes.Buffer
	Explanation(&plain, explanation(t, diagnose.RandomLoss), Style{})
	Explanation(&styled, explanation(t, diagnose.RandomLoss), Style{Terminal: true})
	golden.Check(t, "explanation.txt", plain.Bytes())
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
