package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/sweep"
)

// A sweep over a file reads it at each point: requests in flight that each wait as long make
// as many times the rate; the table has it, and so has the record. What a file cannot vary,
// or what nobody is there to set, is refused.
func TestNFSIsSwept(t *testing.T) {
	t.Parallel()
	at := farServes(t, nil, "--nfs", "--nfs-port", "0", "--nfs-file", "data=1GiB", "--nfs-latency", "20ms").NFS.target("127.0.0.1")
	place, dir := filepath.Join(t.TempDir(), "record.db"), t.TempDir()
	experiment := func(factors string) string {
		name := filepath.Join(dir, strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' {
				return r
			}
			return '-'
		}, factors)+".yaml")
		if err := os.WriteFile(name, []byte("name: file-depth\nfactors: "+factors+"\nmeasure: {duration: 500ms}\nblocks: 2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	swept := func(args ...string) (stdout, stderr string, code int) {
		c := command(t, place, append([]string{"sweep"}, args...)...)
		c.Env = append(c.Env, "FULLBORE_STATE="+dir)
		return finished(t, c)
	}
	stdout, stderr, code := swept("--json", experiment("{depth: [1, 8]}"), at)
	var d sweep.Document
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != exitDone || len(d.Points) != 3 { // 64 is the present setting
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if one, eight := d.Points[0], d.Points[1]; one.IOPS <= 0 || one.IOPS > 50 || eight.IOPS < 4*one.IOPS || float64(eight.Goodput) < eight.IOPS*32768*0.999 { // 20 ms each
		t.Errorf("%+v, %+v", one, eight)
	}
	runs := kept(t, place).Runs
	if len(runs) != 1 || runs[0].From != "127.0.0.1" || runs[0].Kind != record.Sweep || runs[0].State != record.Done || runs[0].Goodput <= 0 {
		t.Errorf("%+v", runs)
	}
	const wrong = "mss is not of requests to a file: vary window, connections, depth, size"
	if _, stderr, code := swept(experiment("{depth: [1, 8], mss: [536]}"), at); code == exitDone || !strings.Contains(stderr, wrong) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
