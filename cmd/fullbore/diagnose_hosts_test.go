package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
)

const (
	fastLink = "rate: 100mbit, delay: 5ms"
	longLink = "rate: 40mbit, delay: 20ms" // on which a wait of some ms for a busy processor costs nothing
)

// hosts is a path with something particular about it and its hosts.
func hosts(t *testing.T, link, path, a, b string) string {
	t.Helper()
	return scenarioFile(t, fmt.Sprintf(`
name: hosts
path:
  mtu: 1500
  a_to_b: {%[1]s, queue: 1bdp%[2]s}
  b_to_a: {%[1]s, queue: 1bdp}
hosts:
  a: {congestion: cubic%[3]s}
  b: {congestion: cubic%[4]s}
`, link, path, a, b))
}

// TestIntegrationHosts: limits of hosts and links, as real kernels show them.
func TestIntegrationHosts(t *testing.T) {
	for _, test := range []struct{ name, scenario, cause string }{
		{"a shaper that was left behind", hosts(t, fastLink, "", ", shape: 30mbit", ""), diagnose.PacingCap},
		{"a link that flips bits", hosts(t, fastLink, ", corrupt: 0.3%, seed: 4", "", ""), diagnose.LinkErrors},
		{"little processor time, but enough", hosts(t, longLink, "", ", cpus: 0.3", ", cpus: 0.3"), diagnose.Healthy},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), self(t), "diagnose", "--lab", test.scenario, "--quick", "--json").Output()
			if err != nil {
				t.Fatal(err)
			}
			var d diagnosisDocument
			if err := json.Unmarshal(out, &d); err != nil {
				t.Fatal(err)
			}
			if d.Verdict.Cause != test.cause || d.Verdict.Confidence < 0.75 {
				t.Errorf("want %s:\n%s", test.cause, out)
			}
		})
	}
}

// TestIntegrationCPU: writes and reads of 16 bytes make any processor slow, and
// one of which a tenth may be used the slower of the two. One after the other, as the
// end without a quota is to have a processor.
func TestIntegrationCPU(t *testing.T) {
	for _, test := range []struct{ name, scenario, cause string }{
		{"the sender's quota", hosts(t, fastLink, "", ", cpus: 0.1", ""), diagnose.SenderCPU},
		{"the receiver's quota", hosts(t, fastLink, "", "", ", cpus: 0.1"), diagnose.ReceiverCPU},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), self(t), "test", "--lab", test.scenario, "-J", "-l", "16", "-t", "2", "-O", "1").Output()
			if err != nil {
				t.Fatal(err)
			}
			var doc struct {
				FullBore bulk.Result `json:"fullbore"`
			}
			if err := json.Unmarshal(out, &doc); err != nil {
				t.Fatal(err)
			}
			d := diagnose.Diagnose(&diagnose.Evidence{Direction: bulk.Forward, Transfer: &doc.FullBore})
			if d.Verdict.Cause != test.cause || d.Verdict.Confidence < 0.75 {
				t.Errorf("want %s: %+v; processors of the sender %+v, of the receiver %+v", test.cause, d, doc.FullBore.Client.CPU, doc.FullBore.Server.CPU)
			}
		})
	}
}
