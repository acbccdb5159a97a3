package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/host/collector"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/tunable"
)

type factsCmd struct {
	JSON bool   `help:"One JSON document on stdout."`
	For  string `xor:"whose" placeholder:"SYSTEM" help:"Print the command that collects the facts of another host, using only what its system comes with: linux, solaris10, macos, freebsd, windows2003, ..."`
	Read string `xor:"whose" placeholder:"FILE" help:"Show the facts that such a command or --json has printed into a file (-: from standard input)."`
}

func (c *factsCmd) Run(app *app) error {
	if c.For != "" {
		if c.JSON {
			return usageError("--for prints a command, which has no JSON")
		}
		return c.script(app)
	}
	facts, err := c.facts(app)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(app.stdout, collector.Document{Schema: collector.Schema, Facts: facts})
	}
	report.Facts(app.stdout, facts)
	return nil
}

// script prints the command for another host. What to do with what that prints
// goes where it is not part of the command.
func (c *factsCmd) script(app *app) error {
	system, version, err := tunable.Find(c.For)
	if err != nil {
		return &hinted{err: err, hint: "see fullbore tunables --help for what there is", code: exitUsage}
	}
	text, err := collector.Script(system.ID, version)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(app.stdout, text); err != nil {
		return err
	}
	fmt.Fprintln(app.stderr, "Run this on that host, as root if you can, with what it prints in a FILE; then plan here with: fullbore plan --facts FILE")
	return nil
}

// facts are those of a file, or of this host.
func (c *factsCmd) facts(app *app) (*host.Facts, error) {
	if c.Read != "" {
		return readFacts(app, c.Read)
	}
	facts, err := host.Collect(app.ctx)
	if err != nil || len(facts.Tunables) > 0 {
		return facts, err
	}
	return runScript(app, facts)
}

// readFacts reads a file of facts, and says on stderr what in it was not
// understood.
func readFacts(app *app, name string) (*host.Facts, error) {
	type outcome struct {
		facts *host.Facts
		notes []string
		err   error
	}
	// A pipe may never end: Ctrl-C does not wait for it.
	read := make(chan outcome, 1)
	go func() {
		var o outcome
		o.facts, o.notes, o.err = understand(app.stdin, name)
		read <- o
	}()
	select {
	case <-app.ctx.Done():
		return nil, fmt.Errorf("read facts from %s: %w", name, app.ctx.Err())
	case o := <-read:
		for _, n := range o.notes {
			fmt.Fprintln(app.stderr, "note:", n)
		}
		return o.facts, o.err
	}
}

// understand reads a file of facts; "-" is the standard input.
func understand(stdin io.Reader, name string) (*host.Facts, []string, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, nil, fmt.Errorf("read facts: %w", err)
		}
		defer file.Close()
		stdin = file
	}
	facts, notes, err := collector.Understand(stdin)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return facts, notes, nil
}

// scriptTime is how long the commands of a script may take together: those of a
// large Solaris take some seconds.
const scriptTime = time.Minute

// runScript collects this host's tunables, on a system where host.Collect does
// not know how, with the command that is for other hosts. What host.Collect
// knows stands; that it cannot change tunables here is one of those things.
func runScript(app *app, facts *host.Facts) (*host.Facts, error) {
	text, err := collector.Script(facts.OS, facts.Version)
	if err != nil {
		return facts, nil //nolint:nilerr // there is no command for this system: facts without tunables are all there is
	}
	ctx, stop := context.WithTimeout(app.ctx, scriptTime)
	defer stop()
	shell := []string{"/bin/sh", "-c", text}
	if facts.OS == "windows" {
		shell = []string{"powershell", "-NoProfile", "-NonInteractive", "-Command", text}
	}
	printed, err := exec.CommandContext(ctx, shell[0], shell[1:]...).Output()
	if err != nil && len(printed) == 0 {
		return nil, errors.Join(fmt.Errorf("collect facts with %s: %w", shell[0], err), ctx.Err())
	}
	found, err := collector.Read(bytes.NewReader(printed))
	if err != nil {
		return nil, fmt.Errorf("collect facts with %s: %w", shell[0], err)
	}
	found.CanChange, found.WhyNot = facts.CanChange, facts.WhyNot
	if len(found.Interfaces) == 0 {
		found.Interfaces = facts.Interfaces
	}
	return found, nil
}
