//go:build linux

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// results of a package lie in a file: its first line is the package, the sums of
// the sources and of the tests that they hold for and how many mutants there are,
// each other one a mutant's ID, its outcome, place, change and line.
type results struct {
	*os.File
	known map[int]string // outcome by ID, before this run
	began int64          // the file's size when this run began, in bytes
}

func open(o *options, s *source) (*results, error) {
	name := filepath.Join(o.keep, strings.ReplaceAll(s.path, "/", "-")+".txt")
	head := fmt.Sprintf("%s %s %s %d\n", s.path, s.sum, s.tests, len(s.mutants))
	var kept []finding
	old, err := os.ReadFile(name)
	if err == nil && !o.afresh {
		kept = stillHold(string(old), s)
	}
	r := &results{known: map[int]string{}}
	if r.File, err = os.Create(name); err != nil {
		return nil, err
	}
	if _, err := r.WriteString(head); err != nil {
		return nil, err
	}
	for _, f := range kept {
		r.known[f.ID] = f.outcome
		if err := r.add(f.mutant, f.outcome); err != nil {
			return nil, err
		}
	}
	r.began, err = r.Seek(0, io.SeekCurrent)
	return r, err
}

// settle takes back what this run found if its tests cannot be trusted, and hands the
// reason on.
func (r *results) settle(untrusted error) error {
	if untrusted == nil {
		return nil
	}
	return errors.Join(untrusted, r.Truncate(r.began))
}

// stillHold gives the findings that hold for a package as it is now: all where
// nothing has changed, those of killed mutants where only tests have, else none.
func stillHold(old string, s *source) []finding {
	var path, sum, tests string
	var mutants int
	if _, err := fmt.Sscan(old, &path, &sum, &tests, &mutants); err != nil || path != s.path || sum != s.sum || mutants != len(s.mutants) {
		return nil
	}
	return slices.DeleteFunc(found(old), func(f finding) bool {
		return tests != s.tests && (f.outcome == survived || f.outcome == missed)
	})
}

func (r *results) add(m mutant, outcome string) error {
	_, err := fmt.Fprintf(r, "%d\t%s\t%s\t%s\t%s\n", m.ID, outcome, m.At, m.What, strings.ReplaceAll(m.Line, "\t", " "))
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
		if _, err := fmt.Sscan(fields[0], &f.ID); err != nil || len(fields) != 5 || !strings.HasSuffix(line, "\n") {
			continue
		}
		f.outcome, f.At, f.What, f.Line = fields[1], fields[2], fields[3], fields[4]
		last[f.ID] = f
	}
	var all []finding
	for _, f := range last {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b finding) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
