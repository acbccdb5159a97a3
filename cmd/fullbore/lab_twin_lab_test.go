package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/twin"
)

// TestIntegrationLabTwin: a path is diagnosed in the lab, its twin made from the kept run
// alone, and diagnosed too: the same verdict, at about the same goodput.
func TestIntegrationLabTwin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place, file := filepath.Join(dir, "record.db"), filepath.Join(dir, "path.yaml")
	diagnosed := func(scenario string) (d diagnosisDocument) {
		t.Helper()
		out, stderr, code := keeping(t, place, "diagnose", "--json", "--lab", scenario)
		if err := json.Unmarshal([]byte(out), &d); err != nil || code != exitDone {
			t.Fatalf("%s: exit code %d, %v: %s%s", scenario, code, err, out, stderr)
		}
		return d
	}
	path := scenarioFile(t, `
name: short-window
path:
  mtu: 1500
  a_to_b: {rate: 100mbit, delay: 20ms}
hosts:
  a: {congestion: cubic}
  b:
    congestion: cubic
    sysctl: {net.ipv4.tcp_rmem: "4096 65536 131072"}
`)
	original := diagnosed(path)
	out, stderr, code := keeping(t, place, "lab", "twin", "last", "-o", file, "--json")
	var made twin.Twin
	if err := json.Unmarshal([]byte(out), &made); err != nil || code != exitDone {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, stderr)
	}
	if !strings.HasPrefix(made.Scenario.Name, "twin-of-short-window-") {
		t.Errorf("it is called %s", made.Scenario.Name)
	}
	again := diagnosed(file)
	runs := kept(t, place)
	if original.Verdict.Cause != diagnose.ReceiverBuffer || again.Verdict.Cause != original.Verdict.Cause {
		t.Errorf("the twin: %s; the original: %s", again.Verdict.Cause, original.Verdict.Cause)
	}
	// A window is slower when the receiver waits for a processor that something else has:
	// the fastest runs of both are compared.
	alike := func() bool { return again.Goodput >= 0.8*original.Goodput && again.Goodput <= 1.25*original.Goodput }
	for try := 0; try < 2 && !alike(); try++ {
		original.Goodput = max(original.Goodput, diagnosed(path).Goodput)
		again.Goodput = max(again.Goodput, diagnosed(file).Goodput)
	}
	if !alike() {
		t.Errorf("the twin: %.3g b/s; the original: %.3g b/s", again.Goodput, original.Goodput)
	}
	if len(runs.Runs) != 2 || runs.Runs[0].Scenario != made.Scenario.Name {
		t.Errorf("kept as %+v", runs.Runs)
	}
}

// TestIntegrationLabTwinOfHost: a far end is diagnosed first; that run is kept, and its
// twin made.
func TestIntegrationLabTwinOfHost(t *testing.T) {
	t.Parallel()
	two := newTwo(t, scenarioFile(t, `
name: clamped
path:
  mtu: 1500
  a_to_b: {rate: 20mbit, delay: 10ms, mss_clamp: 536}
hosts:
  a: {congestion: reno}
  b: {congestion: reno}
`))
	token := two.serve()
	place := filepath.Join(t.TempDir(), "record.db")
	command := two.lab.Host("a").Command(t.Context(), self(t), "lab", "twin", two.b(), "--token", token, "--json")
	var out, complained bytes.Buffer
	command.Stdout, command.Stderr = &out, &complained
	command.Env = append(os.Environ(), record.Variable+"="+place)
	if err := command.Run(); err != nil {
		t.Fatalf("%v: %s%s", err, out.String(), complained.String())
	}
	var made twin.Twin
	if err := json.Unmarshal(out.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	p := made.Scenario.Path
	if p.BToA.MSSClamp != 536 || p.AToB.Rate < 19e6 || p.AToB.Rate > 21e6 || made.Scenario.Hosts.A.Congestion != "reno" || made.Verdict != "small-mss" {
		t.Errorf("%s: %+v, %+v", made.Verdict, p, made.Scenario.Hosts)
	}
	if runs := kept(t, place).Runs; len(runs) != 1 || runs[0].ID != made.Run || runs[0].Kind != record.Diagnose {
		t.Errorf("kept as %+v, made from %s", runs, made.Run)
	}
}
