package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/fleet"
)

// TestHostsFile: hosts are read a line each, and what is wrong with a line is said with its number.
func TestHostsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts")
	for text, want := range map[string]string{
		"a 198.18.0.1 token\n\n# b is away\nc [fd00::3]:5301 other # the last\n": "",
		"a 198.18.0.1\n":             "hosts:1: a line has NAME ADDRESS[:PORT] TOKEN or NAME ssh://[USER@]HOST, not 2 words",
		"a b t\na c t\n":             "hosts:2: there is a host a already",
		"a b:0 t\n":                  `hosts:1: "b:0": "0" is not a port`,
		strings.Repeat("x", 100_000): "token too long",
		"a 198.18.0.1 token extra\n": "not 4 words",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		hosts, err := readHosts(file)
		switch {
		case want == "" && (err != nil || len(hosts) != 2 || hosts[0] != listedHost{name: "a", address: "198.18.0.1:5201", token: "token"} || hosts[1].address != "[fd00::3]:5301"):
			t.Errorf("%v, %v", hosts, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// TestTheseHosts: some of a file's hosts, in its order; one that is not there is a typo.
func TestTheseHosts(t *testing.T) {
	all := []listedHost{{name: "node1"}, {name: "node2"}, {name: "server"}}
	got, err := these(slices.Clone(all), []string{"server", "node1"})
	if err != nil || len(got) != 2 || got[0].name != "node1" || got[1].name != "server" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := these(slices.Clone(all), nil); err != nil || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := these(all, []string{"nodee1"}); err == nil || !strings.Contains(err.Error(), "--only nodee1: there is no such host (did you mean") {
		t.Errorf("%v", err)
	}
}

// runFleet runs an experiment, and reads what came of it.
func runFleet(t *testing.T, args ...string) (r fleet.Result) {
	t.Helper()
	out, stderr, code := fullbore(t, append([]string{"fleet", "run", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitDone {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, stderr)
	}
	return r
}

// TestIntegrationIncast: four send to one together, and fill its port. Nothing runs beside it: a lab that
// is late delivers later what was due before, and that is more than the port carries.
func TestIntegrationIncast(t *testing.T) {
	scenario := scenarioFile(t, `
name: incast
network:
  switches: [{name: lan, buffer: 256KB}]
  hosts:
    - {name: client, count: 4, port: {rate: 40mbit, delay: 2ms}, congestion: cubic}
    - {name: server, port: {rate: 40mbit, delay: 2ms}, congestion: cubic}
`)
	r := runFleet(t, "--lab", scenario, "--pattern", "incast", "-t", "1s", "-O", "500ms")
	round := r.Rounds[0]
	if len(r.Hosts) != 5 || len(round.Flows) != 4 || round.Together == nil || round.Skew == nil {
		t.Fatalf("%+v", r)
	}
	const carries = 40e6 * 1448 / 1500
	if got := round.Together.Goodput / carries; got < 0.8 || got > 1.05 {
		t.Errorf("together %.3g of what the port carries", got)
	}
	for _, f := range round.Flows {
		if f.Error != "" || f.Goodput <= 0 || f.LeastRTT < 7 {
			t.Errorf("%+v", f)
		}
	}
}

// TestIntegrationFleet: a bad way of a mesh is named, and what cannot be run is refused.
func TestIntegrationFleet(t *testing.T) {
	t.Parallel()
	t.Run("a bad way", func(t *testing.T) {
		t.Parallel()
		scenario := scenarioFile(t, `
name: mesh
network:
  switches: [{name: lan}]
  hosts: [{name: node, count: 4, port: {rate: 20mbit, delay: 2ms}, congestion: cubic}]
  ways: [{from: node2, to: node3, link: {rate: 4mbit}}]
`)
		r := runFleet(t, "--lab", scenario, "-t", "500ms", "-O", "500ms")
		if r.Sick == nil || len(r.Sick.Links) != 1 || r.Sick.Links[0].From != 1 || r.Sick.Links[0].To != 2 || len(r.Sick.Hosts) > 0 {
			t.Errorf("%+v, of %+v", r.Sick, r.Mesh)
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		for want, args := range map[string][]string{
			"name the hosts with --hosts FILE, a hub with --hub": nil,
			"give the list with --flows":                         {"--pattern", "list", "--lab", "mesh-8"},
			"--flows is for --pattern list, not pairs":           {"--flows", "x", "--lab", "mesh-8"},
			"--flows: stat /no/such: no such file":               {"--pattern", "list", "--flows", "/no/such", "--lab", "mesh-8"},
			"did you mean pairs?":                                {"--pattern", "pair", "--lab", "mesh-8"},
			"it has two hosts and a path; gigaswift-five":        {"--lab", "clean-lan"},
			"--window: ":                {"-w", "48 pounds", "--hosts", "x"},
			"no such file or directory": {"--hosts", filepath.Join(t.TempDir(), "nothing")},
		} {
			if _, stderr, code := fullbore(t, append([]string{"fleet", "run"}, args...)...); code != exitUsage || !strings.Contains(stderr, want) {
				t.Errorf("%v: exit code %d: %s", args, code, stderr)
			}
		}
		file := filepath.Join(t.TempDir(), "hosts")
		if err := os.WriteFile(file, []byte("a 127.0.0.1:1 fb1-x\nb 127.0.0.1:1 fb1-x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, stderr, code := fullbore(t, "fleet", "run", "--hosts", file); code == exitDone || !strings.Contains(stderr, "a: ") {
			t.Errorf("nobody is there: exit code %d: %s", code, stderr)
		}
	})
}
