package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/web/live"
	"github.com/fullbore/fullbore/web/task"
)

// startedFromPage is what a page has: tasks, and what they tell.
func startedFromPage(t *testing.T) (*task.Tasks, *live.Hub, string) {
	t.Helper()
	dir := t.TempDir()
	hub := live.NewHub()
	place := filepath.Join(dir, "record.db")
	tasks := task.New(task.Options{Program: self(t), Env: []string{"FULLBORE_STATE=" + dir}, Place: place, Observe: hub.Observer})
	t.Cleanup(func() { tasks.Close(nil) })
	return tasks, hub, place
}

// startTask starts one, and gives it once its run has begun.
func startTask(t *testing.T, tasks *task.Tasks, r task.Request) task.Task {
	t.Helper()
	x, err := tasks.Start(r)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the run begins", func() bool {
		x, err = tasks.Get(x.ID)
		return err != nil || x.Run != "" || x.State.Ended()
	})
	if err != nil || x.Run == "" {
		t.Fatalf("%+v, %v", x, err)
	}
	return x
}

func endTask(t *testing.T, tasks *task.Tasks, id string) task.Task {
	t.Helper()
	x, err := tasks.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// A command that a page started ends as with Ctrl-C when the page is gone.
func TestEndsWithItsPage(t *testing.T) {
	t.Parallel()
	c := exec.CommandContext(t.Context(), self(t), "serve", "--json", "--ephemeral", "--bind", "127.0.0.1", "--port", "0")
	c.Env = append(os.Environ(), "FULLBORE_ENDS_WITH_STDIN=1")
	page, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it serves
		t.Fatal(err)
	}
	if err := page.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// A run in the lab that a page started is watched from its first message, through the process that owns
// the lab: what each stream does, and what came of it. It is kept as any other.
func TestIntegrationTaskInLab(t *testing.T) {
	tasks, hub, place := startedFromPage(t)
	x := startTask(t, tasks, task.Request{Verb: task.Test, Scenario: "clean-lan", Streams: 2, Seconds: 3, Tags: []string{"from the page"}})
	if x = endTask(t, tasks, x.ID); x.State != task.Done {
		t.Fatalf("%+v", x)
	}
	run, ok := hub.Run(x.Run)
	if !ok || run.Task != x.ID || run.Header.Scenario != "clean-lan" || run.Header.State != record.Done || strings.Join(run.Header.Command, " ") != strings.Join(x.Command, " ") {
		t.Fatalf("%+v", run.Header)
	}
	if len(run.Transfers) != 1 || run.Transfers[0].Forward != run.Header.Goodput || run.Transfers[0].RTT == 0 {
		t.Errorf("%+v", run.Transfers)
	}
	if len(run.Points) < 4 {
		t.Fatalf("%d points of 3 s", len(run.Points))
	}
	for _, p := range run.Points {
		for _, s := range p.Streams {
			if len(p.Streams) != 2 || s.RTT == 0 || s.Cwnd == 0 || !s.Sender {
				t.Fatalf("%+v", p)
			}
		}
	}
	if runs := kept(t, place, "--tag", "from the page").Runs; len(runs) != 1 || runs[0].ID != x.Run || runs[0].Scenario != "clean-lan" {
		t.Errorf("%+v", runs)
	}
}

// A tune that a page started shows its steps as they come; stopped, it says that all is as it was.
func TestIntegrationTaskStopped(t *testing.T) {
	t.Parallel()
	tasks, hub, _ := startedFromPage(t)
	x := startTask(t, tasks, task.Request{Verb: task.Tune, Scenario: "small-sender"})
	await(t, "a step", func() bool { run, _ := hub.Run(x.Run); return len(run.Steps) > 1 && len(run.Points) > 0 })
	if err := tasks.Stop(x.ID); err != nil {
		t.Fatal(err)
	}
	x = endTask(t, tasks, x.ID)
	if x.State != task.Stopped || !strings.Contains(x.Says, "both hosts are as they were") {
		t.Errorf("%+v", x)
	}
	if run, _ := hub.Run(x.Run); run.Header.State != record.Interrupted {
		t.Errorf("%+v", run.Header)
	}
}

// A sweep that a page started and that was killed goes on where it was when the same is asked for again.
func TestIntegrationTaskResumed(t *testing.T) {
	t.Parallel()
	tasks, hub, _ := startedFromPage(t)
	sweeps := task.Request{Verb: task.Sweep, Experiment: "gigaswift-writes"}
	x := startTask(t, tasks, sweeps)
	transfers := func(x task.Task) int { run, _ := hub.Run(x.Run); return len(run.Transfers) }
	await(t, "two transfers", func() bool { return transfers(x) >= 2 })
	killTask(t, sweeps.Experiment)
	if x = endTask(t, tasks, x.ID); x.State != task.Failed || !strings.Contains(x.Says, "killed") {
		t.Fatalf("%+v", x)
	}
	there := transfers(x)
	if run, _ := hub.Run(x.Run); run.Header.State != record.Interrupted {
		t.Errorf("%+v", run.Header)
	}

	again := startTask(t, tasks, sweeps)
	await(t, "a transfer more", func() bool { return transfers(again) >= 1 })
	if err := tasks.Stop(again.ID); err != nil {
		t.Fatal(err)
	}
	if again = endTask(t, tasks, again.ID); again.State != task.Stopped || !strings.Contains(again.Says, "what was measured is kept") {
		t.Errorf("%+v", again)
	}
	run, _ := hub.Run(again.Run)
	says := regexp.MustCompile(`; (\d+) of them are there already`).FindStringSubmatch(run.Steps[0].Text)
	if says == nil || says[1] != fmt.Sprint(there) && says[1] != fmt.Sprint(there+1) { // one was on its way to the page
		t.Errorf("%d were there, and it says: %s", there, run.Steps[0].Text)
	}
}

// killTask kills this process's child that does an experiment.
func killTask(t *testing.T, experiment string) {
	t.Helper()
	children, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range children {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		if fields := strings.Fields(rest); len(fields) < 2 || fields[1] != fmt.Sprint(os.Getpid()) || !strings.Contains(string(command), "\x00"+experiment+"\x00") {
			continue
		}
		var pid int
		if _, err := fmt.Sscan(filepath.Base(filepath.Dir(name)), &pid); err != nil {
			t.Fatal(err)
		}
		process, err := os.FindProcess(pid)
		if err == nil {
			err = process.Kill()
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no such child")
}
