package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/near"
)

// labCmd is two hosts on this machine, joined by an emulated path; or many, by a network.
type labCmd struct {
	List labListCmd `cmd:"" help:"List the built-in scenarios."`
	Show labShowCmd `cmd:"" help:"Draw a scenario."`
	Run  labRunCmd  `cmd:"" help:"Build a scenario and run a command on its host a, or on another."`
	Exec labExecCmd `cmd:"" help:"Run a command on a host of a running lab."`
	Twin labTwinCmd `cmd:"" help:"Make a scenario of a path that was measured, with what is known of each of its values."`
}

type labListCmd struct {
	JSON bool `help:"Write one JSON document."`
}

func (c *labListCmd) Run(app *app) error {
	if c.JSON {
		return printJSON(app.stdout, slices.Concat(lab.Builtin(), lab.Networks()))
	}
	table := tabwriter.NewWriter(app.stdout, 0, 0, 2, ' ', 0)
	for _, scenario := range slices.Concat(lab.Builtin(), lab.Networks()) {
		_, _ = fmt.Fprintf(table, "%s\t%s\n", scenario.Name, scenario.About)
	}
	return table.Flush()
}

type labShowCmd struct {
	Scenario string `arg:"" help:"Name of a built-in scenario, or a .yaml file."`
	JSON     bool   `help:"Write one JSON document."`
}

func (c *labShowCmd) Run(app *app) error {
	scenario, err := lab.LoadAny(c.Scenario)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(app.stdout, scenario)
	}
	_, err = fmt.Fprint(app.stdout, scenario.Draw())
	return err
}

type labRunCmd struct {
	Scenario string   `arg:"" help:"Name of a built-in scenario, or a .yaml file."`
	Host     string   `placeholder:"NAME" help:"Host to run it on (a; of a network the first one)."`
	Command  []string `arg:"" passthrough:"" help:"Command for the host, after --. It finds the hosts' addresses in FULLBORE_A and FULLBORE_B, and all of them by their names."`
}

func (c *labRunCmd) Run(app *app) (err error) {
	scenario, err := lab.LoadAny(c.Scenario)
	if err != nil {
		return err
	}
	names := scenario.HostNames()
	name := cmp.Or(c.Host, names[0])
	if !slices.Contains(names, name) {
		return usageError("--host %s: the scenario has %s%s", name, strings.Join(names, ", "), near.DidYouMean(name, names))
	}
	running, err := lab.Start(app.ctx, scenario, lab.Options{})
	if err != nil {
		return err
	}
	ran := foreground(app, running.Host(name), c.Command)
	report, closed := running.Report(), running.Close() // first the end, as whoever reads stderr may be gone
	_, _ = fmt.Fprintln(app.stderr, report)
	if ran == nil {
		return closed
	}
	return ran // what Close has to say stands in the report, too
}

type labExecCmd struct {
	Lab     string   `help:"The lab's number, if several are running; within a lab, that one." placeholder:"PID" env:"FULLBORE_LAB_ID"`
	Host    string   `arg:"" help:"Host: a or b, or one that a network names."`
	Command []string `arg:"" passthrough:"" help:"Command, after --."`
}

func (c *labExecCmd) Run(app *app) error {
	host, err := lab.Attach(c.Lab, c.Host)
	if err != nil {
		return err
	}
	return foreground(app, host, c.Command)
}

// foreground runs a command on a host with this process's input and output. The
// signals this process gets are the command's, so that it, and not the context
// that they end, decides when to stop.
func foreground(app *app, host *lab.Host, command []string) error {
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return usageError("no command given: put it after --")
	}
	cmd := host.Command(context.WithoutCancel(app.ctx), command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = app.stdin, app.stdout.Writer, app.stderr
	err := cmd.RunForeground()
	if exit, ok := errors.AsType[*lab.ExitError](err); ok {
		return exitCode(exit.Code)
	}
	return err
}
