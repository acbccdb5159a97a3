package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fullbore/fullbore/record"
)

// keeping runs fullbore with a record of its own.
func keeping(t *testing.T, place string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return finished(t, command(t, place, args...))
}

// finished runs a command to its end.
func finished(t *testing.T, c *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, complained bytes.Buffer
	c.Stdout, c.Stderr = &out, &complained
	err := c.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code = failed.ExitCode()
	} else if err != nil {
		t.Error(err)
	}
	return out.String(), complained.String(), code
}

func command(t *testing.T, place string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), self(t), args...)
	c.Env = append(os.Environ(), record.Variable+"="+place, "TZ=UTC")
	return c
}

// kept lists the runs of a record.
func kept(t *testing.T, place string, flags ...string) historyDocument {
	t.Helper()
	out, stderr, code := keeping(t, place, append([]string{"history", "--json"}, flags...)...)
	var doc historyDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitDone {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, stderr)
	}
	return doc
}

// Runs of every verb are kept, are listed, go elsewhere, and are removed.
func TestHistory(t *testing.T) {
	t.Parallel()
	at := farProcess(t, "--max-clients", "32")
	place := filepath.Join(t.TempDir(), "record.db")
	if doc := kept(t, place); len(doc.Runs) != 0 || doc.Schema != historySchema {
		t.Errorf("%+v", doc)
	}
	for _, args := range [][]string{
		{"test", at, "-n", "20M", "-b", "200M", "--tag", "one", "--tag", "first"},
		{"test", at, "-n", "100K", "--no-record"},
		{"compare", at, "--ab", "-n 10K", "-n 20K", "--rounds", "3", "--token", "not a token"},
		{"watch", "--once", "--top", "1"},
	} {
		_, stderr, code := keeping(t, place, args...)
		if strings.Contains(stderr, "not kept") || args[0] != "compare" && code != exitDone {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
	}
	doc := kept(t, place)
	var kinds []string
	for _, r := range doc.Runs {
		kinds = append(kinds, string(r.Kind))
	}
	if len(doc.Runs) < 2 || doc.Runs[len(doc.Runs)-1].Kind != record.Test || doc.Runs[0].Kind != record.Watch || doc.Bytes == 0 {
		t.Fatalf("kept are %v", kinds)
	}
	first := doc.Runs[len(doc.Runs)-1]
	if first.Goodput == 0 || first.State != record.Done || strings.Join(first.Tags, " ") != "first one" || first.From == "" || first.To == "" {
		t.Errorf("%+v", first)
	}
	for _, r := range doc.Runs {
		if strings.Contains(strings.Join(r.Command, " "), "not a token") {
			t.Errorf("a token is kept: %q", r.Command)
		}
	}
	if of := kept(t, place, "--tag", "one"); len(of.Runs) != 1 {
		t.Errorf("%d runs have the tag", len(of.Runs))
	}
	text, _, _ := keeping(t, place, "history", "--kind", "test", "--since", "1h")
	if lines := strings.Split(text, "\n"); !strings.HasPrefix(lines[0], "run") || !strings.Contains(lines[1], first.ID[28:]) || !strings.Contains(lines[1], "first, one") {
		t.Errorf("as text:\n%s", text)
	}

	exported, _, code := keeping(t, place, "history", "export", first.ID[26:])
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, exported)
	}
	var run record.Run
	if err := json.Unmarshal([]byte(exported), &run); err != nil {
		t.Fatal(err)
	}
	if len(run.Transfers) != 1 || len(run.Transfers[0].Result.Client.Streams[0].Samples) == 0 || len(run.Transfers[0].Result.Server.Streams[0].Samples) == 0 {
		t.Errorf("not all of it is kept: %+v", run.Transfers)
	}
	var document struct {
		End struct {
			Received struct {
				Bytes int64 `json:"bytes"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal(run.Document, &document); err != nil || document.End.Received.Bytes != 20<<20 {
		t.Errorf("its document has %+v, %v", document, err)
	}
	file := filepath.Join(t.TempDir(), "runs")
	if err := os.WriteFile(file, []byte(exported), 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "record.db")
	for _, want := range []string{"1 runs added", "0 runs added"} {
		if out, _, code := keeping(t, elsewhere, "history", "import", file); !strings.HasPrefix(out, want) || code != exitDone {
			t.Errorf("exit code %d: %s, want %s", code, out, want)
		}
	}
	if of := kept(t, elsewhere); len(of.Runs) != 1 || of.Runs[0].ID != first.ID {
		t.Errorf("imported: %+v", of.Runs)
	}
	out, _, code := keeping(t, elsewhere, "history", "trend", first.From, first.To)
	if code != exitDone || !strings.Contains(out, "1 runs of test") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, _, code := keeping(t, elsewhere, "history", "prune", "--keep", "0"); !strings.HasPrefix(out, "1 runs removed") || code != exitDone {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// What cannot be done is said, with what to do; the measurement itself is not touched by
// a record that is out of reach.
func TestHistoryRefuses(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "record.db")
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"history", "--since", "yesterday"}, exitUsage, `--since: "yesterday" is no time: write 2026-11-01`},
		{[]string{"history", "--kind", "x"}, exitUsage, "--kind"},
		{[]string{"history", "--most=-1"}, exitUsage, "-n -1: use 1 or more"},
		{[]string{"history", "export", "nothing"}, exitFailed, "no such run"},
		{[]string{"history", "trend", "a", "b"}, exitFailed, "no run of test from a to b is kept"},
		{[]string{"history", "prune"}, exitUsage, "--keep"},
		{[]string{"history", "prune", "--keep", "some"}, exitUsage, `--keep "some": write a number of runs, or an age such as 90d`},
		{[]string{"history", "import", "no-such-file"}, exitFailed, "no such file"},
		{[]string{"test", "192.0.2.1", "--tag", ""}, exitUsage, "use 1 to 100 bytes of text"},
	} {
		if out, stderr, code := keeping(t, place, test.args...); code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%q: exit code %d: %s%s, want %d: %s", test.args, code, out, stderr, test.code, test.want)
		}
	}
	if _, stderr, code := keeping(t, record.Nowhere, "history"); code != exitFailed || !strings.Contains(stderr, "FULLBORE_RECORD is none") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	at := farProcess(t)
	out, stderr, code := keeping(t, "/proc/no-such-place/record.db", "test", at, "-n", "10K")
	if code != exitDone || !strings.Contains(out, "receiver") || !strings.Contains(stderr, "this run is not kept: ") {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
}

// keptTuning holds what is kept of a tuning in the lab by the process that owns the lab:
// the scenario, both hosts' facts before and after, what was tuned, and every transfer.
func keptTuning(t *testing.T, place, scenario string) {
	t.Helper()
	out, stderr, code := keeping(t, place, "history", "export")
	var run record.Run
	if err := json.Unmarshal([]byte(out), &run); err != nil || code != exitDone {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, stderr)
	}
	if run.Scenario != scenario || run.From != "a" || run.To != "b" || run.Kind != record.Tune || run.State != record.Done || run.Verdict == "" || strings.Join(run.Command[:2], " ") != "tune --lab" {
		t.Errorf("%+v", run.Header)
	}
	hosts := map[string]bool{}
	for _, h := range run.Hosts {
		hosts[string(h.Side)+" "+string(h.When)+" "+h.Is.Name] = true
	}
	for _, want := range []string{"near before a", "near after a", "far before b", "far after b"} {
		if !hosts[want] {
			t.Errorf("facts of %s are missing: %v", want, hosts)
		}
	}
	if len(run.Changes) == 0 || run.Changes[0].Who != record.ByTune || len(run.Transfers) < 4 || len(run.Events) < 6 {
		t.Errorf("%d transfers, %d steps, changes %+v", len(run.Transfers), len(run.Events), run.Changes)
	}
	for i, transfer := range run.Transfers {
		if transfer.Phase == "" || transfer.Result == nil {
			t.Errorf("transfer %d: %+v", i+1, transfer)
		}
	}
	page, stderr, code := keeping(t, place, "report", "last")
	if code != exitDone || !strings.Contains(page, "How to undo it") || !strings.Contains(page, run.Changes[0].Tunable) {
		t.Errorf("exit code %d: %s%.300s", code, stderr, page)
	}
}

// A run that is interrupted is kept with what was measured; one that is killed too.
func TestIntegrationHistoryInterrupted(t *testing.T) {
	t.Parallel()
	at := farProcess(t, "--max-clients", "32")
	for signal, state := range map[syscall.Signal]record.State{syscall.SIGINT: record.Interrupted, syscall.SIGKILL: record.Running} {
		place := filepath.Join(t.TempDir(), "record.db")
		c := command(t, place, "test", at, "-t", "30", "-b", "10M")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "it is there", func() bool {
			_, err := os.Stat(place)
			return err == nil && len(kept(t, place).Runs) == 1
		})
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()                                                               // it says so
		if runs := kept(t, place).Runs; len(runs) != 1 || runs[0].State != state { // of a killed one that shows some seconds later
			t.Errorf("after %v: %+v", signal, runs)
		}
	}
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 200 {
		if is() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}
