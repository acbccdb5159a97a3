package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/fleet/agent"
	"github.com/fullbore/fullbore/near"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/web/task"
)

// cli is the command line: one field a verb, each in a file of its own.
type cli struct {
	Tune       tuneCmd       `cmd:"" help:"Measure, explain, change, verify, keep or put back: the main job."`
	Test       testCmd       `cmd:"" help:"Run a transfer and report goodput."`
	Compare    compareCmd    `cmd:"" help:"Compare two variants of a transfer, run in turns."`
	Diagnose   diagnoseCmd   `cmd:"" help:"Say what limits this path, with evidence."`
	Sweep      sweepCmd      `cmd:"" help:"Run an experiment: vary settings by a plan, and say which are enough."`
	NFS        nfsCmd        `cmd:"" name:"nfs" help:"Measure a server of NFS: how many requests a second, and what limits them."`
	Plan       planCmd       `cmd:"" help:"Show the changes that would help, without making them."`
	Apply      applyCmd      `cmd:"" help:"Apply a plan to this host; it reverts by itself unless confirmed."`
	Confirm    confirmCmd    `cmd:"" help:"Keep an applied change set."`
	Revert     revertCmd     `cmd:"" help:"Undo a change set."`
	Status     statusCmd     `cmd:"" help:"Show change sets on this host, and drift."`
	Facts      factsCmd      `cmd:"" help:"Show what is known of this host."`
	Tunables   tunablesCmd   `cmd:"" help:"List what can be tuned on a system, or show all that is known of it."`
	Watch      watchCmd      `cmd:"" help:"Show the running flows of this host, and what limits each."`
	Fleet      fleetCmd      `cmd:"" help:"Measure between many hosts, started together."`
	Hub        hubCmd        `cmd:"" help:"Be where agents of many hosts dial in, for hosts that cannot be called."`
	Agent      agentCmd      `cmd:"" help:"Be one of many hosts: dial a hub, and measure when it is asked to."`
	Lab        labCmd        `cmd:"" help:"Run commands on two hosts joined by an emulated path, or on many."`
	Serve      serveCmd      `cmd:"" help:"Be the far end."`
	Page       pageCmd       `cmd:"" help:"Show runs, trends and what is running in a browser, and start runs there."`
	Report     reportCmd     `cmd:"" help:"Write a run, or a comparison of several, as one page to mail, or as text for a ticket."`
	History    historyCmd    `cmd:"" help:"List the runs that were kept, and how a path went over time."`
	Completion completionCmd `cmd:"" help:"Print what makes a shell complete words of this program."`
	Manual     manualCmd     `cmd:"" hidden:"" help:"Write the manual pages."`
	Complete   completeCmd   `cmd:"" name:"__complete" hidden:""`
	Watchdog   watchdogCmd   `cmd:"" hidden:"" help:"Revert a change set that is not confirmed."`
	SweepAt    sweepHostCmd  `cmd:"" name:"sweep-host" hidden:"" help:"Measure for a sweep in the lab."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
}

// app is what a verb needs of the world.
type app struct {
	ctx    context.Context
	args   []string // the whole command line
	stdin  io.Reader
	stdout *checkedWriter // its Writer is for processes that write there themselves
	stderr io.Writer

	remotes remotes
	model   *kong.Application // of the command line
}

// Exit codes, the same for every verb (docs/json.md).
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitRefused = 3 // would lower, not allowed, not confirmed
	exitBelow   = 4 // measured, but below what was asked
)

// exitCode is an error that only carries the exit code of the process: what
// there was to say has been said.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// hinted is an error with a sentence on what to do about it.
type hinted struct {
	err  error
	hint string
	code int
}

func (h *hinted) Error() string { return h.err.Error() }
func (h *hinted) Unwrap() error { return h.err }

// usageError says that the command line itself is wrong.
func usageError(format string, args ...any) error {
	return &hinted{err: fmt.Errorf(format, args...), hint: "see fullbore --help", code: exitUsage}
}

// misused makes a usage error of what the parser says, with the help of the verb
// that was meant.
func misused(err error) error {
	hint := "see fullbore --help"
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil {
			hint = "see fullbore " + node.Path() + " --help"
			// Of a verb that has a usual one within it, the parser knows no other.
			if word, unexpected := strings.CutPrefix(err.Error(), "unexpected argument "); unexpected && node.Parent != nil && node.Parent.DefaultCmd == node {
				var verbs []string
				for _, verb := range node.Parent.Children {
					verbs = append(verbs, verb.Name)
				}
				err = fmt.Errorf("%w%s", err, near.DidYouMean(word, verbs))
			}
		}
	}
	return &hinted{err: err, hint: hint, code: exitUsage}
}

// run is the program: main without the process around it.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx = task.EndsWithPage(ctx)

	var commands cli
	exited := -1
	parser, err := kong.New(&commands,
		kong.Name("fullbore"),
		kong.Description("Runs a bulk path at full bore: measures it from both ends, names what limits it, changes that, proves the gain, and can undo it."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"formats": strings.Join(formatNames(), ", ")},
	)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "fullbore: build the command line:", err)
		return exitFailed
	}
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "--version" || args[0] == "-v": // as of iperf3 and many others
		args = []string{"version"}
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 { // --help has been printed
		return exited
	}
	if err != nil {
		return conclude(stderr, misused(err))
	}
	out := &checkedWriter{Writer: stdout}
	command := &app{ctx: ctx, args: args, stdin: stdin, stdout: out, stderr: stderr, model: parser.Model}
	err = parsed.Run(command)
	command.remotes.end()
	if err == nil && out.err != nil { // a report that nobody has is none
		err = fmt.Errorf("write output: %w", out.err)
	}
	return conclude(stderr, err)
}

// checkedWriter remembers the first error of writing.
type checkedWriter struct {
	io.Writer
	err error
}

func (o *checkedWriter) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// conclude prints an error with its hint, and gives the exit code.
func conclude(stderr io.Writer, err error) int {
	if code, ok := errors.AsType[exitCode](err); ok {
		return int(code)
	}
	if err == nil {
		return exitDone
	}
	_, _ = fmt.Fprintln(stderr, "fullbore:", err)
	if hint, ok := errors.AsType[*hinted](err); ok {
		if hint.hint != "" {
			_, _ = fmt.Fprintln(stderr, "  hint:", hint.hint)
		}
		return hint.code
	}
	if errors.Is(err, agent.ErrUsage) {
		_, _ = fmt.Fprintln(stderr, "  hint: see fullbore --help")
		return exitUsage
	}
	for _, refusal := range []error{peer.ErrForbidden, peer.ErrToken, peer.ErrLimit, change.ErrRefused} {
		if errors.Is(err, refusal) {
			return exitRefused
		}
	}
	return exitFailed
}

// printJSON writes one indented document.
func printJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}
