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
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/fleet/pattern"
	"github.com/fullbore/fullbore/hostport"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/near"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
)

// fleetCmd is for many hosts at once.
type fleetCmd struct {
	Run fleetRunCmd `cmd:"" help:"Have many hosts measure at the same time: who sends to whom is a pattern."`
}

type fleetRunCmd struct {
	Hosts    string        `xor:"where" placeholder:"FILE" help:"Hosts, one a line: NAME ADDRESS[:PORT] TOKEN. Each runs 'fullbore serve --allow-jobs', which prints the token."`
	Lab      string        `xor:"where" placeholder:"SCENARIO" help:"Run it on the hosts of a scenario with a network, in the lab on this machine."`
	Pattern  string        `default:"pairs" placeholder:"NAME" help:"pairs (each with each other, disjoint pairs at a time), shift, incast (all to one), fan-out (one to all), or all (each to each other at once) (${default})."`
	Only     []string      `placeholder:"NAME,..." help:"These of the hosts only."`
	At       string        `placeholder:"NAME" help:"The one host of incast and fan-out (the last one)."`
	Time     time.Duration `short:"t" default:"5s" placeholder:"DURATION" help:"Measured time of each round (${default})."`
	Omit     time.Duration `short:"O" default:"1s" placeholder:"DURATION" help:"Not measured at the beginning of each (${default})."`
	Parallel int           `short:"P" default:"1" placeholder:"N" help:"TCP streams of each flow (${default})."`
	JSON     bool          `short:"J" name:"json" help:"Write one JSON document."`
}

func (c *fleetRunCmd) Run(app *app) error {
	p, err := pattern.Named(c.Pattern)
	if err != nil {
		return usageError("--pattern: %w", err)
	}
	if c.Lab != "" {
		return c.inLab(app)
	}
	if c.Hosts == "" {
		return usageError("name the hosts with --hosts FILE, or a scenario with --lab")
	}
	listed, err := readHosts(c.Hosts)
	if err != nil {
		return err
	}
	if listed, err = these(listed, c.Only); err != nil {
		return err
	}
	centre := len(listed) - 1
	if c.At != "" {
		if centre, err = placeOf("--at", c.At, listed); err != nil {
			return err
		}
	}
	spec := bulk.Spec{Direction: bulk.Forward, Streams: c.Parallel, Duration: c.Time, Omit: c.Omit}
	if err := (&job.Order{Schema: job.Schema, To: "host", Place: job.Place{ID: "-", Cookie: "-"}, Spec: spec}).Check(); err != nil {
		return usageError("%w", err)
	}
	if _, err := p.Rounds(len(listed), centre); err != nil {
		return usageError("%w", err)
	}
	watch := report.NewMonitor(app.stderr, c.JSON && !isTerminal(app.stderr))
	defer watch.End()
	watch.Phase(fmt.Sprintf("call %d hosts", len(listed)))
	members, err := callAll(app.ctx, listed)
	defer func() {
		for _, m := range members {
			if client, ok := m.Host.(*peer.Client); ok {
				_ = client.Close()
			}
		}
	}()
	if err != nil {
		return err
	}
	result, err := fleet.Run(app.ctx, members, fleet.Experiment{Pattern: p, Centre: centre, Spec: spec}, watch)
	watch.End()
	if err != nil && (result == nil || len(result.Rounds) == 0) {
		return err
	}
	if c.JSON {
		return cmp.Or(printJSON(app.stdout, result), err)
	}
	_, _ = fmt.Fprintln(app.stdout)
	report.Fleet(app.stdout, result)
	return err
}

// listedHost is a line of a file of hosts.
type listedHost struct{ name, address, token string }

// mostHosts is how many a file may list.
const mostHosts = 1000

// readHosts reads NAME ADDRESS[:PORT] TOKEN from each line of a file. What follows a # is not read.
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
		if len(fields) != 3 {
			return nil, bad("a line has NAME ADDRESS[:PORT] TOKEN, not %d words", len(fields))
		}
		host, port, err := hostport.Parse(fields[1], peer.DefaultPort)
		if err != nil {
			return nil, bad("%w", err)
		}
		h := listedHost{fields[0], net.JoinHostPort(host, strconv.Itoa(int(port))), fields[2]}
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
		if _, err := placeOf("--only", name, hosts); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(hosts, func(h listedHost) bool { return !slices.Contains(names, h.name) }), nil
}

func placeOf(flag, name string, hosts []listedHost) (int, error) {
	var names []string
	for i, h := range hosts {
		if h.name == name {
			return i, nil
		}
		names = append(names, h.name)
	}
	return 0, usageError("%s %s: there is no such host%s", flag, name, near.DidYouMean(name, names))
}

// callAll calls all hosts, at the same time. Each that cannot be called, or does no jobs, is an error.
func callAll(ctx context.Context, hosts []listedHost) ([]fleet.Member, error) {
	members, failed := make([]fleet.Member, len(hosts)), make([]error, len(hosts))
	var calls sync.WaitGroup
	for i, h := range hosts {
		calls.Go(func() {
			client, err := peer.Dial(ctx, h.address, h.token)
			if err != nil {
				failed[i] = fmt.Errorf("%s: %w", h.name, err)
				return
			}
			members[i] = fleet.Member{Name: h.name, Address: h.address, Host: client}
			if !slices.Contains(client.Hello().Features, "jobs") {
				failed[i] = fmt.Errorf("%s does no jobs for others: start it there with fullbore serve --allow-jobs", h.name)
			}
		})
	}
	calls.Wait()
	members = slices.DeleteFunc(members, func(m fleet.Member) bool { return m.Host == nil })
	return members, errors.Join(failed...)
}

// inLab runs this command line on the first host of a scenario's network, with `serve` on all.
func (c *fleetRunCmd) inLab(app *app) error {
	s, err := lab.LoadAny(c.Lab)
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
	file, err := serveAll(ctx, l, self)
	if file != "" {
		defer func() { _ = os.Remove(file) }()
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	command := l.Hosts()[0].Command(ctx, self, append(withoutLab(app.args), "--hosts", file)...)
	command.Env = append(os.Environ(), record.Variable+"="+record.Nowhere)
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
func serveAll(ctx context.Context, l *lab.Lab, self string) (file string, err error) {
	hosts := l.Hosts()
	serves, failed := make([]*serveDocument, len(hosts)), make([]error, len(hosts))
	var starts sync.WaitGroup
	for i, h := range hosts {
		starts.Go(func() { serves[i], failed[i] = serveOn(ctx, h, self, "--ephemeral", "--allow-jobs") })
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
