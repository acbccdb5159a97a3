package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/sweep"
)

// sweptFile is a small experiment on a short path of the lab.
func sweptFile(t *testing.T, factors string) string {
	t.Helper()
	scenario := hosts(t, longLink, "", "", "")
	name := filepath.Join(t.TempDir(), "small.yaml")
	text := "name: small\nscenario: " + scenario + "\nfactors: " + factors + "\nmeasure: {duration: 500ms, omit: 300ms}\nblocks: 2\nlaw: window\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// An experiment in the lab says what is enough, is kept with all its transfers, and a
// report shows it; one that was killed goes on where it was.
func TestIntegrationSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	place := filepath.Join(dir, "record.db")
	file := sweptFile(t, "{buffers: [8KiB, 64KiB, 512KiB]}")
	run := func(args ...string) (string, string, int) {
		t.Helper()
		c := command(t, place, append([]string{"sweep", file}, args...)...)
		c.Env = append(c.Env, "FULLBORE_STATE="+dir)
		return finished(t, c)
	}
	if out, stderr, code := run("--dry-run"); code != exitDone || !strings.Contains(out, "4 points, 8 transfers") || !strings.Contains(out, "buffers 64 KiB") {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}

	killed := command(t, place, "sweep", file)
	killed.Env = append(killed.Env, "FULLBORE_STATE="+dir)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	journal := func() string {
		found, _ := filepath.Glob(filepath.Join(dir, "sweeps", "small-*.ndjson"))
		if len(found) != 1 {
			return ""
		}
		text, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	await(t, "three transfers are kept", func() bool { return strings.Count(journal(), "\n") >= 4 })
	if err := killed.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // "killed"
	before := strings.Count(journal(), "\n") - 1

	out, stderr, code := run("--json")
	var doc sweep.Document
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitDone {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, stderr)
	}
	if doc.Spent.Resumed != before || doc.Spent.Transfers != 8 || doc.Spent.Failed != 0 {
		t.Errorf("%+v, and %d transfers were there", doc.Spent, before)
	}
	if len(doc.Points) != 4 || doc.Enough == nil || doc.Enough.Factor != "buffers" || doc.Says == "" || doc.Law == nil {
		t.Errorf("%+v", doc)
	}
	for _, p := range doc.Points {
		if p.Runs != 2 || p.Goodput == 0 || p.CI95 == nil {
			t.Errorf("%+v", p)
		}
	}
	if journal() != "" {
		t.Error("the journal of a sweep that ended is still there")
	}

	var kinds []string
	for _, r := range kept(t, place).Runs {
		kinds = append(kinds, string(r.Kind)+" "+r.Scenario)
	}
	if strings.Join(kinds, ", ") != "sweep hosts, sweep hosts" {
		t.Errorf("kept are %q", kinds)
	}
	page := filepath.Join(dir, "x.html")
	if _, stderr, code := keeping(t, place, "report", "last", "-o", page); code != exitDone {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "buffers") || !strings.Contains(string(text), "<svg") {
		t.Errorf("%v: %.300s", err, text)
	}
}

// Ctrl-C puts everything back; what was measured is kept, and said.
func TestIntegrationSweepInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := sweptFile(t, "{near.net.ipv4.tcp_wmem: [present, 4096 16384 8388608]}")
	c := command(t, filepath.Join(dir, "record.db"), "sweep", file, "--json")
	c.Env = append(c.Env, "FULLBORE_STATE="+dir)
	ended := make(chan struct{})
	var out, stderr string
	var code int
	go func() {
		defer close(ended)
		out, stderr, code = finished(t, c)
	}()
	await(t, "a transfer is kept", func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "sweeps", "small-*.ndjson"))
		if len(found) != 1 {
			return false
		}
		text, err := os.ReadFile(found[0])
		return err == nil && strings.Count(string(text), "\n") >= 2
	})
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-ended
	var doc sweep.Document
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitFailed || !strings.Contains(stderr, "goes on where it was") || doc.Error == "" {
		t.Errorf("exit code %d, %v: %s%s", code, err, out, stderr)
	}
	if runs := kept(t, filepath.Join(dir, "record.db")).Runs; len(runs) != 1 || runs[0].State != record.Interrupted {
		t.Errorf("%+v", runs)
	}
}

// What is built in is listed, and what is wrong is said with its place.
func TestSweepRefuses(t *testing.T) {
	t.Parallel()
	if out, _, code := keeping(t, record.Nowhere, "sweep"); code != exitDone || !strings.Contains(out, "gigaswift-buffers  gigaswift  socket buffers") {
		t.Errorf("exit code %d: %s", code, out)
	}
	file := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(file, []byte("name: x\nfactors: {bufers: [64KiB]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"sweep", "gigaswift-bufers"}, "gigaswift-buffers"},
		{[]string{"sweep", file}, "x.yaml:2:11"},
		{[]string{"sweep", "window-rtt", "192.0.2.1", "--lab", "california-uk"}, "use one"},
		{[]string{"sweep", "window-rtt", "--lab", "nowhere"}, "nowhere"},
	} {
		if out, stderr, code := keeping(t, record.Nowhere, test.args...); code != exitUsage || !strings.Contains(stderr, test.want) {
			t.Errorf("%q: exit code %d: %s%s, want %s", test.args, code, out, stderr, test.want)
		}
	}
}
