package task

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fullbore/fullbore/record"
)

// newTasks starts this test's own program instead of fullbore; they end with the test.
func newTasks(t *testing.T, o Options) *Tasks {
	t.Helper()
	o.Env = append(o.Env, role+"=child")
	tasks := New(o)
	t.Cleanup(func() { tasks.Close(nil) })
	return tasks
}

func started(t *testing.T, tasks *Tasks, r Request) Task {
	t.Helper()
	x, err := tasks.Start(r)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func ended(t *testing.T, tasks *Tasks, id string) Task {
	t.Helper()
	x, err := tasks.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// until waits for something that comes by itself.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("this has not come: ", what)
		}
	}
}

// says waits until a task has written a line, so that it is past its beginning.
func says(t *testing.T, tasks *Tasks, id string) {
	t.Helper()
	until(t, "a line", func() bool { x, _ := tasks.Get(id); return len(x.Lines) > 0 })
}

// A task's run is kept as that of any command line, whoever watches is told all of it with its
// progress, and the task says which run it is.
func TestTaskIsARun(t *testing.T) {
	place := filepath.Join(t.TempDir(), "record.db")
	var mu sync.Mutex
	var states []State
	var kinds []string
	tasks := newTasks(t, Options{
		Place: place,
		Changed: func(x Task) {
			mu.Lock()
			defer mu.Unlock()
			states = append(states, x.State)
		},
		Observe: func(task string) func(string, record.Message) {
			return func(run string, m record.Message) {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case m.Begin != nil:
					kinds = append(kinds, "begin")
				case m.Progress != nil:
					kinds = append(kinds, "progress")
				case m.End != nil:
					kinds = append(kinds, "end")
				}
			}
		},
	})
	x := ended(t, tasks, started(t, tasks, Request{Verb: Test, Host: "measures", Streams: 2}).ID)
	if x.State != Done || x.Exit == nil || *x.Exit != 0 || x.Says == "" || !slices.Equal(x.Lines, []string{".. measure"}) {
		t.Errorf("%+v", x)
	}
	store, err := record.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	run, err := store.Load(t.Context(), x.Run)
	if err != nil || run.State != record.Done || run.Goodput != 7 || !slices.Equal(run.Command, []string{"test", "--parallel=2", "measures"}) {
		t.Errorf("%+v, %v", run, err)
	}
	if of, err := tasks.OfRun(x.Run); err != nil || of.ID != x.ID {
		t.Errorf("%+v, %v", of, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(kinds, []string{"begin", "progress", "end"}) {
		t.Errorf("told %v", kinds)
	}
	if len(states) < 2 || states[len(states)-1] != Done || slices.Contains(states[:len(states)-1], Done) {
		t.Errorf("changed to %v", states)
	}
}

// Where tunables are fixed, nothing starts that may change this host's; the lab's hosts may
// be changed, and what changes nothing may be measured.
func TestFixed(t *testing.T) {
	tasks := newTasks(t, Options{Fixed: true})
	for _, test := range []struct {
		request Request
		starts  bool
	}{
		{Request{Verb: Tune, Host: "measures"}, false},
		{Request{Verb: Tune, Host: "measures", Apply: "none"}, false},
		{Request{Verb: Sweep, Host: "measures", Experiment: "receive-spread"}, false},
		{Request{Verb: Tune, Host: "measures", DryRun: true}, true},
		{Request{Verb: Test, Host: "measures"}, true},
		{Request{Verb: Diagnose, Host: "measures"}, true},
		{Request{Verb: Tune, Scenario: "california-uk"}, true},
		{Request{Verb: Sweep, Experiment: "gigaswift-acks"}, true},
	} {
		x, err := tasks.Start(test.request)
		if test.starts != (err == nil) || !test.starts && !errors.Is(err, ErrFixed) {
			t.Errorf("%+v: %v", test.request, err)
		}
		if err == nil {
			_ = tasks.Stop(x.ID) // it may have ended by itself
		}
	}
}

// One task measures at a time, in the order in which they were asked for; a few wait, and know their
// place; more are refused.
func TestOneAtATime(t *testing.T) {
	tasks := newTasks(t, Options{})
	wait, measure := Request{Verb: Tune, Host: "waits"}, Request{Verb: Test, Host: "measures"}
	first := started(t, tasks, wait)
	if first.State != Running || first.Place != 0 {
		t.Errorf("%+v", first)
	}
	var waiting []Task
	for i := range MostWaiting {
		waiting = append(waiting, started(t, tasks, measure))
		if x := waiting[i]; x.State != Waiting || x.Place != i+1 {
			t.Errorf("%+v", x)
		}
	}
	if _, err := tasks.Start(measure); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if err := tasks.Stop(waiting[0].ID); err != nil {
		t.Fatal(err)
	}
	if x := ended(t, tasks, waiting[0].ID); x.State != Stopped || !x.Began.IsZero() {
		t.Errorf("%+v", x)
	}
	if x, err := tasks.Get(waiting[1].ID); err != nil || x.Place != 1 {
		t.Errorf("%+v, %v", x, err)
	}
	if err := tasks.Stop(first.ID); err != nil {
		t.Fatal(err)
	}
	before := ended(t, tasks, first.ID)
	for _, x := range waiting[1:] {
		x = ended(t, tasks, x.ID)
		if x.State != Done || x.Began.Before(before.Ended) {
			t.Errorf("%+v began before %+v had ended", x, before)
		}
		before = x
	}
	if all := tasks.List(); len(all) != 1+MostWaiting || all[0].ID != before.ID {
		t.Errorf("%d, first %+v", len(all), all[0])
	}
}

// Stopping is Ctrl-C: the command puts back what it changed, and says so.
func TestStop(t *testing.T) {
	tasks := newTasks(t, Options{})
	x := started(t, tasks, Request{Verb: Tune, Host: "waits"})
	says(t, tasks, x.ID)
	if err := tasks.Stop(x.ID); err != nil {
		t.Fatal(err)
	}
	x = ended(t, tasks, x.ID)
	if x.State != Stopped || *x.Exit != 1 || !strings.Contains(x.Says, "both hosts are as they were") {
		t.Errorf("%+v", x)
	}
	if err := tasks.Stop(x.ID); err != nil {
		t.Error(err)
	}
	if err := tasks.Stop("another"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

// One that does not end when it is asked to is killed after a time.
func TestStopIgnored(t *testing.T) {
	tasks := newTasks(t, Options{})
	tasks.patience = 10 * time.Millisecond
	x := started(t, tasks, Request{Verb: Tune, Host: "ignores"})
	says(t, tasks, x.ID)
	if err := tasks.Stop(x.ID); err != nil {
		t.Fatal(err)
	}
	if x = ended(t, tasks, x.ID); x.State != Stopped || x.Exit != nil || !strings.Contains(x.Says, "killed") {
		t.Errorf("%+v", x)
	}
}

// A page that ends stops what runs and waits for it, says for what, and starts nothing more.
func TestClose(t *testing.T) {
	tasks := newTasks(t, Options{})
	x := started(t, tasks, Request{Verb: Tune, Host: "waits"})
	other := started(t, tasks, Request{Verb: Test, Host: "measures"})
	says(t, tasks, x.ID)
	var awaited []string
	tasks.Close(func(x Task) { awaited = append(awaited, x.ID) })
	if x, _ = tasks.Get(x.ID); x.State != Stopped || *x.Exit != 1 || !slices.Equal(awaited, []string{x.ID}) {
		t.Errorf("%+v, awaited %v", x, awaited)
	}
	if other, _ = tasks.Get(other.ID); other.State != Stopped || other.Exit != nil {
		t.Errorf("%+v", other)
	}
	if _, err := tasks.Start(Request{Verb: Test, Host: "measures"}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// A page that is killed leaves no tune behind: the command ends as with Ctrl-C, and can still write
// what it did.
func TestPageKilled(t *testing.T) {
	name := filepath.Join(t.TempDir(), "put-back")
	page := exec.Command(os.Args[0])
	page.Env = append(os.Environ(), role+"=page", "PUT_BACK="+name)
	said, err := page.CombinedOutput()
	if page.ProcessState.ExitCode() == 1 {
		t.Fatalf("the page failed: %v, %s", err, said)
	}
	until(t, "what was changed is put back", func() bool { text, _ := os.ReadFile(name); return string(text) == "put back" })
}

// How a command ended is said in a sentence, with what it said itself and what to do.
func TestRefused(t *testing.T) {
	tasks := newTasks(t, Options{})
	x := ended(t, tasks, started(t, tasks, Request{Verb: Tune, Host: "refuses"}).ID)
	if x.State != Failed || *x.Exit != 3 || x.Says != "It was refused: not allowed (ask somebody)." {
		t.Errorf("%+v", x)
	}
	none := New(Options{Program: filepath.Join(t.TempDir(), "nothing")})
	x = ended(t, none, started(t, none, Request{Verb: Tune, Host: "b"}).ID)
	if x.State != Failed || !strings.HasPrefix(x.Says, "It could not be started: ") {
		t.Errorf("%+v", x)
	}
}

// A token reaches the command by its environment: nobody who lists processes or tasks sees it. One
// that this process has for a far end of its own is not sent to others.
func TestToken(t *testing.T) {
	t.Setenv("FULLBORE_TOKEN", "our-own")
	tasks := newTasks(t, Options{})
	for token, want := range map[string]string{"very-secret": "very-secret", "": ""} {
		x := ended(t, tasks, started(t, tasks, Request{Verb: Test, Host: "tells", Token: token}).ID)
		if !slices.Equal(x.Lines, []string{strings.TrimSpace("args test tells, token " + want + ", EndsWithStdin")}) {
			t.Errorf("%q", x.Lines)
		}
		x.Lines = nil
		if text, err := json.Marshal(x); err != nil || strings.Contains(string(text), "secret") || x.Request.Token != "" {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// Tasks that ended long ago are forgotten.
func TestForgotten(t *testing.T) {
	var gone []string
	tasks := New(Options{Program: "/nothing/at-all", Gone: func(id string) { gone = append(gone, id) }})
	var ids []string
	for range MostEnded + 3 {
		x := started(t, tasks, Request{Verb: Test, Host: "b"})
		ended(t, tasks, x.ID)
		ids = append(ids, x.ID)
	}
	until(t, "three are gone", func() bool {
		tasks.telling.Lock()
		defer tasks.telling.Unlock()
		return slices.Equal(gone, ids[:3])
	})
	if n := len(tasks.List()); n != MostEnded {
		t.Error(n)
	}
}
