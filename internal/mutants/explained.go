//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

// An explanation says why no test can tell a mutant from the code as it is, or
// why it need not. It goes by the text of the line, so that it stays with it.
type explanation struct {
	File   string `yaml:"file"`   // without its directory
	Line   string `yaml:"line"`   // without the blanks around it
	Change string `yaml:"change"` // as in the list of survivors
	Nth    int    `yaml:"nth"`    // which one of several such changes on the line, from 1; 0: all
	Why    string `yaml:"why"`
	used   bool
}

// explanations of a package's survivors.
type explanations []*explanation

func explain(dir, path string) (explanations, error) {
	name := filepath.Join(dir, strings.ReplaceAll(path, "/", "-")+".yaml")
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var all explanations
	if err := yaml.UnmarshalWithOptions(text, &all, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, e := range all {
		e.Line = strings.ReplaceAll(strings.TrimSpace(e.Line), "\t", " ")
		if e.File == "" || e.Line == "" || e.Change == "" || e.Why == "" || e.Nth < 0 {
			return nil, fmt.Errorf("%s: %s, %q: an explanation has a file, a line, a change and a why", name, e.File, e.Line)
		}
	}
	return all, nil
}

// of gives the reason why a survivor is none to worry about, "" if there is none.
// nth counts the same changes on its line, from 1.
func (all explanations) of(f *finding, nth int) string {
	file, _, _ := strings.Cut(f.At, ":")
	for _, e := range all {
		if e.File == file && e.Line == f.Line && e.Change == f.What && (e.Nth == 0 || e.Nth == nth) {
			e.used = true
			return e.Why
		}
	}
	return ""
}

// idle gives an error that names the explanations that nothing needed.
func (all explanations) idle() error {
	var failed error
	for _, e := range all {
		if !e.used {
			failed = errors.Join(failed, fmt.Errorf("%s, %q, %s: no such mutant survives: remove its explanation", e.File, e.Line, e.Change))
		}
	}
	return failed
}
