package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/bus"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/record"
)

// met are hosts of a lab that meet at a hub on the first of them.
type met struct {
	t      *testing.T
	lab    *lab.Lab
	dir    string
	hub    string // address:port
	agents map[string]*lab.Cmd
}

// command is fullbore on a host, with a state folder and a record of its own that this process sees too: those that
// a lab gives its hosts are theirs alone.
func (m *met) command(h *lab.Host, args ...string) *lab.Cmd {
	state := filepath.Join(m.dir, h.Name())
	return h.Command(m.t.Context(), "env", append([]string{"FULLBORE_STATE=" + state, record.Variable + "=" + filepath.Join(state, "record.db"), self(m.t)}, args...)...)
}

// says starts a command that goes on, and reads its first line.
func (m *met) says(document any, h *lab.Host, args ...string) *lab.Cmd {
	m.t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		m.t.Fatal(err)
	}
	defer reader.Close()
	command := m.command(h, args...)
	errs := &lastLines{}
	command.Stdout, command.Stderr = writer, errs
	err = command.Start()
	writer.Close()
	if err != nil {
		m.t.Fatal(err)
	}
	_ = reader.SetReadDeadline(time.Now().Add(30 * time.Second))
	line, err := bufio.NewReader(reader).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, document)
	}
	if err != nil {
		m.t.Fatalf("%s: fullbore %s: %v: %s", h.Name(), strings.Join(args, " "), err, errs)
	}
	return command
}

// gather has all hosts of a scenario meet, with flags for the agents.
func gather(t *testing.T, scenario string, flags ...string) *met {
	t.Helper()
	l := laboratory(t, scenario)
	m := &met{t: t, lab: l, dir: t.TempDir(), agents: map[string]*lab.Cmd{}}
	first := l.Hosts()[0]
	var says hubDocument
	m.says(&says, first, "hub", "--bind", first.Address().String(), "--json")
	m.hub = says.Listen
	for _, h := range l.Hosts()[1:] {
		var here bus.Here
		m.agents[h.Name()] = m.says(&here, h, append([]string{"agent", "--hub", m.hub, "--token", says.Join, "--name", h.Name(), "--json"}, flags...)...)
		if here.Name != h.Name() || !strings.HasPrefix(here.Address, h.Address().String()+":") {
			t.Errorf("%s: %+v", h.Name(), here)
		}
	}
	return m
}

// on runs a shell's command on a host.
func (m *met) on(h *lab.Host, script string) string {
	m.t.Helper()
	var out bytes.Buffer
	c := h.Command(m.t.Context(), "sh", "-c", script)
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); err != nil {
		m.t.Fatalf("%s: %s: %v: %s", h.Name(), script, err, out.String())
	}
	return out.String()
}

// run runs an experiment from the hub's host, and gives what came of it.
func (m *met) run(args ...string) (r fleet.Result, err error) {
	m.t.Helper()
	var out strings.Builder
	errs := &lastLines{}
	command := m.command(m.lab.Hosts()[0], append([]string{"fleet", "run", "--hub", m.hub, "--json"}, args...)...)
	command.Stdout, command.Stderr = &out, errs
	err = command.Run()
	if e := json.Unmarshal([]byte(out.String()), &r); e != nil {
		m.t.Fatalf("fleet run %v: %v, %v: %s%s", args, err, e, out.String(), errs)
	}
	return r, err
}

// hubAndThree is a scenario: a hub, and three hosts that call it.
const hubAndThree = `
name: hub
network:
  switches: [{name: lan}]
  hosts:
    - {name: hub, port: {rate: 20mbit, delay: 1ms}}
    - {name: node, count: 3, port: {rate: 20mbit, delay: 1ms}, congestion: cubic}
`

// TestIntegrationHub: hosts that only call a hub measure between each other; one that is killed in the
// middle costs its own flows, which say why, and is gone from the list.
func TestIntegrationHub(t *testing.T) {
	t.Parallel()
	m := gather(t, scenarioFile(t, hubAndThree))
	r, err := m.run("--pattern", "shift", "-t", "500ms", "-O", "300ms")
	if err != nil || strings.Join(r.Hosts, " ") != "node1 node2 node3" || len(r.Rounds) != 2 {
		t.Fatalf("%v: %+v", err, r)
	}
	for _, round := range r.Rounds {
		for _, f := range round.Flows {
			if f.Error != "" || f.Goodput < 1e6 || f.Goodput > 20e6 { // half a second: how close it comes is the engine's to show
				t.Errorf("%+v", f)
			}
		}
	}
	time.AfterFunc(4*time.Second, func() { _ = m.agents["node3"].Signal(syscall.SIGKILL) }) // they are connected after one second, and have begun after two
	r, err = m.run("--pattern", "all", "-t", "6s", "-O", "300ms")
	if err != nil || len(r.Rounds) != 1 {
		t.Fatalf("%v: %+v", err, r)
	}
	for _, f := range r.Rounds[0].Flows {
		dead := r.Host(f.From) == "node3" || r.Host(f.To) == "node3"
		if dead != (f.Error != "") || !dead && f.Goodput < 1e6 {
			t.Errorf("%s: %+v", r.Flow(f.From, f.To), f)
		}
	}
	if r, err := m.run("--pattern", "fan-out", "-t", "300ms", "-O", "0s"); err != nil || strings.Join(r.Hosts, " ") != "node1 node2" {
		t.Errorf("%v: %v", err, r.Hosts)
	}
}
