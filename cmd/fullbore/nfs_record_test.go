package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/record"
)

// Runs about files are kept as those of transfers are: with their requests a second, both
// hosts' names, this host's facts, steps and document. They are listed, go elsewhere, and
// are reported.
func TestNFSIsKept(t *testing.T) {
	t.Parallel()
	at := farServes(t, nil, "--nfs", "--nfs-port", "0", "--nfs-file", "data=1GiB").NFS.target("127.0.0.1")
	place := filepath.Join(t.TempDir(), "record.db")
	for _, args := range [][]string{
		{"test", "-t", "0.2", "-O", "0", "--tag", "filer"},
		{"test", "-t", "0.2", "-O", "0", "--no-record"},
		{"test", "-t", "0.2", "-O", "0", "--repeat", "3", "--null"},
		{"diagnose", "--depth", "2"},
	} {
		_, stderr, code := keeping(t, place, append(append([]string{"nfs"}, args...), at)...)
		if strings.Contains(stderr, "not kept") || code != exitDone {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
	}
	runs := kept(t, place).Runs
	if len(runs) != 3 || runs[0].Kind != record.NFSDiagnose || runs[1].Kind != record.NFSTest || runs[2].Kind != record.NFSTest {
		t.Fatalf("%+v", runs)
	}
	name, _ := os.Hostname()
	for _, h := range runs {
		if h.State != record.Done || h.From != "127.0.0.1" || h.To != name || h.IOPS <= 0 || (h.Goodput > 0) != (h.ID != runs[1].ID) { // calls that do nothing move nothing
			t.Errorf("%+v", h)
		}
	}
	if runs[0].Verdict == "" || strings.Join(runs[2].Tags, " ") != "filer" {
		t.Errorf("%+v, %+v", runs[0], runs[2])
	}

	exported, _, code := keeping(t, place, "history", "export", runs[1].ID)
	var run record.Run
	if err := json.Unmarshal([]byte(exported), &run); err != nil || code != exitDone {
		t.Fatalf("exit code %d, %v: %s", code, err, exported)
	}
	var d experiment.RequestsDocument
	if err := json.Unmarshal(run.Document, &d); err != nil || len(d.Runs) != 3 || d.Repeat.Runs != 3 || d.Repeat.IOPS.Median != run.IOPS || d.Repeat.Goodput != nil {
		t.Errorf("%v: %s", err, run.Document)
	}
	if len(run.Events) != 6 || run.Events[0].Text != "null, 64 in flight over 1 connection" || len(run.Hosts) != 1 || run.Hosts[0].Is.Name != name {
		t.Errorf("%+v, %d hosts", run.Events, len(run.Hosts))
	}
	elsewhere := filepath.Join(t.TempDir(), "record.db")
	file := filepath.Join(t.TempDir(), "run.ndjson")
	if err := os.WriteFile(file, []byte(exported), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, stderr, code := keeping(t, elsewhere, "history", "import", file); code != exitDone {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	if there := kept(t, elsewhere, "--kind", "nfs-test").Runs; len(there) != 1 || there[0].IOPS != run.IOPS {
		t.Errorf("%+v", there)
	}
	if out, _, code := keeping(t, place, "history", "trend", "--kind", "nfs-test", "127.0.0.1", name); code != exitDone || !strings.Contains(out, "/s at the last") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// What a test cannot settle is said, by exit code too, with all runs until then; and one
// that fails is kept with why.
func TestNFSUntilSettled(t *testing.T) {
	t.Parallel()
	at := farServes(t, nil, "--nfs", "--nfs-port", "0", "--nfs-file", "data=1GiB").NFS.target("127.0.0.1")
	place := filepath.Join(t.TempDir(), "record.db")
	stdout, stderr, code := keeping(t, place, "nfs", "test", "-t", "0.02", "-O", "0", "--until-ci", "0.1%", at)
	if code != exitBelow || !strings.Contains(stderr, "the rate is not known to within 0.1 % after 30 runs") || strings.Count(stdout, "\nrun ") != 30 || !strings.Contains(stdout, "not settled") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if stdout, stderr, code = keeping(t, place, "nfs", "test", "--repeat", "1001", at); code != exitUsage || !strings.Contains(stderr, "--repeat 1001: use 1 to 1000") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if _, _, code = keeping(t, place, "nfs", "test", strings.Replace(at, "data", "gone", 1)); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	runs := kept(t, place).Runs
	if len(runs) != 2 || runs[0].State != record.Failed || !strings.Contains(runs[0].Error, "there is no such file") || runs[1].State != record.Done || runs[1].IOPS == 0 {
		t.Errorf("%+v", runs)
	}
}
