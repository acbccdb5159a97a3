//go:build linux

// Mutants changes one operator, condition or call of a package at a time, and
// runs the tests that reach it: a change that no test notices survives.
//
//	go run ./internal/mutants [-j N] [-integration] [-only REGEXP] [-afresh] [-doc FILE] PACKAGE...
//
// All changes of a package are compiled into one test binary, and an environment
// variable picks one: a run costs what its tests cost. What was found is kept in
// bin/mutants until a source of the package changes, so that a long run can be
// ended and goes on later. When only tests have changed, what they killed before
// counts as killed, and the others are tried again; -afresh tries all.
//
// Survivors that no test can kill are explained in internal/mutants/explained.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

type options struct {
	workers     int
	integration bool
	afresh      bool
	only        *regexp.Regexp // of a mutant's file:line:column
	explained   string         // where explanations lie
	doc         string
	keep        string // where results lie
}

func main() {
	var o options
	flag.IntVar(&o.workers, "j", runtime.NumCPU(), "run the tests of so many mutants at a time")
	flag.BoolVar(&o.integration, "integration", false, "what unit tests do not notice may be noticed by a TestIntegration…, too; one mutant at a time, as those measure")
	flag.BoolVar(&o.afresh, "afresh", false, "forget what was found before")
	only := flag.String("only", "", "try only mutants whose `file:line:column` matches the regular expression")
	flag.StringVar(&o.explained, "explained", filepath.Join("internal", "mutants", "explained"), "read explanations of survivors in `dir`")
	flag.StringVar(&o.doc, "doc", "docs/mutants.md", "write the table of all packages that have results to `file`")
	flag.StringVar(&o.keep, "keep", filepath.Join("bin", "mutants"), "keep results in `dir`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if o.only, err = regexp.Compile(*only); err == nil {
		err = run(ctx, &o, flag.Args())
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options, packages []string) error {
	if err := os.MkdirAll(o.keep, 0o755); err != nil {
		return err
	}
	var failed error
	for _, pkg := range packages {
		pkg = strings.TrimPrefix(filepath.ToSlash(filepath.Clean(pkg)), "./")
		if err := examine(ctx, o, pkg); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", pkg, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed, writeDoc(o))
}

// examine finds out what becomes of every mutant of a package.
func examine(ctx context.Context, o *options, pkg string) error {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := load(ctx, pkg)
	if err != nil {
		return err
	}
	if err := p.build(ctx, dir); err != nil {
		return err
	}
	kept, err := open(o, p)
	if err != nil {
		return err
	}
	defer kept.Close()
	fmt.Printf("%s: %d mutants, %d of them known\n", pkg, len(p.mutants), len(kept.known))
	if !slices.ContainsFunc(p.mutants, func(m mutant) bool { return o.wants(m, kept.known[m.ID]) }) {
		return nil
	}
	tests, err := p.reach(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(p.try(ctx, o, tests, kept), kept.settle(p.stillPass(tests)))
}

// wants says whether a mutant is to be tried, of which an outcome may be known.
func (o *options) wants(m mutant, known string) bool {
	return o.only.MatchString(m.At) && (known == "" || o.integration && (known == survived || known == missed))
}
