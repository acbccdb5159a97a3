package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/lab"
)

//go:embed scenarios/*/*.yaml
var embedded embed.FS

// The halves of the suite. Thresholds are chosen on one only, so that the other
// shows how good they are.
const (
	tuning  = "tuning"
	heldOut = "held-out"
	both    = "both"
)

// entry is one scenario of the suite.
type entry struct {
	*lab.Scenario
	half     string
	also     []string // of a drawn path: causes that gain as much as the one that is expected
	document document // as it is in its file
}

func (e *entry) healthy() bool { return fold(e.Expect.Cause) == diagnose.Healthy }

// fold makes one of the causes that say the same: a full path where nothing is
// to be tuned is what healthy means.
func fold(cause string) string {
	if cause == diagnose.PathCapacity {
		return diagnose.Healthy
	}
	return cause
}

// load reads the scenarios below a directory with a folder for each half.
func load(suite fs.FS) ([]entry, error) {
	var all []entry
	for _, half := range []string{tuning, heldOut} {
		files, err := fs.Glob(suite, path.Join(half, "*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			data, err := fs.ReadFile(suite, file)
			if err != nil {
				return nil, fmt.Errorf("read scenario: %w", err)
			}
			e := entry{half: half}
			if e.Scenario, err = lab.Parse(file, data); err != nil {
				return nil, err
			}
			if !diagnose.Known(e.Expect.Cause) {
				return nil, fmt.Errorf("%s: it expects no cause", file)
			}
			if e.document, err = parseDocument(data); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			all = append(all, e)
		}
	}
	return all, nil
}

// builtin is the suite that is part of this program.
func builtin() (fs.FS, error) { return fs.Sub(embedded, "scenarios") }

// pick gives the scenarios that the command line asks for.
func (o *options) pick() ([]entry, error) {
	suite, err := builtin()
	if err != nil {
		return nil, err
	}
	if o.suite != "" {
		suite = os.DirFS(o.suite)
	}
	all, err := load(suite)
	if err != nil {
		return nil, err
	}
	if o.twins > 0 { // of the whole suite, so that -only does not change which
		all = chosen(all, o.twins)
	}
	var picked []entry
	for _, e := range all {
		if (o.half == both || o.half == e.half) && o.only.MatchString(e.Name) {
			picked = append(picked, e)
		}
	}
	if len(picked) == 0 {
		return nil, fmt.Errorf("no scenario of %d matches", len(all))
	}
	return picked, nil
}
