package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/sweep"
	"github.com/fullbore/fullbore/tune"
)

// smallWindows is a scenario whose store lets windows grow to 16 KiB only.
const smallWindows = `
name: small-windows
network:
  switches: [{name: lan}]
  hosts:
    - {name: node1, port: {rate: 50mbit, delay: 2ms}, congestion: cubic}
    - {name: node2, port: {rate: 50mbit, delay: 2ms}, congestion: cubic}
    - {name: store, port: {rate: 50mbit, delay: 2ms}, congestion: cubic, sysctl: {net.ipv4.tcp_rmem: "4096 16384 32768"}}
`

// fleetTask does something on a fleet's ways, and reads what came of it.
func fleetTask(t *testing.T, args ...string) (r fleet.Result) {
	t.Helper()
	out, stderr, code := fullbore(t, append([]string{"fleet"}, append(args, "--json")...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitDone || r.Check() != nil {
		t.Fatalf("exit code %d, %v, %v: %s%s", code, err, r.Check(), out, stderr)
	}
	return r
}

// fileOf writes a file.
func fileOf(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// documentOf reads the one that a report carries.
func documentOf(t *testing.T, r *fleet.Report, into any) {
	t.Helper()
	if err := json.Unmarshal(r.Document, into); err != nil {
		t.Fatalf("%v: %.200s", err, r.Document)
	}
}

// TestIntegrationFleetTasks: hosts tune the way between them, carry out an experiment over it, and ask a server of NFS together.
func TestIntegrationFleetTasks(t *testing.T) {
	t.Parallel()
	scenario := scenarioFile(t, smallWindows)
	t.Run("tune", func(t *testing.T) {
		t.Parallel()
		r := fleetTask(t, "tune", "--lab", scenario, "--only", "node1,store", "--pattern", "fan-out", "--at", "node1", "--budget", "30s")
		if len(r.Reports) != 1 || r.Flow(r.Reports[0].From, r.Reports[0].To) != "node1 to store" {
			t.Fatalf("%+v", r)
		}
		var d tune.Result
		documentOf(t, &r.Reports[0], &d)
		window := func(o tune.Outcome) bool { return o.Host == "store" && o.Tunable == "net.ipv4.tcp_rmem" }
		if !slices.ContainsFunc(d.Kept, window) || d.Gain < 1.3 || r.Rounds[0].Flows[0].Goodput != float64(d.After.Goodput) { // what else is worth keeping is tune's to say
			t.Errorf("%+v", d)
		}
		if says := strings.Join(r.Reports[0].Says, "\n"); !strings.Contains(says, "store: net.ipv4.tcp_rmem is 4096 16384 ") || !strings.Contains(says, "fullbore revert ") {
			t.Error(says)
		}
	})
	t.Run("sweep", func(t *testing.T) {
		t.Parallel()
		experiment := fileOf(t, "buffers.yaml", "name: buffers\nfactors: {buffers: [8KiB, 32KiB]}\nmeasure: {duration: 300ms, omit: 200ms}\nblocks: 2\n")
		r := fleetTask(t, "sweep", experiment, "--lab", scenario, "--only", "node1,node2", "--pattern", "fan-out")
		if len(r.Reports) != 1 {
			t.Fatalf("%+v", r)
		}
		var d sweep.Document
		documentOf(t, &r.Reports[0], &d)
		if d.Experiment != "buffers" || d.Spent.Transfers != 6 || d.Spent.Failed != 0 || r.Reports[0].Goodput <= 0 || !strings.HasPrefix(r.Reports[0].Says[0], "buffers: ") {
			t.Errorf("%+v, %q", d.Spent, r.Reports[0].Says)
		}
	})
	t.Run("nfs", func(t *testing.T) {
		t.Parallel()
		r := fleetTask(t, "nfs", "--lab", scenario, "-t", "1", "-O", "0.3", "--size", "64KiB", "--depth", "16")
		if r.Pattern != fleet.Requests || strings.Join(r.Hosts, " ") != "node1 node2" || len(r.Reports) != 2 || r.Rounds[0].Together == nil || r.Rounds[0].Skew == nil {
			t.Fatalf("%+v", r)
		}
		if got := r.Rounds[0].Together.Goodput; got < 10e6 || got > 50e6 {
			t.Errorf("a port of 50 Mb/s carried %.3g b/s", got)
		}
		var d nfs.Document
		if documentOf(t, &r.Reports[0], &d); d.Depth != 16 || d.Requests == 0 || d.Op != "read" {
			t.Errorf("%+v", d)
		}
	})
}

// TestFleetTaskRefuses: what cannot be done is said before anybody is called; a host that gave no leave is named.
func TestFleetTaskRefuses(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"budget 5s is too small":                {"tune", "--budget", "5s"},
		"a tuning with a budget of 2h0m0s":      {"tune", "--budget", "2h"},
		"did you mean gigaswift-buffers":        {"sweep", "gigaswift-bufers"},
		"name a file of a server":               {"nfs"},
		"are for this host alone":               {"nfs", "nfs://server/export/file", "--coalesce"},
		"--depth 1: use 2 (one a connection)":   {"nfs", "nfs://server/export/file", "--depth", "1", "--connections", "2"},
		"both --lab and other hosts were given": {"tune", "--lab", "mesh-8", "--hub", "hub"},
		"name the hosts with --hosts FILE":      {"tune"},
	} {
		if _, stderr, code := fullbore(t, append([]string{"fleet"}, args...)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
	var lines []string
	for _, name := range []string{"node1", "node2"} {
		far := farServes(t, nil, "--allow-jobs")
		lines = append(lines, name+" "+far.Listen+" "+far.Token)
	}
	hosts := fileOf(t, "hosts", strings.Join(lines, "\n")+"\n")
	for want, args := range map[string][]string{
		"this host gives no leave to be tuned: start its fullbore serve, or agent, with --allow-changes": {"tune", "--hosts", hosts},
		"this host gives no leave to write": {"nfs", "--hosts", hosts, "--write", "nfs://127.0.0.1/synthetic/big"},
		"is about a file, not about a path": {"sweep", fileOf(t, "files.yaml", "name: files\nfactors: {depth: [1, 2]}\n"), "--hosts", hosts},
	} {
		if _, stderr, code := fullbore(t, append([]string{"fleet"}, args...)...); code != exitFailed || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
}

// TestIntegrationFleetTuneKilled: a tuning of which nobody is left that asked for it puts both hosts back.
func TestIntegrationFleetTuneKilled(t *testing.T) {
	t.Parallel()
	m := gather(t, scenarioFile(t, strings.Replace(smallWindows, "{name: node1", "{name: hub, port: {rate: 50mbit, delay: 2ms}}\n    - {name: node1", 1)), "--allow-changes")
	store := m.lab.Host("store")
	windows := func() string { return m.on(store, "cat /proc/sys/net/ipv4/tcp_rmem") }
	before := windows()
	tuning := m.command(m.lab.Hosts()[0], "fleet", "tune", "--hub", m.hub, "--only", "node1,store", "--pattern", "fan-out", "--at", "node1", "--budget", "60s")
	errs := &lastLines{}
	tuning.Stderr = errs
	if err := tuning.Start(); err != nil {
		t.Fatal(err)
	}
	changes := func(to bool) {
		t.Helper()
		for end := time.Now().Add(90 * time.Second); (windows() != before) != to; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("tcp_rmem was %s, and is %s: %s", before, windows(), errs)
			}
		}
	}
	changes(true)
	if err := tuning.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = tuning.Wait() // killed
	changes(false)
	time.Sleep(time.Second)
	if now := windows(); now != before {
		t.Errorf("tcp_rmem was %s, and is %s again", before, now)
	}
}
