package record

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// keepsRuns is the environment's variable with the place at which this binary keeps one
// run after the other, and prints the identifier of each that is kept.
const keepsRuns = "RECORD_TEST_PLACE"

func keepRuns(place string) {
	for {
		r := Start(place, Header{Kind: Test, From: "a", To: "b"})
		for range 3 {
			r.Transfer(time.Now(), aTransfer(""))
		}
		if err := r.End(Outcome{State: Done}); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println(r.ID())
	}
}

// However a process that keeps runs is killed, no run is lost that was finished, and the
// store can be opened.
func TestKilledWhileWriting(t *testing.T) {
	kills := 20
	if os.Getenv("FULLBORE_LONG") != "" {
		kills = 200
	}
	onBoth(t, func(t *testing.T, place string) {
		kills := kills
		if strings.HasPrefix(place, "postgres:") {
			kills /= 4 // the server lives on
		}
		if err := opened(t, place).Close(); err != nil {
			t.Fatal(err)
		}
		finished := map[string]bool{}
		for range kills {
			for _, id := range killed(t, place, time.Duration(rand.Int64N(int64(60*time.Millisecond)))) {
				finished[id] = true
			}
			s := opened(t, place)
			all, err := s.List(t.Context(), Filter{})
			if err != nil {
				t.Fatal(err)
			}
			done := map[string]bool{}
			for _, h := range all {
				done[h.ID] = h.State == Done
			}
			for id := range finished {
				if !done[id] {
					t.Errorf("run %s was finished, and is lost", id)
				}
			}
			_ = s.Close()
		}
		s := opened(t, place)
		for id := range finished {
			if r, err := s.Load(t.Context(), id); err != nil || len(r.Transfers) != 3 || len(r.Transfers[2].Result.Server.Streams[1].Samples) != 50 {
				t.Errorf("run %s: %v", id, err)
			}
		}
		t.Logf("%d runs were finished before %d kills", len(finished), kills)
		if len(finished) == 0 {
			t.Error("no run was ever finished")
		}
	})
}

// killed kills a process that keeps runs, some time after it has begun, and gives the
// identifiers that it had printed.
func killed(t *testing.T, place string, after time.Duration) (finished []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env, c.Stderr = append(os.Environ(), keepsRuns+"="+place), os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "error") {
			t.Error(lines.Text())
		} else {
			finished = append(finished, lines.Text())
		}
		if len(finished) == 1 {
			time.AfterFunc(after, func() { _ = c.Process.Kill() })
		}
	}
	_ = c.Wait() // "killed"
	return finished
}
