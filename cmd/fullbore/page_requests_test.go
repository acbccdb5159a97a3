package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/sweep"
	"github.com/fullbore/fullbore/web/task"
)

// Whatever a page may ask for, the command line understands, and means the same by it.
func TestPageRequests(t *testing.T) {
	scenarios, experiments := []string{}, []string{}
	for _, s := range lab.Builtin() {
		scenarios = append(scenarios, s.Name)
	}
	for _, s := range sweep.Builtin() {
		experiments = append(experiments, s.Name)
	}
	rapid.Check(t, func(t *rapid.T) {
		either := func(name string) bool { return rapid.Bool().Draw(t, name) }
		r := task.Request{
			Verb: rapid.SampledFrom([]task.Verb{task.Test, task.Diagnose, task.Tune, task.Sweep}).Draw(t, "verb"),
			Tags: rapid.SliceOfN(rapid.StringMatching(`[-a-z =,"$]{1,20}`), 0, 3).Draw(t, "tags"),
		}
		if either("lab") {
			r.Scenario = rapid.SampledFrom(scenarios).Draw(t, "scenario")
		} else {
			r.Host = rapid.StringMatching(`[a-z0-9][a-z0-9._-]{0,20}(:[1-9][0-9]{0,3})?`).Draw(t, "host")
		}
		if r.Verb == task.Sweep {
			r.Experiment, r.Afresh = rapid.SampledFrom(experiments).Draw(t, "experiment"), either("afresh")
		} else {
			r.Streams, r.Seconds = rapid.IntRange(0, bulk.MaxStreams).Draw(t, "streams"), rapid.SampledFrom([]int{0, 15, 3600}).Draw(t, "seconds")
			r.Direction = rapid.SampledFrom([]bulk.Direction{"", bulk.Forward, bulk.Reverse}).Draw(t, "direction")
		}
		switch r.Verb {
		case task.Test:
			if either("both") {
				r.Direction = bulk.Both
			}
		case task.Diagnose:
			r.Quick = either("quick")
		case task.Tune:
			r.DryRun, r.Apply = either("dry run"), rapid.SampledFrom([]string{"", "none", "live", "persist"}).Draw(t, "apply")
		}
		if err := r.Check(); err != nil {
			t.Fatalf("%+v: %v", r, err)
		}

		var commands cli
		parser, err := kong.New(&commands, kong.Vars{"formats": ""}, kong.Exit(func(int) { t.Fatal("it asked to exit") }))
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.Parse(r.Args())
		if err != nil {
			t.Fatalf("%q: %v", r.Args(), err)
		}
		if verb, _, _ := strings.Cut(parsed.Command(), " "); verb != string(r.Verb) {
			t.Fatalf("%q is %s", r.Args(), verb)
		}
		if got := asRequest(&commands, r); !slices.Equal(got.Tags, r.Tags) || !sameRequest(got, r) {
			t.Fatalf("%q means %+v, want %+v", r.Args(), got, r)
		}
	})
}

// asRequest is what a command line that was made of a request means.
func asRequest(c *cli, of task.Request) task.Request {
	r := task.Request{Verb: of.Verb}
	switch of.Verb {
	case task.Test:
		r.Host, r.Scenario, r.Tags, r.Streams, r.Seconds, r.Direction = c.Test.Host, c.Test.Lab, c.Test.Tag, c.Test.Parallel, int(c.Test.Time), bulk.Forward
		if c.Test.Reverse {
			r.Direction = bulk.Reverse
		}
		if c.Test.Bidir {
			r.Direction = bulk.Both
		}
	case task.Diagnose:
		d := &c.Diagnose
		r.Host, r.Scenario, r.Tags, r.Streams, r.Seconds, r.Direction, r.Quick = d.Host, d.Lab, d.Tag, d.Parallel, int(d.Budget/time.Second), bulk.Direction(d.Direction), d.Quick
	case task.Tune:
		u := &c.Tune
		r.Host, r.Scenario, r.Tags, r.Streams, r.Seconds, r.Direction, r.Apply, r.DryRun = u.Host, u.Lab, u.Tag, u.Parallel, int(u.Budget/time.Second), bulk.Direction(u.Direction), u.Apply, u.DryRun
	case task.Sweep:
		s := &c.Sweep
		r.Host, r.Scenario, r.Tags, r.Experiment, r.Afresh = s.Host, s.Lab, s.Tag, s.Experiment, s.Afresh
	}
	return r
}

// sameRequest holds what was understood against what was asked for; what was left out is the command line's own.
func sameRequest(got, want task.Request) bool {
	if want.Streams == 0 {
		got.Streams = 0
	}
	if want.Seconds == 0 {
		got.Seconds = 0
	}
	if want.Direction == "" {
		got.Direction = ""
	}
	if want.Apply == "" {
		got.Apply = ""
	}
	got.Tags, want.Tags = nil, nil
	return got.Verb == want.Verb && got.Host == want.Host && got.Scenario == want.Scenario && got.Experiment == want.Experiment && got.Direction == want.Direction &&
		got.Streams == want.Streams && got.Seconds == want.Seconds && got.Apply == want.Apply && got.DryRun == want.DryRun && got.Quick == want.Quick && got.Afresh == want.Afresh
}
