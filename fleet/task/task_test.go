package task

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/tune"
)

// TestAnswered: what a server answered second by second is what arrived after the time that is not measured; however long it
// took, an outcome can carry it.
func TestAnswered(t *testing.T) {
	f := &nfs.Figures{Elapsed: 2500 * time.Millisecond, Each: []nfs.Stretch{{Until: time.Second, Bytes: 100}, {Until: 2 * time.Second, Bytes: 200}}}
	f.Bytes = 350
	want := []job.Point{{After: time.Second}, {After: 2 * time.Second, Bytes: 100}, {After: 3 * time.Second, Bytes: 300}, {After: 3500 * time.Millisecond, Bytes: 350}}
	if got := answered(f, time.Second); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for range 10_000 {
		f.Each = append(f.Each, nfs.Stretch{Until: time.Duration(len(f.Each)+1) * time.Second, Bytes: 1})
	}
	f.Elapsed, f.Bytes = 10_003*time.Second, 20_000
	if err := (&job.Outcome{Retransmits: -1, Arrived: answered(f, 0)}).Check(); err != nil {
		t.Error(err)
	}
	if got := answered(&nfs.Figures{}, 0); len(got) != 1 { // nothing came
		t.Errorf("%v", got)
	}
}

// TestTuned: of a tuning one reads what was gained, what is set now and how to undo it, and what is left to others.
func TestTuned(t *testing.T) {
	r := &tune.Result{Gain: 3.2, GainCI95: [2]float64{3.1, 3.3}, Apply: tune.ApplyPersist}
	r.Before.Goodput, r.After.Goodput = 30e6, 96e6
	r.Kept = []tune.Outcome{{Host: "store", Tunable: "net.ipv4.tcp_rmem", From: "small", To: "large"}}
	r.ChangeSets = []tune.ChangeSet{{Host: "store", ID: "1", Undo: "fullbore revert 1", Persisted: true}}
	r.Advice = []tune.Advice{{Host: "node1", Says: "its administrator should run", Commands: []string{"sysctl -w x=1"}}}
	want := []string{
		"96 Mb/s instead of 30 Mb/s (x 3.2; 95 % sure of 3.1 to 3.3 times)",
		"store: net.ipv4.tcp_rmem is large instead of small",
		"store: kept for good; there, fullbore revert 1 undoes it",
		"advice: node1: its administrator should run; sysctl -w x=1",
	}
	if got := tuned(r); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	r.Apply = tune.ApplyNone
	if got := tuned(r)[0]; !strings.HasSuffix(got, "proven and put back") {
		t.Error(got)
	}
	r.Kept, r.ChangeSets = nil, nil
	r.Verdict.Says = "the path is full"
	if got := tuned(r)[0]; got != "30 Mb/s as before: the path is full" {
		t.Error(got)
	}
}
