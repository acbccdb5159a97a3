package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2/maybe"

	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report/html"
	"github.com/fullbore/fullbore/twin"
)

// reportCmd writes runs for people who were not there.
type reportCmd struct {
	Runs   []string `arg:"" name:"run" placeholder:"RUN|FILE" help:"Runs by the first or last characters of their identifiers, last, or files: reports, and what 'fullbore history export' wrote. Several make a comparison."`
	Output string   `short:"o" type:"path" placeholder:"FILE" help:"Write to FILE (default: stdout); with --format svg, into this directory."`
	Format string   `enum:"html,md,svg" default:"html" help:"html: one page with its figures, to mail; md: text for a ticket; svg: the figures alone, each a file in the directory that -o names (${default})."`
	Redact bool     `help:"Replace names and addresses of hosts, the same one always by the same."`
}

func (c *reportCmd) Run(app *app) error {
	if c.Output == "" && c.Format == "html" && isTerminal(app.stdout.Writer) {
		return &hinted{err: errors.New("a page is not for a terminal"), hint: "name a file with -o, or use --format md", code: exitUsage}
	}
	if c.Output == "" && c.Format == "svg" {
		return usageError("--format svg: name the directory for the figures with -o")
	}
	runs, err := findRuns(app, c.Runs)
	if err != nil {
		return err
	}
	if c.Redact {
		if runs, err = html.Redact(runs); err != nil {
			return err
		}
	}
	if c.Format == "svg" {
		return c.pictures(app, runs)
	}
	write := html.Write
	if c.Format == "md" {
		write = html.Markdown
	}
	if c.Output == "" {
		return write(app.stdout, runs)
	}
	var page strings.Builder
	if err := write(&page, runs); err != nil {
		return err
	}
	if err := writeFile(c.Output, page.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// pictures writes the figures into a directory, and says which.
func (c *reportCmd) pictures(app *app, runs []*record.Run) error {
	all, err := html.Pictures(runs)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Output, 0o777); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	for _, p := range all {
		name := filepath.Join(c.Output, p.Name)
		if err := writeFile(name, p.SVG); err != nil {
			return fmt.Errorf("write the figures: %w", err)
		}
		if _, err := fmt.Fprintln(app.stdout, printable.Line(name)); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a text that names hosts and their settings: a file is there whole or
// not at all; a device, a pipe or a symbolic link is written to and never replaced.
func writeFile(name, text string) error {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(name, []byte(text), 0o600)
	}
	return maybe.WriteFile(name, []byte(text), 0o600)
}

// mostReported bounds a comparison.
const mostReported = 50

// findRuns gives runs by what people call them: identifiers, or files.
func findRuns(app *app, names []string) ([]*record.Run, error) {
	var runs []*record.Run
	var store *record.Store
	for _, name := range names {
		before := len(runs)
		if _, err := os.Stat(name); err == nil {
			err = readRuns(app.stdin, name, func(r *record.Run) error {
				if len(runs) == mostReported {
					return fmt.Errorf("more than %d runs", mostReported)
				}
				runs = append(runs, r)
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if len(runs) == before {
				return nil, fmt.Errorf("%s: there is no run in it", name)
			}
			continue
		} else if !errors.Is(err, fs.ErrNotExist) || strings.ContainsAny(name, "./") {
			return nil, fmt.Errorf("%w", err)
		}
		if store == nil {
			opened, err := openRecord(app.ctx)
			if err != nil {
				return nil, err
			}
			defer opened.Close()
			store = opened
		}
		run, err := loadRun(app.ctx, store, name)
		if err == nil {
			run.Predicted, err = predictedBy(app.ctx, store, run)
		}
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	if len(runs) > mostReported {
		return nil, usageError("%d runs: a report has %d at most", len(runs), mostReported)
	}
	return runs, nil
}

// readRuns calls with each run of a file: of a report, or of an export.
func readRuns(stdin io.Reader, name string, call func(*record.Run) error) error {
	from := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		from = file
	}
	text := bufio.NewReader(from)
	if !isPage(text) {
		return record.ReadRuns(text, call)
	}
	runs, err := html.Read(text)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if err := call(r); err != nil {
			return err
		}
	}
	return nil
}

// isPage looks whether a report is what comes: an export begins with a brace.
func isPage(text *bufio.Reader) bool {
	first, _ := text.Peek(1)
	return string(first) == "<"
}

// predictedBy is what the last tuning in the twin of a run's path came to, if there was
// one before it; nil if there was none.
func predictedBy(ctx context.Context, store *record.Store, run *record.Run) (*record.Prediction, error) {
	if run.Kind != record.Tune || run.Started.IsZero() {
		return nil, nil
	}
	tried, err := store.List(ctx, record.Filter{Kind: record.Tune, Begins: twin.OfPath(&run.Header), Until: run.Started})
	if err != nil || len(tried) == 0 {
		return nil, err
	}
	path, err := store.List(ctx, record.Filter{From: run.From, To: run.To, Until: run.Started})
	if err != nil {
		return nil, err
	}
	for i := range tried { // the latest first
		if !twin.Tries(&tried[i], &run.Header) {
			continue
		}
		id, _ := twin.Origin(tried[i].Scenario)
		if !slices.ContainsFunc(path, func(h record.Header) bool { return strings.HasSuffix(h.ID, id) && h.Scenario == run.Scenario }) {
			continue // of another path, whose name is like this one's
		}
		in, err := store.Load(ctx, tried[i].ID)
		if err != nil {
			return nil, err
		}
		return twin.Predict(in)
	}
	return nil, nil
}
