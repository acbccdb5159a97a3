package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/statedir"
	"github.com/fullbore/fullbore/sweep"
)

type sweepCmd struct {
	recordFlags
	Experiment string `arg:"" optional:"" help:"Built-in experiment, or a YAML file (docs/sweep.md); without one, list those that are built in."`
	Host       string `arg:"" optional:"" help:"Far end: host or host:port where 'fullbore serve' runs, or a file nfs://HOST/EXPORT/FILE; without one, the experiment's scenario in the lab."`
	Lab        string `placeholder:"SCENARIO" help:"Use the two hosts of this scenario (name or file; see 'fullbore lab list')."`
	Token      string `env:"FULLBORE_TOKEN" placeholder:"TOKEN" help:"What the far end's 'serve' printed: lifts its limits, and allows to change its tunables."`
	Afresh     bool   `help:"Begin anew where an earlier start was killed, instead of going on."`
	DryRun     bool   `help:"Say what would be measured and what it costs; measure nothing."`
	JSON       bool   `help:"One JSON document on stdout."`
}

func (c *sweepCmd) Run(app *app) error {
	if c.Experiment == "" {
		return report.Experiments(app.stdout, sweep.Builtin())
	}
	if err := c.checkTags(); err != nil {
		return err
	}
	if c.Host != "" && c.Lab != "" {
		return usageError("both the far end %s and the scenario %s were given: use one", c.Host, c.Lab)
	}
	spec, err := sweep.Load(c.Experiment)
	if err != nil {
		return &hinted{err: err, hint: "fullbore sweep lists those that are built in; docs/sweep.md describes files", code: exitUsage}
	}
	if c.Host == "" && spec.OfFile() {
		return c.filesInLab(app, spec)
	}
	world, name, end, err := c.world(app, spec)
	if err != nil {
		return err
	}
	defer end()
	if c.DryRun {
		return c.planned(app, spec, world)
	}
	journal, err := c.journal(spec, cmp.Or(c.Host, name)) // of a file all of its address
	if err != nil {
		return err
	}
	direction := bulk.Forward
	if _, file := world.(*sweep.Files); file { // its server sends
		direction = bulk.Reverse
	}
	kept := c.ofScenario(world.About().Scenario).keep(app, record.Sweep, direction, peer.Hello{Host: name})
	watch := &sweeping{Monitor: kept.watching(report.NewMonitor(app.stderr, c.JSON && !isTerminal(app.stderr))), keeper: kept}
	doc, err := sweep.Run(app.ctx, spec, world, journal, watch)
	watch.End()
	if doc == nil {
		kept.end(record.Outcome{}, nil, err)
		_ = journal.Close()
		return sweepError(err)
	}
	defer kept.end(record.Outcome{Goodput: doc.Best()}, doc, err)
	if err == nil {
		err = journal.Remove()
	} else {
		_ = journal.Close()
	}
	if c.JSON {
		if err := printJSON(app.stdout, doc); err != nil {
			return err
		}
	} else {
		_, _ = fmt.Fprintln(app.stdout)
		report.Sweep(app.stdout, doc)
	}
	return sweepError(err)
}

// sweepError adds what to do.
func sweepError(err error) error {
	switch {
	case errors.Is(err, sweep.ErrNotPutBack):
		return &hinted{err: err, hint: "run fullbore status on both hosts", code: exitFailed}
	case errors.Is(err, context.Canceled):
		return &hinted{err: errors.New("interrupted: what was measured is kept, and everything was put back"), hint: "the same command goes on where it was; --afresh begins anew", code: exitFailed}
	case errors.Is(err, sweep.ErrBudget):
		return &hinted{err: err, hint: "the experiment's budget is in its file", code: exitUsage}
	}
	return err
}

// world is where the experiment is carried out, with the name of its far end.
func (c *sweepCmd) world(app *app, spec *sweep.Spec) (world sweep.World, name string, end func(), err error) {
	if c.Host == "" {
		scenario := c.Lab
		if scenario == "" {
			scenario = spec.Scenario
		}
		if scenario == "" {
			return nil, "", nil, usageError("experiment %s names no scenario: name the far end, or a scenario with --lab", spec.Name)
		}
		s, err := lab.Load(scenario)
		if err != nil {
			return nil, "", nil, &hinted{err: err, code: exitUsage}
		}
		return sweep.NewPaths(s, sweep.LabHosts(), sweepLab), "lab " + s.Name, func() {}, nil
	}
	if strings.HasPrefix(c.Host, "nfs://") {
		return c.files(app, spec)
	}
	far, err := (&optionalTarget{Host: c.Host, Token: c.Token}).dial(app)
	if err != nil {
		return nil, "", nil, err
	}
	hosts, err := meet(app.ctx, far, spec.Measure)
	if err != nil {
		return nil, "", nil, errors.Join(err, far.Close())
	}
	return hosts, c.Host, func() { _ = far.Close() }, nil
}

// filesInLab carries out an experiment about a file on the two hosts of a scenario.
func (c *sweepCmd) filesInLab(app *app, spec *sweep.Spec) error {
	scenario := cmp.Or(c.Lab, spec.Scenario)
	if scenario == "" {
		return usageError("experiment %s names no scenario: name a file, such as nfs://server/export/file, or a scenario with --lab", spec.Name)
	}
	return nfsInLab(app, scenario, "sweep")
}

// files is the world of a file. Where windows are varied, a far end on its server is needed.
func (c *sweepCmd) files(app *app, spec *sweep.Spec) (world sweep.World, name string, end func(), err error) {
	target, err := nfs.ParseTarget(c.Host)
	if err != nil {
		return nil, "", nil, usageError("%w", err)
	}
	if !slices.ContainsFunc(spec.Factors, func(f sweep.Factor) bool { return f.Name() == "window" }) {
		return sweep.NewFiles(target, c.Host, nil), target.Host, func() {}, nil
	}
	far, err := (&optionalTarget{Host: target.Host, Token: c.Token}).dial(app)
	if err != nil {
		return nil, "", nil, fmt.Errorf("windows are set on both hosts: %w", err)
	}
	hosts, err := meet(app.ctx, far, spec.Measure)
	if err != nil {
		return nil, "", nil, errors.Join(err, far.Close())
	}
	return sweep.NewFiles(target, c.Host, hosts), target.Host, func() { _ = far.Close() }, nil
}

// meet is the world of this host and a far end.
func meet(ctx context.Context, far sweep.Far, m sweep.Measure) (*sweep.Hosts, error) {
	var changes change.Host
	if manager, err := localChanges(); err == nil { // else nothing is changed here
		changes = manager
	}
	return sweep.Meet(ctx, sweep.Near{Facts: host.Collect, Changes: changes}, far, m)
}

// planned says what would be measured.
func (c *sweepCmd) planned(app *app, spec *sweep.Spec, world sweep.World) error {
	cost, points, err := sweep.Planned(spec, world)
	if err != nil {
		return sweepError(err)
	}
	if c.JSON {
		return printJSON(app.stdout, struct {
			Schema     string           `json:"schema"`
			Experiment string           `json:"experiment"`
			Cost       sweep.Cost       `json:"cost"`
			Points     []map[string]any `json:"points"`
		}{"fullbore/sweep-plan/1", spec.Name, cost, report.PointValues(points)})
	}
	return report.SweepPlan(app.stdout, spec, cost, points)
}

// journal is where the sweep is kept until it has come to its end: a file of this user
// for each experiment and far end.
func (c *sweepCmd) journal(spec *sweep.Spec, target string) (*sweep.Journal, error) {
	sum := sha256.Sum256([]byte(target))
	name, err := statedir.For(filepath.Join("sweeps", spec.Name+"-"+hex.EncodeToString(sum[:4])+".ndjson"))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, fmt.Errorf("keep the sweep: %w", err)
	}
	if c.Afresh {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("begin anew: %w", err)
		}
	}
	journal, err := sweep.OpenJournal(name, spec, target)
	if errors.Is(err, sweep.ErrOther) { // the experiment was changed meanwhile
		return nil, &hinted{err: err, hint: "--afresh begins anew", code: exitFailed}
	}
	return journal, err
}

// sweeping shows progress, and keeps each transfer.
type sweeping struct {
	report.Monitor
	keeper *keeper
	done   int // transfers, those of an earlier start included
}

func (s *sweeping) Starts(cost sweep.Cost, kept int) {
	s.done = kept
	text := cost.String()
	if kept > 0 {
		text += fmt.Sprintf("; %d of them are there already", kept)
	}
	s.Phase("sweep: " + text)
}

func (s *sweeping) Kept(m sweep.Measured, result *bulk.Result, left sweep.Left) {
	var failed error
	if m.Error != "" {
		failed = errors.New(m.Error)
	}
	s.keeper.transfer(m.Began, result, failed)
	s.done++
	s.Result(fmt.Sprintf("%d of %d, about %v left", s.done, s.done+left.Transfers, left.Time.Round(time.Second)))
}

// sweepHostCmd is the host of a lab from which a sweep measures: it does what the
// sweep's process asks for over stdin.
type sweepHostCmd struct {
	Far   string `arg:""`
	Token string `env:"FULLBORE_TOKEN"`
}

func (c *sweepHostCmd) Run(app *app) error {
	far, err := (&optionalTarget{Host: c.Far, Token: c.Token}).dial(app)
	if err != nil {
		return err
	}
	defer far.Close()
	hosts, err := meet(app.ctx, far, sweep.Measure{})
	if err != nil {
		return err
	}
	return sweep.Serve(app.ctx, app.stdin, app.stdout, hosts)
}

// sweepLab builds a path in the lab, with the far end on host b, and asks host a.
func sweepLab(_ context.Context, s *lab.Scenario) (ends sweep.Ends, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	// The lab outlives an interrupted transfer: what was set is put back first.
	ctx, cancel := context.WithCancel(context.Background())
	l, err := lab.Start(ctx, s, lab.Options{})
	if err != nil {
		cancel()
		return nil, err
	}
	var files []*os.File
	defer func() {
		if err != nil {
			for _, f := range files {
				_ = f.Close()
			}
			cancel()
			err = errors.Join(err, l.Close())
		}
	}()
	far, err := serveOn(ctx, l.Host("b"), self, "--allow-link-changes")
	if err != nil {
		return nil, err
	}
	pipe := func() (read, write *os.File) {
		if err == nil {
			if read, write, err = os.Pipe(); err == nil {
				files = append(files, read, write)
			}
		}
		return read, write
	}
	questions, ask := pipe()
	answers, answer := pipe()
	if err != nil {
		return nil, err
	}
	complaints := &lastLines{}
	near := l.Host("a").Command(ctx, self, "sweep-host", l.Host("b").Address().String())
	near.Env = append(os.Environ(), "FULLBORE_TOKEN="+far.Token, record.Variable+"="+record.Nowhere)
	near.Stdin, near.Stdout, near.Stderr = questions, answer, complaints
	if err = near.Start(); err != nil {
		return nil, err
	}
	_, _ = questions.Close(), answer.Close()
	remote := sweep.NewRemote(ask, answers, func() error {
		_ = ask.Close()
		ended := near.Wait()
		if ended != nil {
			ended = fmt.Errorf("the host in the lab: %w: %s", ended, strings.TrimSpace(complaints.String()))
		}
		_ = answers.Close()
		cancel()
		return errors.Join(ended, l.Close())
	})
	return &labEnds{remote, l}, nil
}

// labEnds are those of a running lab. What the lab itself lost is no measurement.
type labEnds struct {
	*sweep.Remote
	lab *lab.Lab
}

func (e *labEnds) Transfer(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	r, err := e.Remote.Transfer(ctx, spec, watch)
	if invalid := e.lab.Report().Invalid(); invalid != nil {
		return nil, invalid
	}
	return r, err
}
