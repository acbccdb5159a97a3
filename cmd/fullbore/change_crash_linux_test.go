package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/internal/sandbox"
	"github.com/fullbore/fullbore/plan"
)

// changing is a host in a sandbox that the verbs change.
type changing struct {
	t     *testing.T
	found map[string]string // its tunables, as they were
	plan  string            // path of the plan that is applied
}

func newChanging(t *testing.T) *changing {
	dir := t.TempDir()
	t.Setenv("FULLBORE_STATE", filepath.Join(dir, "state"))
	c := &changing{t: t, found: map[string]string{}, plan: filepath.Join(dir, "plan.json")}
	for _, name := range []string{"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_slow_start_after_idle"} {
		c.found[name] = c.value(name)
	}
	c.plans(0)
	return c
}

func (c *changing) value(name string) string {
	value, err := host.Get(name)
	if err != nil {
		c.t.Fatal(err)
	}
	return value
}

// plans writes a plan; a later one raises more.
func (c *changing) plans(n int) {
	name, err := os.Hostname()
	if err != nil {
		c.t.Fatal(err)
	}
	var changes []plan.Change
	for tunable, to := range map[string]string{
		"net.ipv4.tcp_rmem":                  fmt.Sprint("4096 131072 ", 134217728+4096*n),
		"net.ipv4.tcp_wmem":                  fmt.Sprint("4096 65536 ", 134217728+4096*n),
		"net.ipv4.tcp_slow_start_after_idle": "0",
	} {
		changes = append(changes, plan.Change{Host: name, Tunable: tunable, From: c.found[tunable], To: to, Why: "a test", Source: "a test"})
	}
	text, err := json.Marshal(planDocument{Schema: planSchema, Plan: plan.Plan{Steps: []plan.Step{{Idea: "a test", Changes: changes}}}})
	if err == nil {
		err = os.WriteFile(c.plan, text, 0o644)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// args are those of a verb.
func (c *changing) args(verb string) []string {
	switch verb {
	case "apply":
		return []string{"apply", c.plan, "--confirm-within", "1m"}
	case "confirm":
		return []string{"confirm", "--persist"}
	}
	return []string{verb}
}

// run lets a verb come to its end, and says how long that took.
func (c *changing) run(args ...string) (string, time.Duration) {
	c.t.Helper()
	began := time.Now()
	out, err := exec.Command(self(c.t), args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("fullbore %v: %v\n%s", args, err, out)
	}
	return string(out), time.Since(began)
}

// check wants the host to be what "fullbore status" says, and that to be whole.
func (c *changing) check(told string) {
	c.t.Helper()
	out, _ := c.run("status", "--json")
	var document setsDocument
	if err := json.Unmarshal([]byte(out), &document); err != nil {
		c.t.Fatalf("%s: status says %q: %v", told, out, err)
	}
	want, persisted := maps.Clone(c.found), false
	for _, set := range slices.Backward(document.Sets) {
		switch set.State {
		case change.Live, change.Confirmed:
			for _, v := range set.Values {
				want[v.Tunable] = v.New
			}
		case change.Planned, change.Reverted:
		default:
			c.t.Fatalf("%s: %s is %s: %s", told, set.ID, set.State, out)
		}
		persisted = persisted || set.State == change.Confirmed && set.Persist
	}
	got := map[string]string{}
	for name := range c.found {
		got[name] = c.value(name)
	}
	if d := cmp.Diff(want, got); d != "" {
		c.t.Fatalf("%s: (-as status says +as it is):\n%s\n%s", told, d, out)
	}
	text, err := os.ReadFile("/etc/sysctl.d/99-zz-fullbore.conf")
	if persisted != (err == nil) {
		c.t.Fatalf("%s: persisted is %v, and the drop-in says (%v):\n%s\n%s", told, persisted, err, text, out)
	}
	for name, value := range want {
		if line := name + " = " + value; persisted && value != c.found[name] && !strings.Contains(string(text), line) {
			c.t.Fatalf("%s: %q is not in the drop-in:\n%s\n%s", told, line, text, out)
		}
	}
}

// TestIntegrationKilledVerbs kills the verbs that change a host at random times,
// every other time with all watchdogs: the host is then wholly old or wholly new,
// and status says which.
func TestIntegrationKilledVerbs(t *testing.T) {
	if !sandbox.Run(t) {
		return
	}
	const rounds = 30
	c := newChanging(t)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	lasts := map[string]time.Duration{} // how long a verb takes that nobody kills
	killed := 0
	for round := range rounds {
		verb := []string{"apply", "confirm", "revert"}[round%3]
		told := fmt.Sprintf("round %d, %s", round, verb)
		if round < 3 {
			_, lasts[verb] = c.run(c.args(verb)...)
			c.check(told)
			continue
		}
		c.plans(round)
		if verb != "apply" { // what it is to work on
			c.run(c.args("apply")...)
		}
		if verb == "revert" {
			c.run(c.args("confirm")...)
		}
		command := exec.Command(self(t), c.args(verb)...)
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		// The first part of its time it reads its own catalogue.
		time.Sleep(lasts[verb]/4 + time.Duration(random.Int64N(int64(lasts[verb]))))
		_ = command.Process.Kill()
		_ = command.Wait()
		if status, ok := command.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			killed++
		}
		if random.IntN(2) == 0 {
			sandbox.KillOthers()
		}
		c.check(told)
		c.run("revert", "--all")
		c.check(told + ", reverted")
		if d := cmp.Diff("", c.dropIn()); d != "" {
			t.Fatalf("%s: left behind: %s", told, d)
		}
	}
	t.Logf("%d of %d were killed amid their work; undisturbed they take %v", killed, rounds, lasts)
	if killed < rounds/4 {
		t.Errorf("only %d of %d were killed amid their work", killed, rounds)
	}
}

func (c *changing) dropIn() string {
	text, _ := os.ReadFile("/etc/sysctl.d/99-zz-fullbore.conf")
	return string(text)
}

// TestIntegrationClosedTerminal closes the terminal that a plan was applied in,
// as when the network of an ssh session breaks: the plan stays until its
// deadline, and is then reverted without any other command.
func TestIntegrationClosedTerminal(t *testing.T) {
	if !sandbox.Entering() {
		t.Parallel() // within, it sets the environment
	}
	if !sandbox.Run(t) {
		return
	}
	c := newChanging(t)
	const name = "net.ipv4.tcp_rmem"
	term := openTerminal(t, 200, 24)
	// Tests that are run under nohup ignore hang-ups, and so would what they start.
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	defer signal.Stop(hangUps)
	// The end of its input reaches a shell before the hang-up does: it waits for both.
	shell := exec.Command("/bin/sh", "-c", `"$0" apply "$1" --confirm-within 5s; read line; exec sleep 60`, self(t), c.plan)
	term.run(t, shell)
	term.awaits(t, "keep it")
	applied := c.value(name)
	if applied == c.found[name] {
		t.Fatal("nothing is applied: ", term.text())
	}
	term.hangUp(t)
	if err := shell.Wait(); err == nil || !strings.Contains(err.Error(), "hangup") {
		t.Errorf("the shell ended with %v, want it hung up", err)
	}
	if got := c.value(name); got != applied {
		t.Errorf("it was reverted before its time: %q", got)
	}
	for end := time.Now().Add(time.Minute); c.value(name) != c.found[name] && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	c.check("after the deadline")
	out, _ := c.run("status")
	if !strings.Contains(out, "nobody confirmed within 5s") || c.value(name) != c.found[name] {
		t.Errorf("%s is %q; %s", name, c.value(name), out)
	}
}
