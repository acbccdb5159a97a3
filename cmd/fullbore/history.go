package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
)

// historyCmd looks at the runs that were kept.
type historyCmd struct {
	List   historyListCmd   `cmd:"" default:"withargs" help:"List runs, the latest first (what 'history' does without another word)."`
	Trend  historyTrendCmd  `cmd:"" help:"Show how a path went over time, where its level moved, and what was changed meanwhile."`
	Export historyExportCmd `cmd:"" help:"Write whole runs to stdout, one JSON object a line."`
	Import historyImportCmd `cmd:"" help:"Keep runs that were exported elsewhere."`
	Prune  historyPruneCmd  `cmd:"" help:"Remove old runs."`
}

// runFilter says which runs are meant.
type runFilter struct {
	Host  string `placeholder:"HOST" help:"Only runs that this host sent or received in."`
	Kind  string `placeholder:"VERB" enum:",test,diagnose,tune,compare,sweep,nfs-test,nfs-diagnose,nfs-tune,fleet,watch" default:"" help:"Only those of a verb: test, diagnose, tune, compare, sweep, nfs-test, nfs-diagnose, nfs-tune, fleet or watch."`
	Tag   string `placeholder:"TAG" help:"Only those with this tag."`
	Since string `placeholder:"WHEN" help:"Only those since a time: 2026-11-01, '2026-11-01 14:30', or an age such as 12h or 30d."`
	Until string `placeholder:"WHEN" help:"Only those before a time."`
}

func (f *runFilter) filter() (record.Filter, error) {
	filter := record.Filter{Host: f.Host, Kind: record.Kind(f.Kind), Tag: f.Tag}
	var err error
	if filter.Since, err = record.ParseTime(f.Since, time.Now()); err != nil {
		return filter, usageError("--since: %w", err)
	}
	if filter.Until, err = record.ParseTime(f.Until, time.Now()); err != nil {
		return filter, usageError("--until: %w", err)
	}
	return filter, nil
}

// openRecord opens the store of this user's runs.
func openRecord(ctx context.Context) (*record.Store, error) {
	place, err := record.Place()
	if err != nil {
		return nil, err
	}
	store, err := record.Open(ctx, place)
	if errors.Is(err, record.ErrNowhere) {
		return nil, &hinted{err: err, hint: "unset " + record.Variable + ", or name a file or postgres://…", code: exitFailed}
	}
	return store, err
}

type historyListCmd struct {
	runFilter
	Most int  `short:"n" default:"25" placeholder:"N" help:"At most this many (${default}); 0: all."`
	JSON bool `help:"One JSON document on stdout."`
}

func (c *historyListCmd) Run(app *app) error {
	filter, err := c.filter()
	if err != nil {
		return err
	}
	if c.Most < 0 {
		return usageError("-n %d: use 1 or more, or 0 for all", c.Most)
	}
	filter.Most = c.Most
	store, err := openRecord(app.ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	runs, err := store.List(app.ctx, filter)
	if err != nil {
		return err
	}
	size, err := store.Size(app.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(app.stdout, historyDocument{Schema: historySchema, Place: store.Place(), Bytes: size, Runs: append([]record.Header{}, runs...)})
	}
	report.Runs(app.stdout, runs)
	_, _ = fmt.Fprintf(app.stderr, "%s takes %s\n", store.Place(), report.Size(size))
	return nil
}

const historySchema = "fullbore/history/1"

// historyDocument is the JSON contract of history (docs/json.md).
type historyDocument struct {
	Schema string          `json:"schema"`
	Place  string          `json:"place"`
	Bytes  int64           `json:"bytes"` // on disk
	Runs   []record.Header `json:"runs"`
}

type historyTrendCmd struct {
	From     string `arg:"" help:"Host that sends."`
	To       string `arg:"" help:"Host that receives."`
	Scenario string `placeholder:"SCENARIO" help:"The runs in the lab with this scenario."`
	Kind     string `placeholder:"VERB" enum:"test,diagnose,tune,compare,sweep,nfs-test,nfs-diagnose,nfs-tune" default:"test" help:"Runs of this verb: test, diagnose, tune, compare, sweep, nfs-test, nfs-diagnose or nfs-tune (${default})."`
	Tag      string `placeholder:"TAG" help:"Only those with this tag."`
	Since    string `placeholder:"WHEN" help:"Only those since a time: 2026-11-01, or an age such as 30d."`
	JSON     bool   `help:"One JSON document on stdout."`
}

func (c *historyTrendCmd) Run(app *app) error {
	since, err := record.ParseTime(c.Since, time.Now())
	if err != nil {
		return usageError("--since: %w", err)
	}
	store, err := openRecord(app.ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	trend, err := store.Trend(app.ctx, record.Filter{From: c.From, To: c.To, Kind: record.Kind(c.Kind), Tag: c.Tag, Since: since}, c.Scenario)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(app.stdout, trendDocument{Schema: "fullbore/trend/1", Trend: trend})
	}
	if len(trend.Runs) == 0 {
		return &hinted{err: fmt.Errorf("no run of %s from %s to %s is kept", c.Kind, c.From, c.To), hint: "fullbore history lists the runs, with their verbs and hosts", code: exitFailed}
	}
	report.Trend(app.stdout, trend)
	return nil
}

// trendDocument is the JSON contract of history trend (docs/json.md).
type trendDocument struct {
	Schema string `json:"schema"`
	*record.Trend
}

type historyExportCmd struct {
	Runs []string `arg:"" optional:"" name:"run" placeholder:"RUN" help:"Runs, by the beginning or the end of their identifiers, or last (default: all that the filters mean)."`
	runFilter
}

func (c *historyExportCmd) Run(app *app) error {
	filter, err := c.filter()
	if err != nil {
		return err
	}
	store, err := openRecord(app.ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	out := json.NewEncoder(app.stdout)
	if len(c.Runs) == 0 {
		return store.Export(app.ctx, filter, func(r *record.Run) error { return out.Encode(r) })
	}
	for _, name := range c.Runs {
		r, err := loadRun(app.ctx, store, name)
		if err != nil {
			return err
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// loadRun gives a kept run by what people call it.
func loadRun(ctx context.Context, store *record.Store, name string) (*record.Run, error) {
	id, err := store.Find(ctx, name)
	if errors.Is(err, record.ErrNoRun) {
		return nil, &hinted{err: err, hint: "fullbore history lists the runs", code: exitFailed}
	}
	if err != nil {
		return nil, err
	}
	return store.Load(ctx, id)
}

type historyImportCmd struct {
	File []string `arg:"" placeholder:"FILE" help:"What 'fullbore history export' wrote, or reports; - is stdin."`
}

func (c *historyImportCmd) Run(app *app) error {
	store, err := openRecord(app.ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	added, there := 0, 0
	for _, name := range c.File {
		err := readRuns(app.stdin, name, func(r *record.Run) error {
			if app.ctx.Err() != nil {
				return errors.New("interrupted: the runs before it are kept")
			}
			is, err := store.Import(app.ctx, r)
			if is {
				added++
			} else if err == nil {
				there++
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("import %s: %w (%d runs before it are kept)", name, err, added)
		}
	}
	_, _ = fmt.Fprintf(app.stdout, "%d runs added to %s, %d were there\n", added, store.Place(), there)
	return nil
}

type historyPruneCmd struct {
	Keep string `required:"" placeholder:"N|AGE" help:"What stays: the newest N runs, or those of an age such as 90d."`
}

func (c *historyPruneCmd) Run(app *app) error {
	var keep record.Keep
	newest, err := strconv.Atoi(c.Keep)
	switch {
	case err == nil && newest >= 0:
		keep.Newest = newest
	case err == nil:
		return usageError("--keep %d: use 0 or more", newest)
	default:
		if keep.Since, err = record.ParseTime(c.Keep, time.Now()); err != nil || c.Keep == "" {
			return usageError("--keep %q: write a number of runs, or an age such as 90d", c.Keep)
		}
	}
	store, err := openRecord(app.ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	removed, err := store.Prune(app.ctx, keep)
	if err != nil {
		return err
	}
	size, err := store.Size(app.ctx)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(app.stdout, "%d runs removed; %s takes %s\n", removed, store.Place(), report.Size(size))
	return nil
}
