package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/sweep"
	"github.com/fullbore/fullbore/unit"
)

// waiting is a path of 10 ms whose hosts' windows are small.
const waiting = `
name: waiting
path:
  mtu: 1500
  a_to_b: {rate: 1gbit, delay: 5ms, queue: 1bdp}
hosts:
  a: {congestion: cubic, sysctl: {net.ipv4.tcp_rmem: "4096 98304 98304"}}
  b: {congestion: cubic}
`

// TestIntegrationNFS: over an emulated path a file's requests obey the laws: one in flight
// is answered once in a round trip, and a window lets so much through in one. Tuning raises
// both, keeps what helped, and leaves no more behind than that. Nothing else runs meanwhile:
// how long a request takes is what is measured.
func TestIntegrationNFS(t *testing.T) {
	scenario := scenarioFile(t, waiting)
	test := func(t *testing.T, args ...string) (d nfs.Document) {
		t.Helper()
		stdout, stderr, code := fullbore(t, append([]string{"nfs", "test", "--lab", scenario, "-J", "-t", "1"}, args...)...)
		if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != exitDone {
			t.Fatalf("exit code %d, %v: %s", code, err, stderr)
		}
		return d
	}
	t.Run("one request in flight", func(t *testing.T) {
		t.Parallel()
		d := test(t, "--depth", "1", "--null")
		if law := 1 / 0.010; math.Abs(d.IOPS/law-1) > 0.25 {
			t.Errorf("%.0f requests a second; one in each 10 ms makes %.0f", d.IOPS, law)
		}
		if d.CPU <= 0 || d.FarCPU == nil || d.FarCPU.Process <= 0 {
			t.Errorf("processor time of both ends: %v, %+v", d.CPU, d.FarCPU)
		}
	})
	t.Run("the window", func(t *testing.T) {
		t.Parallel()
		d := test(t, "--depth", "8", "--size", "1MiB")
		tcp := d.Shares[0].TCP
		if tcp == nil {
			t.Fatalf("%+v", d)
		}
		if law := float64(tcp.ReceiveWindow) * 8 / 0.010; d.Goodput > 1.1*law || d.Goodput < 0.5*law {
			t.Errorf("%.3g bit/s; %d bytes in 10 ms make %.3g", d.Goodput, tcp.ReceiveWindow, law)
		}
	})
	t.Run("diagnosed", func(t *testing.T) {
		t.Parallel()
		for args, want := range map[string]string{"--depth 1": limit.OneReader, "--depth 8 --size 256KiB": limit.Window} {
			stdout, stderr, code := fullbore(t, append([]string{"nfs", "diagnose", "--lab", scenario, "-J"}, strings.Fields(args)...)...)
			var d nfsDiagnosis
			if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != exitDone {
				t.Fatalf("exit code %d, %v: %s", code, err, stderr)
			}
			if d.Verdict.Cause != want {
				t.Errorf("%s: %+v; %+v", args, d.Verdict, d.Evidence)
			}
		}
	})
	t.Run("swept", func(t *testing.T) {
		t.Parallel()
		experiment := filepath.Join(t.TempDir(), "depth.yaml")
		if err := os.WriteFile(experiment, []byte("name: depth\nfactors: {depth: [1, 4]}\nmeasure: {duration: 500ms}\nblocks: 2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		run := exec.CommandContext(t.Context(), self(t), "sweep", experiment, "--lab", scenario, "--json")
		run.Env = append(os.Environ(), "FULLBORE_STATE="+t.TempDir())
		var said bytes.Buffer
		run.Stderr = &said
		stdout, err := run.Output()
		var d sweep.Document
		if err == nil {
			err = json.Unmarshal(stdout, &d)
		}
		if err != nil || len(d.Points) < 2 {
			t.Fatalf("%v: %s%s", err, stdout, &said)
		}
		if one, four := d.Points[0].IOPS, d.Points[1].IOPS; one > 1.1/0.010 || four < 2*one {
			t.Errorf("%.0f requests a second with one in flight, %.0f with four", one, four)
		}
	})
	t.Run("tuned", func(t *testing.T) {
		t.Parallel()
		stdout, stderr, code := fullbore(t, "nfs", "tune", "--lab", scenario, "-J", "--size", "64KiB", "--depth", "16", "--budget", "15s")
		var r climb.Result
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != exitDone {
			t.Fatalf("exit code %d, %v: %s", code, err, stderr)
		}
		t.Log(stderr)
		if r.Verdict.Cause != limit.Window || r.Gain < 5 || r.GainCI95[0] <= 1 {
			t.Errorf("%+v", r)
		}
		if kept, _ := json.Marshal(r.Kept); !strings.Contains(string(kept), "tcp_rmem") {
			t.Errorf("kept %s", kept)
		}
		if advice := strings.Join(r.Advice, "\n"); !strings.Contains(advice, "fullbore revert ") { // they are still set
			t.Errorf("what helped was not kept: %s", advice)
		}
	})
	// What a scenario says of server and load is what is measured, and diagnosed as it says; a flag
	// goes before it. (make nfs-scenarios has all of them.)
	for _, name := range []string{"nfs-threads", "nfs-readahead"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := lab.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			stdout, stderr, code := fullbore(t, "nfs", "diagnose", "--lab", name, "-J")
			var d nfsDiagnosis
			if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != exitDone {
				t.Fatalf("exit code %d, %v: %s", code, err, stderr)
			}
			if d.Verdict.Cause != s.Expect.Cause {
				t.Errorf("%+v; %+v", d.Verdict, d.Evidence)
			}
		})
	}
	t.Run("a flag", func(t *testing.T) {
		t.Parallel()
		stdout, stderr, code := fullbore(t, "nfs", "test", "--lab", "nfs-readahead", "--readahead", "1MiB", "-J", "-t", "0.5", "-O", "0.5")
		var d nfs.Document
		if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != exitDone {
			t.Fatalf("exit code %d, %v: %s", code, err, stderr)
		}
		if d.ReadAhead == nil || *d.ReadAhead != unit.MiB || d.Size != 1<<20 || d.Depth != 2 || d.Random {
			t.Errorf("%+v", d)
		}
	})
}
