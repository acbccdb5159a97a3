package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// slow are scenarios of paths so slow that they share the machine, and the time: each
// of another kind, hosts, applications, middleboxes, loss, queues, none.
var slow = []string{
	"healthy-10mbit-50ms-cubic", "receiver-buffer-10mbit-300ms-reno", "slow-receiver-50mbit-100ms-reno", "random-loss-50mbit-40ms-reno",
	"competing-traffic-50mbit-20ms-cubic", "small-mss-10mbit-60ms-bbr", "window-scale-50mbit-120ms-bbr",
}

// TestIntegrationSuite: what CI can afford of the suite, for real, with one binary.
func TestIntegrationSuite(t *testing.T) {
	var o options
	remove, err := o.build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	t.Run("verdicts", func(t *testing.T) {
		t.Parallel()
		verdicts(t, o.fullbore)
	})
	t.Run("gain", func(t *testing.T) {
		t.Parallel()
		gain(t, o.fullbore)
	})
}

// sure is the confidence from which no verdict of so few may be wrong.
const sure = 0.9

// verdicts are right, and the same evidence gives the same ones again.
func verdicts(t *testing.T, fullbore string) {
	dir := t.TempDir()
	only := "^(" + strings.Join(slow, "|") + ")$"
	measured := summaryOf(t, "-fullbore", fullbore, "-only", only, "-healthy-seeds", "1", "-jobs", strconv.Itoa(len(slow)), "-record", dir)
	if len(measured.Outcomes) != len(slow) {
		t.Errorf("%d runs, want %d", len(measured.Outcomes), len(slow))
	}
	wrong := 0
	for _, o := range measured.Outcomes {
		// A confidence is a frequency: of verdicts that are 75 % sure one in four is wrong. How often they are
		// is the whole suite's to say (make accuracy).
		unsure := !o.right() && o.Confidence < sure
		if unsure {
			wrong++
		}
		if !o.right() && !unsure || wrong > 1 || o.Problem != "" || o.Traffic <= 0 {
			t.Errorf("%s: %s with confidence %v, after %v of traffic %s", o.Scenario, o.Cause, o.Confidence, o.Traffic, o.Problem)
		}
	}
	replayed := summaryOf(t, "-only", only, "-replay", dir)
	named := func(s summary) map[string]string {
		causes := map[string]string{}
		for _, o := range s.Outcomes {
			causes[o.Scenario] = o.Cause
		}
		return causes
	}
	if d := cmp.Diff(named(measured), named(replayed)); d != "" {
		t.Errorf("replayed (-measured +replayed):\n%s", d)
	}
}

// gain: a healed path shows whether the prediction was right.
func gain(t *testing.T, fullbore string) {
	dir := t.TempDir()
	for _, args := range [][]string{{"-fullbore", fullbore, "-gain", "-record", dir}, {"-replay", dir}} {
		s := summaryOf(t, append(args, "-only", "^slow-sender-20mbit-120ms-cubic$")...)
		if len(s.Halves) != 1 || len(s.Halves[0].Gains) != 2 || s.Halves[0].Gains[1].Mid > 0.5 { // a busy machine does not fill the healed path
			t.Errorf("%v: %+v", args, s.Halves)
		}
	}
}

func summaryOf(t *testing.T, args ...string) summary {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), append([]string{"-json"}, args...), &stdout, &stderr)
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	t.Logf("%s", &stderr)
	var s summary
	if err := json.Unmarshal(stdout.Bytes(), &s); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	return s
}

// TestRuns: what becomes of a program that fails in other ways than by a wrong
// verdict. A script stands in for it: the real one does not fail on command.
func TestRuns(t *testing.T) {
	verdict := `echo '{"verdict":{"cause":"path-capacity","confidence":0.9},"goodput_bps":9e6,"test_seconds":2}'`
	invalid := "echo '   lab x: the lab itself failed: results are not valid: it lost packets' >&2; "
	for _, c := range []struct {
		name, script, said, problem string
		runs                        int
	}{
		{name: "right", script: verdict, said: "ok", runs: 1},
		{name: "invalid once", script: "[ -e $0.again ] || { touch $0.again; " + invalid + "exit 1; }; " + verdict, said: "ok", runs: 2},
		{name: "invalid twice", script: invalid + verdict, said: "INVALID", problem: "it lost packets", runs: 2},
		{name: "no verdict", script: "echo 'fullbore: a refused' >&2; exit 1", said: "FAILED", problem: "exit status 1: fullbore: a refused", runs: 1},
		{name: "no document", script: "echo hello", said: "FAILED", problem: "read what it wrote", runs: 1},
		{name: "verdict with an error", script: verdict + "; echo broken >&2; exit 1", said: "ok", problem: "broken", runs: 1},
		{name: "too long", script: "exec sleep 60", said: "FAILED", problem: "not done within 300ms", runs: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			program := filepath.Join(dir, "program")
			if err := os.WriteFile(program, []byte("#!/bin/sh\necho run >>$0.runs\n"+c.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			deadline := time.Minute
			if c.name == "too long" {
				deadline = 300 * time.Millisecond
			}
			b := &bench{options: &options{fullbore: program, deadline: deadline}, dir: dir, keep: dir}
			e := entryOf(t, "healthy-10mbit-50ms-cubic")
			out := b.diagnose(t.Context(), &job{entry: &e})
			if out.said() != c.said || !strings.Contains(out.Problem, c.problem) || c.problem == "" && out.Problem != "" {
				t.Errorf("%s (%s), want %s (%s)", out.said(), out.Problem, c.said, c.problem)
			}
			runs, err := os.ReadFile(program + ".runs")
			if got := strings.Count(string(runs), "run"); err != nil || got != c.runs {
				t.Errorf("it ran %d times, want %d (%v)", got, c.runs, err)
			}
		})
	}
}

func entryOf(t *testing.T, name string) entry {
	t.Helper()
	for _, e := range suite(t) {
		if e.Name == name {
			return e
		}
	}
	t.Fatalf("no scenario %s", name)
	return entry{}
}
