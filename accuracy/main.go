// Command accuracy tries fullbore's diagnosis on a suite of lab scenarios whose
// cause is known, because it was planted, and counts how often the verdict names
// it. It prints a confusion matrix, how far confidence can be trusted, the time
// of traffic that verdicts took, and how well predicted gains came true:
// docs/accuracy.md is made so.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"

	"github.com/fullbore/fullbore/record"
)

// options is what the command line says.
type options struct {
	half     string
	only     *regexp.Regexp
	suite    string
	seeds    int // runs of each scenario
	healthy  int // runs of each healthy one
	record   string
	replay   string
	gain     bool
	drawn    uint64 // seed of drawn paths; 0: the suite
	first    int    // number of the first of them
	count    int
	truth    string
	label    bool
	twins    int
	again    bool
	jobs     int
	deadline time.Duration
	fullbore string
	json     bool
	markdown bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if err := os.Setenv(record.Variable, record.Nowhere); err != nil { // these are no runs of this user's
		return err
	}
	progress := &progress{out: stderr}
	var all []entry
	if o.drawn != 0 {
		if all, err = o.drawnEntries(ctx, stdout, stderr); err != nil || o.label {
			return err
		}
	} else if all, err = o.pick(); err != nil {
		return err
	}
	if o.twins > 0 {
		return o.reportTwins(ctx, all, stdout, progress)
	}
	var outcomes []outcome
	if o.replay != "" {
		outcomes, err = replay(o.replay, all, progress)
	} else {
		outcomes, err = o.measure(ctx, all, progress)
	}
	if err != nil && len(outcomes) == 0 {
		return err
	}
	s := summarise(outcomes)
	switch {
	case o.json:
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return errors.Join(err, encoder.Encode(s))
	case o.markdown:
		return errors.Join(err, s.write(stdout, markdown))
	}
	return errors.Join(err, s.write(stdout, plainText))
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("accuracy", flag.ExitOnError)
	flags.StringVar(&o.half, "half", both, "scenarios to run: "+tuning+" (for choosing thresholds), "+heldOut+" (for judging them), "+both)
	only := flags.String("only", "", "only scenarios whose name matches this regular expression")
	flags.StringVar(&o.suite, "suite", "", "directory with other scenarios, in tuning/ and held-out/; empty: those of this program")
	flags.IntVar(&o.seeds, "seeds", 1, "runs of each faulty scenario, each with other seeds")
	flags.IntVar(&o.healthy, "healthy-seeds", 3, "runs of each healthy scenario")
	flags.StringVar(&o.record, "record", "", "directory to keep the evidence in, for -replay")
	flags.StringVar(&o.replay, "replay", "", "directory of recorded evidence: diagnose that again, without traffic")
	flags.BoolVar(&o.gain, "gain", false, "also measure each faulty path with the fault taken away, and compare with the predicted gain")
	flags.Uint64Var(&o.drawn, "drawn", 0, "paths that are drawn with this seed, instead of the suite")
	flags.IntVar(&o.first, "first", 0, "with -drawn: number of the first path")
	flags.IntVar(&o.count, "count", 100, "with -drawn: how many paths")
	flags.StringVar(&o.truth, "truth", "", "with -drawn: directory in which what limits each path is kept; what is not there is measured first, by healing each fault in turn")
	flags.BoolVar(&o.label, "label", false, "with -drawn: measure what limits the paths, and diagnose nothing")
	flags.IntVar(&o.twins, "twins", 0, "tune so many scenarios, of all causes alike, and their twins (fullbore lab twin), and compare; what -record DIR has of a former time is not done again")
	flags.BoolVar(&o.again, "again", false, "with -twins: tune each scenario a second time as well, to see what chance alone does")
	flags.IntVar(&o.jobs, "jobs", 1, "scenarios of up to 50 Mb/s that run at the same time; faster ones always run alone")
	flags.DurationVar(&o.deadline, "deadline", 2*time.Minute, "for one run")
	flags.StringVar(&o.fullbore, "fullbore", "", "the binary to try; empty: built from this checkout")
	flags.BoolVar(&o.json, "json", false, "one JSON document")
	flags.BoolVar(&o.markdown, "markdown", false, "the report in Markdown")
	_ = flags.Parse(args) // it exits
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected %q: see -help", flags.Arg(0))
	case o.half != tuning && o.half != heldOut && o.half != both:
		return o, fmt.Errorf("-half %q: use %s, %s or %s", o.half, tuning, heldOut, both)
	case o.seeds < 0 || o.healthy < 0 || o.seeds > 100 || o.healthy > 100:
		return o, errors.New("-seeds and -healthy-seeds: use 0 to 100 runs")
	case o.jobs < 1 || o.jobs > 16:
		return o, fmt.Errorf("-jobs %d: use 1 to 16", o.jobs)
	case o.drawn == 0 && (o.truth != "" || o.label || o.first != 0):
		return o, errors.New("-first, -truth and -label are for -drawn SEED")
	case o.drawn != 0 && (o.truth == "" || o.suite != "" || o.twins > 0 || o.gain):
		return o, errors.New("-drawn needs -truth DIR, and goes without -suite, -twins and -gain")
	case o.first < 0 || o.count < 1 || o.count > 100_000:
		return o, errors.New("-first: use 0 or more; -count: use 1 to 100,000 paths")
	case o.twins < 0 || o.again && o.twins == 0:
		return o, errors.New("-twins: use 1 or more, and -again only with it")
	case o.twins > 0 && (o.replay != "" || o.gain):
		return o, errors.New("-twins measures something else: use it without -replay and -gain")
	case o.record != "" && o.replay != "":
		return o, errors.New("both -record and -replay were given: use one")
	}
	return o, nil
}

// build makes the binary to try from this checkout.
func (o *options) build(ctx context.Context) (remove func(), err error) {
	dir, err := os.MkdirTemp("", "fullbore-accuracy")
	if err != nil {
		return nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	o.fullbore = filepath.Join(dir, "fullbore")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", o.fullbore, "github.com/fullbore/fullbore/cmd/fullbore").CombinedOutput()
	if err != nil {
		remove()
		return nil, fmt.Errorf("build fullbore: %w: %s", err, out)
	}
	return remove, nil
}
