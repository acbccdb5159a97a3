package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scenarioFile is a scenario of a test's own.
func scenarioFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestIntegrationDiagnose: also a path on which every full-size packet vanishes
// gets a verdict, within what is promised, and what it rests on can be diagnosed
// again elsewhere, with the same words.
func TestIntegrationDiagnose(t *testing.T) {
	t.Parallel()
	blackHole := scenarioFile(t, `
name: black-hole
path:
  mtu: 1500
  a_to_b: {rate: 50mbit, delay: 10ms, queue: 1bdp, black_hole_above: 1400}
  b_to_a: {rate: 50mbit, delay: 10ms, queue: 1bdp}
hosts:
  a: {congestion: cubic}
  b: {congestion: cubic}
`)
	for _, test := range []struct {
		name, scenario string
		flags          []string
		cause          string
		failed         bool
		seconds        float64 // of test traffic, at most
	}{
		{name: "a black hole", scenario: blackHole, cause: "mtu-black-hole", failed: true, seconds: 9.6},
		{name: "a window", scenario: "no-window-scale", cause: "window-scale", seconds: 11.2},
		{name: "quick", scenario: "no-window-scale", flags: []string{"--quick", "-P", "2"}, cause: "window-scale", seconds: 2.5},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			evidence := filepath.Join(t.TempDir(), "evidence.json.gz")
			command := exec.CommandContext(t.Context(), self(t), append([]string{"diagnose", "--lab", test.scenario, "--json", "--evidence", evidence}, test.flags...)...)
			var said bytes.Buffer
			command.Stderr = &said
			first, err := command.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, said.Bytes())
			}
			var d diagnosisDocument
			if err := json.Unmarshal(first, &d); err != nil {
				t.Fatal(err)
			}
			if d.Verdict.Cause != test.cause || (d.Failed != "") != test.failed {
				t.Errorf("verdict %s, failed %q: want %s\n%s", d.Verdict.Cause, d.Failed, test.cause, first)
			}
			if d.TestSeconds <= 1 || d.TestSeconds > 1.5*test.seconds || // what is set up takes longer on a busy machine
				(d.TestBytes > 0) != (d.Goodput > 0 || len(d.Trials) > 0) {
				t.Errorf("%v s and %d bytes of traffic, want at most %v s", d.TestSeconds, d.TestBytes, test.seconds)
			}
			again, err := exec.CommandContext(t.Context(), self(t), "diagnose", "--replay", evidence, "--json").Output()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(first), string(again)); diff != "" {
				t.Errorf("(-measured +replayed):\n%s", diff)
			}
		})
	}
}

// TestIntegrationTrial: a trial on real kernels stops at Ctrl-C, and the verdict
// that was there before it is still given.
func TestIntegrationTrial(t *testing.T) {
	t.Parallel()
	two := newTwo(t, scenarioFile(t, `
name: lossy
path:
  mtu: 1500
  a_to_b: {rate: 50mbit, delay: 20ms, queue: 1bdp, loss: 0.1%, seed: 1}
  b_to_a: {rate: 50mbit, delay: 20ms, queue: 1bdp}
hosts:
  a: {congestion: cubic}
  b: {congestion: cubic}
`))
	token := two.serve()
	command := two.lab.Host("a").Command(t.Context(), self(t), "diagnose", two.b(), "--token", token, "--budget", "1m")
	var document bytes.Buffer
	said := &lastLines{}
	command.Stdout, command.Stderr = &document, said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	two.eventually("a trial is running", func() bool { return strings.Contains(said.String(), ".. ask: ") })
	if err := command.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := command.Wait(); err == nil {
		t.Errorf("it succeeded although it was interrupted: %s", said)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v to end", took)
	}
	if !strings.Contains(said.String(), "interrupted: what is said rests on") {
		t.Errorf("it did not say that it was interrupted: %s", said)
	}
	for _, want := range []string{"\nverdict ", "\ntraffic "} {
		if !strings.Contains(document.String(), want) {
			t.Errorf("no line with%q:\n%s", want, &document)
		}
	}
}
