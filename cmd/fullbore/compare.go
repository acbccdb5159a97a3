package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/peer/iperf3/document"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/report/html"
	"github.com/fullbore/fullbore/stat"
)

// compareCmd compares two variants of test, run in turns, or two runs that were kept.
type compareCmd struct {
	Endpoint
	recordFlags
	Other    string   `arg:"" optional:"" placeholder:"RUN" help:"With two runs instead of a far end, as 'fullbore report' takes them: compare what was kept."`
	AB       variants `name:"ab" placeholder:"\"ARGS A\" \"ARGS B\"" help:"Flags of 'fullbore test' of the two variants that run in turns, each in quotes."`
	Rounds   int      `default:"10" placeholder:"N" help:"Runs of each variant (10), 3 to 1000."`
	UntilCI  string   `name:"until-ci" placeholder:"SHARE" help:"Run (3 to 30 rounds) until the ratio of their goodput is known to within this share, such as 2%; exit code 4 if it is not."`
	Smallest string   `name:"smallest" default:"3%" placeholder:"SHARE" help:"Smallest difference that matters (3%)."`
	Seed     uint64   `placeholder:"N" help:"Seed of the random order, to repeat it (the report shows it)."`
	JSON     bool     `short:"J" help:"One JSON document on stdout."`
}

// variants are the two arguments of --ab.
type variants struct {
	args  [2]string
	flags [2]*transferFlags // read from args
	given bool
}

// Decode takes two arguments, which mostly begin with a hyphen.
func (v *variants) Decode(ctx *kong.DecodeContext) error {
	for i := range v.args {
		token := ctx.Scan.Pop()
		text, ok := token.Value.(string)
		if token.IsEOL() || !ok {
			return errors.New(`two arguments are needed, such as --ab "-C cubic" "-C bbr"`)
		}
		v.args[i] = text
	}
	v.given = true
	return nil
}

func (c *compareCmd) Run(app *app) error {
	if c.Other != "" {
		return c.kept(app)
	}
	contest, err := c.contest()
	if err != nil {
		return err
	}
	if c.From != "" {
		return c.runThere(app, c.Host, c.Token)
	}
	if c.Lab != "" {
		return inLab(app, c.Lab)
	}
	kept := c.keep(app, record.Compare, contest.A.Spec.Direction, peer.Hello{Host: c.Host})
	for i, v := range []*experiment.Variant{&contest.A, &contest.B} {
		far, err := c.open(app, c.AB.flags[i], v.Spec)
		if err != nil {
			err = fmt.Errorf("variant %c: %w", "AB"[i], err)
			kept.end(record.Outcome{}, nil, err)
			return err
		}
		defer far.Close()
		v.Transfer = func(ctx context.Context, watch func(bulk.Progress)) (*bulk.Result, error) {
			began := time.Now()
			of, err := far.test(ctx, func(document.Record) {}, watch)
			kept.transfer(began, of.Result, err)
			return of.Result, err
		}
	}
	watch := kept.watching(report.NewMonitor(app.stderr, c.JSON && !isTerminal(app.stderr)))
	doc, err := contest.Run(app.ctx, watch)
	watch.End()
	defer kept.end(record.Outcome{}, doc, err)
	if c.JSON {
		if err := printJSON(app.stdout, doc); err != nil {
			return err
		}
	} else if doc.Comparison != nil {
		report.Compared(app.stdout, doc)
	}
	if err == nil && doc.Settled != nil && !*doc.Settled {
		err = &hinted{
			err:  fmt.Errorf("the ratio is not known to within %.3g %% after %d rounds", 100*doc.UntilCI, doc.Rounds),
			hint: "use longer transfers (--time), leave out their beginning (--omit), or ask for less", code: exitBelow,
		}
	}
	return err
}

// kept compares two runs that were kept.
func (c *compareCmd) kept(app *app) error {
	if c.AB.given {
		return usageError("--ab compares two variants on the way to one far end: %s and %s were given", c.Host, c.Other)
	}
	runs, err := findRuns(app, []string{c.Host, c.Other})
	if err != nil {
		return err
	}
	if c.JSON {
		document := comparedDocument{Schema: "fullbore/compared/1"}
		for _, r := range runs {
			document.Runs = append(document.Runs, r.Header)
		}
		if len(runs) == 2 && runs[0].Goodput > 0 {
			document.Ratio = float64(runs[1].Goodput / runs[0].Goodput)
		}
		if len(runs) == 2 && runs[0].IOPS > 0 {
			document.Requests = runs[1].IOPS / runs[0].IOPS
		}
		return printJSON(app.stdout, document)
	}
	return html.Markdown(app.stdout, runs)
}

// comparedDocument is the JSON contract of compare RUN RUN (docs/json.md).
type comparedDocument struct {
	Schema string          `json:"schema"`
	Runs   []record.Header `json:"runs"`
	Ratio  float64         `json:"goodput_ratio,omitempty"` // of the second run to the first

	Requests float64 `json:"iops_ratio,omitempty"` // likewise, of runs that count requests
}

// contest reads the flags.
func (c *compareCmd) contest() (*experiment.AB, error) {
	if !c.AB.given {
		return nil, usageError(`say what to compare: --ab "ARGS A" "ARGS B", or two runs that were kept (fullbore history lists them)`)
	}
	if err := c.checkTags(); err != nil {
		return nil, err
	}
	x := &experiment.AB{Rounds: c.Rounds, Seed: c.Seed}
	if c.Rounds < stat.FewestRuns || c.Rounds > maxRepeat {
		return nil, usageError("--rounds %d: use %d to %d", c.Rounds, stat.FewestRuns, maxRepeat)
	}
	var err error
	if x.Smallest, err = parseShare(c.Smallest); err != nil {
		return nil, usageError("--smallest: %w", err)
	}
	if c.UntilCI != "" {
		if x.UntilCI, err = parseShare(c.UntilCI); err != nil {
			return nil, usageError("--until-ci: %w", err)
		}
	}
	for i, v := range []*experiment.Variant{&x.A, &x.B} {
		v.Args = strings.Join(strings.Fields(c.AB.args[i]), " ")
		if c.AB.flags[i], v.Spec, err = parseVariant(c.AB.args[i]); err != nil {
			return nil, usageError("variant %c (%s): %w", "AB"[i], v.Args, err)
		}
	}
	return x, nil
}

// parseVariant reads flags of test that describe a transfer.
func parseVariant(args string) (*transferFlags, bulk.Spec, error) {
	var flags transferFlags
	parser, err := kong.New(&flags, kong.Name("variant"), kong.NoDefaultHelp())
	if err != nil {
		return nil, bulk.Spec{}, fmt.Errorf("read variant: %w", err)
	}
	if _, err := parser.Parse(strings.Fields(args)); err != nil {
		return nil, bulk.Spec{}, err
	}
	spec, err := flags.spec()
	return &flags, spec, err
}
