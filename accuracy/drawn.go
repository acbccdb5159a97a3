package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/fullbore/fullbore/diagnose"
)

// drawnPaths is what the results of drawn paths are called, beside the halves of the suite.
const drawnPaths = "drawn"

// drawnEntries are the drawn paths whose truth is known, after what was not there of it has been measured. The others are listed.
func (o *options) drawnEntries(ctx context.Context, stdout, stderr io.Writer) ([]entry, error) {
	var paths []*drawn
	for n := range o.count {
		d, err := draw(o.drawn, o.first+n)
		if err != nil {
			return nil, err
		}
		if o.only.MatchString(d.Name) {
			paths = append(paths, d)
		}
	}
	if err := o.knowTruths(ctx, paths, stderr); err != nil {
		return nil, err
	}
	var all []entry
	limits := map[string]int{}
	for _, d := range paths {
		t, _, err := truthOf(o.truth, d)
		if err != nil {
			return nil, err
		}
		if t == nil {
			return nil, fmt.Errorf("what limits %s is not known", d.Name)
		}
		l := t.label()
		if !l.known() {
			limits["ambiguous"]++
			fmt.Fprintf(stderr, "%s, planted %v: %v; not judged\n", d.Name, d.planted, &l)
			continue
		}
		limits[l.String()]++
		e := entry{Scenario: d.Scenario, half: drawnPaths, document: d.document}
		e.Expect.Cause = fold(l.causes[0])
		for _, c := range l.causes[1:] {
			e.also = append(e.also, fold(c))
		}
		all = append(all, e)
	}
	if o.label {
		w := &writer{out: stdout, form: plainText}
		if o.markdown {
			w.form = markdown
		}
		w.limits(len(paths), limits)
		return nil, w.err
	}
	return all, nil
}

// knowTruths measures what is not known.
func (o *options) knowTruths(ctx context.Context, paths []*drawn, stderr io.Writer) error {
	if err := os.MkdirAll(o.truth, 0o755); err != nil {
		return err
	}
	own := *o
	own.deadline = max(o.deadline, time.Minute)
	if own.fullbore == "" {
		remove, err := own.build(ctx)
		if err != nil {
			return err
		}
		defer remove()
	}
	dir, err := os.MkdirTemp("", "fullbore-truth")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	b := &bench{options: &own, dir: dir, keep: o.truth}
	return b.truths(ctx, paths, stderr)
}

// limits lists how many paths are limited by what.
func (w *writer) limits(paths int, limits map[string]int) {
	w.heading(fmt.Sprintf("what limits %d drawn paths", paths))
	var rows [][]string
	add := func(name string) {
		if n := limits[name]; n > 0 {
			rows = append(rows, []string{name, fmt.Sprint(n)})
			delete(limits, name)
		}
	}
	for _, c := range diagnose.Causes {
		add(c.ID)
	}
	several := 0
	for name, n := range limits {
		if name != "ambiguous" {
			several += n
		}
	}
	if several > 0 {
		rows = append(rows, []string{"one of two, or both", fmt.Sprint(several)})
	}
	add("ambiguous")
	w.table([]string{"limit", "paths"}, rows)
}
