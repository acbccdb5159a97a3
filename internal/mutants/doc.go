//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// docMark: the document is written from here to its end.
const docMark = "<!-- internal/mutants writes from here to the end -->\n"

// tally counts the mutants of a package by what became of them.
type tally struct {
	killed, timedOut, equal, explained, open int
}

func (t *tally) all() int { return t.killed + t.timedOut + t.equal + t.explained + t.open }

func (t *tally) plus(u *tally) {
	t.killed += u.killed
	t.timedOut += u.timedOut
	t.equal += u.equal
	t.explained += u.explained
	t.open += u.open
}

func (t *tally) row(name string) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %.1f %% | %d | %d | %d |\n", name, t.all(), t.killed, t.timedOut,
		100*float64(t.killed+t.timedOut)/float64(max(t.all(), 1)), t.equal, t.explained, t.open)
}

// writeDoc writes the table of all packages that have results, the survivors that
// are explained, and the others.
func writeDoc(o *options) error {
	old, err := os.ReadFile(o.doc)
	if err != nil {
		return err
	}
	intro, _, ok := bytes.Cut(old, []byte(docMark))
	if !ok {
		return fmt.Errorf("%s: no line %q", o.doc, strings.TrimSpace(docMark))
	}
	files, err := filepath.Glob(filepath.Join(o.keep, "*.txt"))
	if err != nil {
		return err
	}
	var rows, explained, open strings.Builder
	var total tally
	var failed error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var path, sum, tests string
		var mutants int
		if _, err := fmt.Sscan(string(text), &path, &sum, &tests, &mutants); err != nil {
			return fmt.Errorf("%s: %w: remove it", file, err)
		}
		why, err := explain(o.explained, path)
		if err != nil {
			return err
		}
		t := sorted(path, found(string(text)), why, &explained, &open)
		name := path
		if t.all() < mutants {
			name = fmt.Sprintf("%s (so far, of %d)", path, mutants)
		} else if err := why.idle(); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", path, err))
		}
		rows.WriteString(t.row(name))
		total.plus(&t)
	}
	doc := string(intro) + docMark +
		"\n| package | mutants | killed | timed out | killed or timed out | survived: equal to the last bit | survived: explained | survived: open |\n|---|---|---|---|---|---|---|---|\n" +
		rows.String() + total.row("all") +
		"\n## Survivors that are explained\n" + explained.String() +
		"\n## Survivors that are open\n" + open.String()
	return errors.Join(failed, os.WriteFile(o.doc, []byte(doc), 0o644))
}

// sorted counts a package's findings, and lists the survivors where they belong.
func sorted(path string, findings []finding, why explanations, explained, open *strings.Builder) tally {
	var t tally
	var lines [2]strings.Builder
	same := map[string]int{}
	for i := range findings {
		f := &findings[i]
		place := f.At[:strings.LastIndexByte(f.At, ':')]
		same[place+f.What]++
		switch f.outcome {
		case killed:
			t.killed++
			continue
		case timedOut:
			t.timedOut++
			continue
		}
		if strings.HasSuffix(f.What, ofMeasured) {
			t.equal++
		} else if reason := why.of(f, same[place+f.What]); reason != "" {
			t.explained++
			fmt.Fprintf(&lines[0], "- %s/%s: %s. %s\n", path, f.At, f.What, reason)
		} else {
			t.open++
			fmt.Fprintf(&lines[1], "- %s/%s: %s (%s): `%s`\n", path, f.At, f.What, f.outcome, f.Line)
		}
	}
	for i, to := range []*strings.Builder{explained, open} {
		if lines[i].Len() > 0 {
			fmt.Fprintf(to, "\n%s:\n\n%s", path, lines[i].String())
		}
	}
	return t
}
