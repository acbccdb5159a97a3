package lab

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestIntegrationNetwork: hosts of a network know each other by name, packets take the time of their
// links, and what the links did is reported.
func TestIntegrationNetwork(t *testing.T) {
	s := netScenario(t, `
  switches: [{name: west}, {name: east}]
  hosts:
    - {name: near, count: 2, switch: west, port: {rate: 100mbit, delay: 1ms}}
    - {name: far, switch: east, port: {rate: 100mbit, delay: 1ms}}
  trunks: [{from: west, to: east, link: {rate: 100mbit, delay: 15ms}}]
`)
	l, err := Start(t.Context(), s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i, want := range []time.Duration{4 * time.Millisecond, 34 * time.Millisecond, 34 * time.Millisecond} { // to the next of them
		seen, err := l.hosts[i].echo()
		if err != nil || len(seen) < echoes/2 {
			t.Fatalf("%s: %v, %v", l.hosts[i].name, seen, err)
		}
		if got := seen[0]; got < want-time.Millisecond/2 || seen[len(seen)/2] > want+10*time.Millisecond {
			t.Errorf("from %s: %v, want %v", l.hosts[i].name, seen, want)
		}
	}
	var out strings.Builder
	cmd := l.Host("far").Command(t.Context(), "sh", "-c", "hostname; cat /etc/hosts; env")
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"far\n", "198.18.0.2 near2\n", "fd00:198:18::1 near1\n", "FULLBORE_HOST=far\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("host far does not have %q: %s", want, &out)
		}
	}
	if strings.Contains(out.String(), "FULLBORE_A=") {
		t.Error("there is no host a")
	}
	report := l.Report()
	trunk := slices.IndexFunc(report.Links, func(r LinkReport) bool { return r.Name == "west to east" })
	if trunk < 0 || report.Links[trunk].SegmentsOut < 2*echoes || len(report.Links) != 8 {
		t.Errorf("%+v", report.Links)
	}
	if err := report.Invalid(); err != nil || !strings.HasPrefix(report.String(), "lab x: 8 links, late p99 ") {
		t.Errorf("%v, %v", report, err)
	}
	if err := l.Host("near2").command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err == nil || !strings.Contains(err.Error(), "host near2 does not answer") {
		t.Errorf("%v", err)
	}
}
