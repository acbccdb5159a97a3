package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/bus"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/fleet/pattern"
	"github.com/fullbore/fullbore/fleet/regular"
	"github.com/fullbore/fullbore/hostport"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/near"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/unit"
)

// fleetCmd is for many hosts at once.
type fleetCmd struct {
	Run      fleetRunCmd      `cmd:"" help:"Have many hosts measure at the same time: who sends to whom is a pattern."`
	Tune     fleetTuneCmd     `cmd:"" help:"Have hosts tune the ways between them: both hosts of each must have given leave (--allow-changes)."`
	Sweep    fleetSweepCmd    `cmd:"" help:"Have hosts carry out an experiment of 'fullbore sweep' over the ways between them."`
	NFS      fleetNFSCmd      `cmd:"" name:"nfs" help:"Have all hosts ask a server of NFS at the same time."`
	Rehearse fleetRehearseCmd `cmd:"" help:"Start many hosts without any traffic: who is there, how well their clocks are known, how far apart they start."`
	Hosts    fleetHostsCmd    `cmd:"" help:"List the hosts that are there."`
	Shifts   fleetShiftsCmd   `cmd:"" help:"Show where hosts and ways moved to another level in an experiment of a hub's schedule, and what changed on the hosts."`
}

// fleetFlags say which hosts.
type fleetFlags struct {
	Hosts string `placeholder:"FILE" help:"Hosts, one a line: NAME ADDRESS[:PORT] TOKEN, where 'fullbore serve --allow-jobs' runs and printed the token, or NAME ssh://[USER@]HOST[:PORT], where it is started for this command."`
	brokerFlags
	Token string   `env:"FULLBORE_TOKEN" placeholder:"TOKEN" help:"With --hub: what it printed for experiments. On the hub's own host it is not needed."`
	Only  []string `placeholder:"NAME,..." help:"These of the hosts only."`
}

// called are the hosts that were named, each called, and what lets go of them.
func (f *fleetFlags) called(app *app, watch report.Monitor) (members []fleet.Member, letGo func(), err error) {
	if f.Hosts != "" {
		if f.Hub != "" || f.NATS != "" {
			return nil, nil, usageError("both --hosts and a hub were given: use one")
		}
		listed, err := readHosts(f.Hosts)
		if err != nil {
			return nil, nil, err
		}
		if listed, err = these(listed, f.Only); err != nil {
			return nil, nil, err
		}
		watch.Phase("call " + unit.Count(len(listed), "host"))
		members, err = callEach(listed, func(h listedHost) (*peer.Client, error) {
			if overSSH(h.address) {
				return app.dialOver(h.address)
			}
			return peer.Dial(app.ctx, h.address, h.token)
		})
		return members, func() { hangUp(members) }, err
	}
	if f.Hub == "" && f.NATS == "" {
		return nil, nil, usageError("name the hosts with --hosts FILE, a hub with --hub, or a scenario with --lab")
	}
	if err := f.Check(); err != nil {
		return nil, nil, err
	}
	watch.Phase("ask who is there")
	conn, err := f.ask(app.ctx, f.Token)
	if err != nil {
		return nil, nil, err
	}
	members, err = agentsThere(app.ctx, conn, f.Only)
	return members, func() { hangUp(members); conn.Close() }, err
}

func hangUp(members []fleet.Member) {
	for _, m := range members {
		if client, ok := m.Host.(*peer.Client); ok {
			_ = client.Close()
		}
	}
}

// patternFlags say who sends to whom.
type patternFlags struct {
	Pattern string `default:"pairs" placeholder:"NAME" help:"pairs (each with each other, disjoint pairs at a time), shift, incast (all to one), fan-out (one to all), all (each to each other at once), or list (as --flows has it) (${default})."`
	Flows   string `placeholder:"FILE" help:"With --pattern list: who sends to whom, a line each, ROUND FROM TO. Those of one round run together."`
	At      string `placeholder:"NAME" help:"The one host of incast and fan-out (the last one)."`
}

type fleetRunCmd struct {
	fleetFlags
	recordFlags
	patternFlags
	Lab      string        `placeholder:"SCENARIO" help:"Run it on the hosts of a scenario with a network, in the lab on this machine."`
	Verb     string        `default:"test" enum:"test,diagnose" placeholder:"VERB" help:"test, or diagnose: say what limits each way, no host in two diagnoses at a time; -t, -O, -P, -l and -w are not for that (${default})."`
	Time     time.Duration `short:"t" default:"5s" placeholder:"DURATION" help:"Measured time of each round (${default})."`
	Omit     time.Duration `short:"O" default:"1s" placeholder:"DURATION" help:"Not measured at the beginning of each (${default})."`
	Parallel int           `short:"P" default:"1" placeholder:"N" help:"TCP streams of each flow (${default})."`
	Length   string        `short:"l" placeholder:"SIZE" help:"Bytes a write or read (128K)."`
	Window   string        `short:"w" placeholder:"SIZE" help:"Socket buffers (SO_SNDBUF and SO_RCVBUF) at both ends; switches autotuning off."`
	JSON     bool          `short:"J" name:"json" help:"Write one JSON document."`
}

func (c *fleetRunCmd) Run(app *app) error {
	chosen, err := c.pattern()
	if err != nil {
		return err
	}
	if c.Lab != "" {
		return c.inLab(app, c.Lab, nil, nil)
	}
	spec := bulk.Spec{Direction: bulk.Forward, Streams: c.Parallel, Duration: c.Time, Omit: c.Omit}
	if err := (&transferFlags{Length: c.Length, Window: c.Window}).sizes(&spec); err != nil {
		return usageError("%w", err)
	}
	if err := (&job.Order{Schema: job.Schema, Kind: job.Transfer, To: "host", Place: job.Place{ID: "-", Cookie: "-"}, Spec: spec}).Check(); err != nil {
		return usageError("%w", err)
	}
	if err := c.checkTags(); err != nil {
		return err
	}
	return c.experiment(app, &c.recordFlags, c.JSON, func(members []fleet.Member) (e fleet.Experiment, err error) {
		e = fleet.Experiment{Spec: spec}
		if c.Verb == "diagnose" {
			e.Kind = job.Diagnosis
		}
		return e, c.between(members, chosen, &e)
	})
}

// between fills in which host of those that are there does what.
func (c *patternFlags) between(members []fleet.Member, chosen func([]fleet.Member) (pattern.Pattern, error), e *fleet.Experiment) (err error) {
	if e.Pattern, err = chosen(members); err != nil {
		return err
	}
	e.Centre = len(members) - 1
	if c.At != "" {
		if e.Centre, err = placeOf("--at", c.At, members, func(m fleet.Member) string { return m.Name }); err != nil {
			return err
		}
	}
	if _, err := e.Pattern.Rounds(len(members), e.Centre); err != nil {
		return usageError("%w", err)
	}
	return nil
}

// pattern is the one that was asked for, once it is known between which hosts.
func (c *patternFlags) pattern() (func([]fleet.Member) (pattern.Pattern, error), error) {
	switch {
	case c.Pattern == pattern.Listed && c.Flows == "":
		return nil, usageError("--pattern list: give the list with --flows FILE")
	case c.Pattern != pattern.Listed && c.Flows != "":
		return nil, usageError("--flows is for --pattern list, not %s", c.Pattern)
	case c.Pattern == pattern.Listed:
		if _, err := os.Stat(c.Flows); err != nil {
			return nil, usageError("--flows: %w", err)
		}
		return func(members []fleet.Member) (pattern.Pattern, error) {
			file, err := os.Open(c.Flows)
			if err != nil {
				return pattern.Pattern{}, usageError("--flows: %w", err)
			}
			defer func() { _ = file.Close() }()
			var names []string
			for _, m := range members {
				names = append(names, m.Name)
			}
			p, err := pattern.List(file, names)
			if err != nil {
				err = usageError("--flows %s: %w", c.Flows, err)
			}
			return p, err
		}, nil
	}
	p, err := pattern.Named(c.Pattern)
	if err != nil {
		return nil, usageError("--pattern: %w", err)
	}
	return func([]fleet.Member) (pattern.Pattern, error) { return p, nil }, nil
}

// experiment runs what is made of the hosts that are there, and shows what came of it.
func (f *fleetFlags) experiment(app *app, keep *recordFlags, asJSON bool, of func([]fleet.Member) (fleet.Experiment, error)) error {
	watch := report.NewMonitor(app.stderr, asJSON && !isTerminal(app.stderr))
	defer watch.End()
	members, letGo, err := f.called(app, watch)
	if letGo != nil {
		defer letGo()
	}
	if err != nil {
		return err
	}
	e, err := of(members)
	if err != nil {
		return err
	}
	kept := keep.keep(app, record.Fleet, bulk.Forward, peer.Hello{})
	e.ID = kept.id()
	result, err := fleet.Run(app.ctx, members, e, kept.watching(watch))
	watch.End()
	kept.end(regular.Outcome(result), result, err)
	if err != nil && (result == nil || len(result.Rounds) == 0) {
		return err
	}
	if asJSON {
		return cmp.Or(printJSON(app.stdout, result), err)
	}
	_, _ = fmt.Fprintln(app.stdout)
	report.Fleet(app.stdout, result)
	return err
}

type fleetRehearseCmd struct {
	fleetFlags
	recordFlags
	JSON bool `short:"J" name:"json" help:"Write one JSON document."`
}

func (c *fleetRehearseCmd) Run(app *app) error {
	if err := c.checkTags(); err != nil {
		return err
	}
	return c.experiment(app, &c.recordFlags, c.JSON, func([]fleet.Member) (fleet.Experiment, error) {
		return fleet.Experiment{Kind: job.Rehearsal, Spec: bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: time.Second}}, nil
	})
}

type fleetHostsCmd struct {
	fleetFlags
	JSON bool `short:"J" name:"json" help:"Write one JSON document."`
}

// fleetHosts is the document of fleet hosts.
type fleetHosts struct {
	Schema string      `json:"schema"` // "fullbore/fleet-hosts/1"
	Hosts  []fleetHost `json:"hosts"`
}

type fleetHost struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Version string `json:"version"`
}

func (c *fleetHostsCmd) Run(app *app) error {
	watch := report.NewMonitor(app.stderr, c.JSON && !isTerminal(app.stderr))
	defer watch.End()
	members, letGo, err := c.called(app, watch)
	if letGo != nil {
		defer letGo()
	}
	watch.End()
	if err != nil && len(members) == 0 {
		return err
	}
	list := fleetHosts{Schema: "fullbore/fleet-hosts/1", Hosts: []fleetHost{}}
	for _, m := range members {
		list.Hosts = append(list.Hosts, fleetHost{m.Name, m.Address, m.Host.(*peer.Client).Hello().Version})
	}
	if c.JSON {
		return cmp.Or(printJSON(app.stdout, list), err)
	}
	table := tabwriter.NewWriter(app.stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "host\taddress\tfullbore")
	for _, h := range list.Hosts {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", printable.Line(h.Name), printable.Line(h.Address), printable.Line(h.Version))
	}
	return cmp.Or(table.Flush(), err)
}

// listedHost is a line of a file of hosts.
type listedHost struct {
	name, address, token string
	agent                bus.Here // of a hub
}

// mostHosts is how many a file may list.
const mostHosts = 1000

// readHosts reads NAME ADDRESS[:PORT] TOKEN, or NAME ssh://HOST, from each line of a file. What follows a # is not read.
func readHosts(file string) (hosts []listedHost, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, usageError("--hosts: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for number := 1; lines.Scan(); number++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		bad := func(format string, args ...any) error {
			return usageError("%s:%d: %w", file, number, fmt.Errorf(format, args...))
		}
		h := listedHost{name: fields[0]}
		switch {
		case len(fields) == 2 && overSSH(fields[1]):
			h.address = fields[1]
		case len(fields) != 3:
			return nil, bad("a line has NAME ADDRESS[:PORT] TOKEN or NAME ssh://[USER@]HOST, not %d words", len(fields))
		default:
			host, port, err := hostport.Parse(fields[1], peer.DefaultPort)
			if err != nil {
				return nil, bad("%w", err)
			}
			h.address, h.token = net.JoinHostPort(host, strconv.Itoa(int(port))), fields[2]
		}
		if slices.ContainsFunc(hosts, func(other listedHost) bool { return other.name == h.name }) {
			return nil, bad("there is a host %s already", h.name)
		}
		if hosts = append(hosts, h); len(hosts) > mostHosts {
			return nil, bad("more than %d hosts", mostHosts)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return hosts, nil
}

// these are the hosts of those names, in the order of the file; no names: all.
func these(hosts []listedHost, names []string) ([]listedHost, error) {
	if len(names) == 0 {
		return hosts, nil
	}
	for _, name := range names {
		if _, err := placeOf("--only", name, hosts, func(h listedHost) string { return h.name }); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(hosts, func(h listedHost) bool { return !slices.Contains(names, h.name) }), nil
}

// placeOf finds a host by its name, which a flag gave.
func placeOf[H any](flag, name string, hosts []H, named func(H) string) (int, error) {
	var names []string
	for i, h := range hosts {
		if named(h) == name {
			return i, nil
		}
		names = append(names, named(h))
	}
	return 0, usageError("%s %s: there is no such host%s", flag, name, near.DidYouMean(name, names))
}

// inLab runs this command line on the first host of a scenario's network, with `serve` and its flags on all; more, where it is there, says what is added
// to the command line.
func (f *fleetFlags) inLab(app *app, scenario string, serve []string, more func(*lab.Lab) []string) error {
	if f.Hosts != "" || f.Hub != "" || f.NATS != "" {
		return usageError("both --lab and other hosts were given: use one")
	}
	s, err := lab.LoadAny(scenario)
	if err != nil {
		return &hinted{err: err, code: exitUsage}
	}
	if s.Network == nil {
		return usageError("--lab %s: it has two hosts and a path; %s have many", s.Name, networkNames())
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	_, _ = fmt.Fprintln(app.stderr, "..", "lab", s.Name+":", s.About)
	l, err := lab.Start(app.ctx, s, lab.Options{})
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(context.WithoutCancel(app.ctx)) // as inLabWith
	defer end()
	file, err := serveAll(ctx, l, self, serve)
	if file != "" {
		defer func() { _ = os.Remove(file) }()
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	args := append(withoutLab(app.args), "--hosts", file)
	if more != nil {
		args = append(args, more(l)...)
	}
	command := l.Hosts()[0].Command(ctx, self, args...)
	place, relayed := relayRecord(app, s, l.Hosts()[0].Address())
	defer relayed()
	command.Env = append(os.Environ(), record.Variable+"="+place)
	command.Stdin, command.Stdout, command.Stderr = app.stdin, app.stdout.Writer, app.stderr
	if err = command.Start(); err == nil {
		err = waitInterrupted(app.ctx, command)
	}
	return endLab(app, l, err)
}

func networkNames() string {
	var names []string
	for _, s := range lab.Networks() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// serveAll starts a far end on each host, and writes the file that lists them.
func serveAll(ctx context.Context, l *lab.Lab, self string, flags []string) (file string, err error) {
	hosts := l.Hosts()
	serves, failed := make([]*serveDocument, len(hosts)), make([]error, len(hosts))
	var starts sync.WaitGroup
	for i, h := range hosts {
		starts.Go(func() {
			serves[i], failed[i] = serveOn(ctx, h, self, append([]string{"--ephemeral", "--allow-jobs"}, flags...)...)
		})
	}
	starts.Wait()
	if err := errors.Join(failed...); err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "fullbore-fleet-*")
	if err != nil {
		return "", fmt.Errorf("list the hosts: %w", err)
	}
	var lines []byte
	for i, h := range hosts {
		lines = fmt.Appendln(lines, h.Name(), h.Address(), serves[i].Token)
	}
	_, err = f.Write(lines)
	if err = cmp.Or(err, f.Close()); err != nil {
		err = fmt.Errorf("list the hosts: %w", err)
	}
	return f.Name(), err
}
