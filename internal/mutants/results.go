//go:build linux

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// results of a package lie in a file: its first line is the sum of the sources
// that they hold for and how many mutants there are, each other one a mutant's ID, its outcome, place and change.
type results struct {
	*os.File
	known map[int]string // outcome by ID
}

func open(dir string, s *source) (*results, error) {
	name := filepath.Join(dir, strings.ReplaceAll(s.path, "/", "-")+".txt")
	r := &results{known: map[int]string{}}
	head := fmt.Sprintf("%s %s %d\n", s.path, s.sum, len(s.mutants))
	old, err := os.ReadFile(name)
	if err == nil && strings.HasPrefix(string(old), head) {
		for _, f := range found(string(old)) {
			r.known[f.ID] = f.outcome
		}
		r.File, err = os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		return r, err
	}
	if r.File, err = os.Create(name); err != nil {
		return nil, err
	}
	_, err = r.WriteString(head)
	return r, err
}

func (r *results) add(m mutant, outcome string) error {
	_, err := fmt.Fprintf(r, "%d\t%s\t%s\t%s\n", m.ID, outcome, m.At, m.What)
	return err
}

// finding is a mutant with what became of it.
type finding struct {
	mutant
	outcome string
}

// found reads results; of a mutant with several the last holds.
func found(text string) []finding {
	last := map[int]finding{}
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		var f finding
		if _, err := fmt.Sscan(fields[0], &f.ID); err != nil || len(fields) != 4 || !strings.HasSuffix(line, "\n") {
			continue
		}
		f.outcome, f.At, f.What = fields[1], fields[2], fields[3]
		last[f.ID] = f
	}
	var all []finding
	for _, f := range last {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b finding) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// The generated parts of the document stand between these and the next heading.
const (
	tableMark    = "<!-- internal/mutants writes from here to the end -->\n"
	survivedMark = "\n## Survivors\n\n"
)

// writeDoc writes the table of all packages and the list of survivors.
func writeDoc(o *options) error {
	old, err := os.ReadFile(o.doc)
	if err != nil {
		return err
	}
	intro, _, ok := bytes.Cut(old, []byte(tableMark))
	if !ok {
		return fmt.Errorf("%s: no line %q", o.doc, strings.TrimSpace(tableMark))
	}
	files, err := filepath.Glob(filepath.Join(o.keep, "*.txt"))
	if err != nil {
		return err
	}
	var table, survivors strings.Builder
	table.WriteString("\n| package | mutants | killed | timed out | survived | not reached | killed or timed out |\n|---|---|---|---|---|---|---|\n")
	total := map[string]int{}
	row := func(name string, n map[string]int) {
		all := n[killed] + n[timedOut] + n[survived] + n[missed]
		fmt.Fprintf(&table, "| %s | %d | %d | %d | %d | %d | %.1f %% |\n", name, all, n[killed], n[timedOut], n[survived], n[missed], 100*float64(n[killed]+n[timedOut])/float64(max(all, 1)))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var path, sum string
		var mutants int
		if _, err := fmt.Sscan(string(text), &path, &sum, &mutants); err != nil {
			return fmt.Errorf("%s: %w: remove it", file, err)
		}
		count := map[string]int{}
		fmt.Fprintf(&survivors, "\n%s:\n\n", path)
		for _, f := range found(string(text)) {
			count[f.outcome]++
			total[f.outcome]++
			if f.outcome == survived || f.outcome == missed {
				fmt.Fprintf(&survivors, "- %s/%s: %s (%s)\n", path, f.At, f.What, f.outcome)
			}
		}
		name := path
		if tried := count[killed] + count[timedOut] + count[survived] + count[missed]; tried < mutants {
			name = fmt.Sprintf("%s (so far, of %d)", path, mutants)
		}
		row(name, count)
	}
	row("all", total)
	return os.WriteFile(o.doc, []byte(string(intro)+tableMark+table.String()+survivedMark+strings.TrimPrefix(survivors.String(), "\n")), 0o644)
}
