package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/peer/iperf3/document"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/stat"
)

// compareCmd compares two variants of test, run in turns.
type compareCmd struct {
	Endpoint
	AB       variants `name:"ab" placeholder:"\"ARGS A\" \"ARGS B\"" help:"Flags of 'fullbore test' of the two variants that run in turns, each in quotes."`
	Rounds   int      `default:"10" placeholder:"N" help:"Runs of each variant (10), 3 to 1000."`
	UntilCI  string   `name:"until-ci" placeholder:"SHARE" help:"Run (3 to 30 rounds) until the ratio of their goodput is known to within this share, such as 2%; exit code 4 if it is not."`
	Smallest string   `name:"smallest" default:"3%" placeholder:"SHARE" help:"Smallest difference that matters (3%)."`
	Seed     uint64   `placeholder:"N" help:"Of the random order, to have it again (the report says it)."`
	JSON     bool     `short:"J" help:"One JSON document on stdout."`
}

// variants are the two arguments of --ab.
type variants struct {
	args  [2]string
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

// comparisonDocument is the JSON contract of compare (docs/json.md).
type comparisonDocument struct {
	Schema   string  `json:"schema"` // "fullbore/compare/1"
	A        variant `json:"a"`
	B        variant `json:"b"`
	Seed     uint64  `json:"seed"`
	Order    string  `json:"order"` // as they ran, the warm-ups left out: "ABBA"
	Rounds   int     `json:"rounds"`
	Smallest float64 `json:"smallest_difference"` // share that matters
	UntilCI  float64 `json:"until_ci,omitempty"`
	Settled  *bool   `json:"settled,omitempty"` // whether the ratio is known to within that
	*report.Comparison
	Runs  []report.Run `json:"runs"`
	Error string       `json:"error,omitempty"` // why it ended early
}

type variant struct {
	Args string    `json:"args"`
	Spec bulk.Spec `json:"spec"`
	*report.Summary
}

func (c *compareCmd) Run(app *app) error {
	if !c.AB.given {
		return usageError(`say what to compare: --ab "ARGS A" "ARGS B"`)
	}
	contest, err := c.contest()
	if err != nil {
		return err
	}
	if c.Lab != "" {
		return inLab(app, c.Lab)
	}
	for i := range contest.sides {
		side := &contest.sides[i]
		if side.far, err = c.open(app, side.flags, side.spec); err != nil {
			return fmt.Errorf("variant %s: %w", side.name, err)
		}
		defer side.far.Close()
	}
	contest.watch = newWatcher(app.stderr, c.JSON && !isTerminal(app.stderr))
	err = contest.run(app.ctx)
	contest.watch.end()
	doc := contest.document()
	if err != nil {
		if app.ctx.Err() != nil {
			err = errors.New("interrupted: what was measured until then is reported")
		}
		doc.Error = err.Error()
	}
	if c.JSON {
		if err := printJSON(app.stdout, doc); err != nil {
			return err
		}
	} else if doc.Comparison != nil {
		report.Compared(app.stdout, doc.Comparison, doc.A.Args, doc.B.Args)
		_, _ = fmt.Fprintf(app.stdout, "order      %s, seed %d\n", doc.Order, doc.Seed)
	}
	if err == nil && doc.Settled != nil && !*doc.Settled {
		err = &hinted{
			err:  fmt.Errorf("the ratio is not known to within %.3g %% after %d rounds", 100*doc.UntilCI, doc.Rounds),
			hint: "use longer transfers (--time), leave out their beginning (--omit), or ask for less", code: exitBelow,
		}
	}
	return err
}

// contest is a comparison while it runs.
type contest struct {
	sides    [2]side
	rounds   int
	untilCI  float64
	smallest float64
	seed     uint64
	order    []byte
	runs     []report.Run
	watch    watcher
}

// side is one of the two variants.
type side struct {
	name  string // "A" or "B"
	args  string
	flags *transferFlags
	spec  bulk.Spec
	far   farEnd
	runs  []report.Run // without the warm-up
}

// contest reads the flags.
func (c *compareCmd) contest() (*contest, error) {
	x := &contest{rounds: c.Rounds, seed: c.Seed}
	if x.seed == 0 {
		x.seed = rand.Uint64() >> 11 // JSON numbers hold 53 bits exactly
	}
	if c.Rounds < stat.FewestRuns || c.Rounds > maxRepeat {
		return nil, usageError("--rounds %d: use %d to %d", c.Rounds, stat.FewestRuns, maxRepeat)
	}
	var err error
	if x.smallest, err = parseShare(c.Smallest); err != nil {
		return nil, usageError("--smallest: %w", err)
	}
	if c.UntilCI != "" {
		if x.untilCI, err = parseShare(c.UntilCI); err != nil {
			return nil, usageError("--until-ci: %w", err)
		}
	}
	for i, args := range c.AB.args {
		s := &x.sides[i]
		s.name, s.args = string("AB"[i]), strings.Join(strings.Fields(args), " ")
		if s.flags, s.spec, err = parseVariant(args); err != nil {
			return nil, usageError("variant %s (%s): %w", s.name, s.args, err)
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

// run warms both variants up and runs them in turns.
func (x *contest) run(ctx context.Context) error {
	for i := range x.sides {
		if err := x.one(ctx, &x.sides[i], "warm-up", true); err != nil {
			return err
		}
	}
	// Which goes first changes at random, and back: what drifts with time, or is
	// left behind by the other, falls on both alike.
	rng := rand.New(rand.NewPCG(x.seed, 0))
	first := 0
	for round := 1; !x.done(round); round++ {
		if round%2 == 1 {
			first = rng.IntN(2)
		} else {
			first = 1 - first
		}
		for _, i := range []int{first, 1 - first} {
			if err := x.one(ctx, &x.sides[i], fmt.Sprintf("round %d", round), false); err != nil {
				return err
			}
		}
	}
	return nil
}

// done says whether there have been enough rounds before this one.
func (x *contest) done(round int) bool {
	if x.untilCI > 0 {
		return round > stat.MostRuns || x.settled()
	}
	return round > x.rounds
}

func (x *contest) settled() bool {
	return stat.SettledRatio(report.Goodputs(x.sides[0].runs), report.Goodputs(x.sides[1].runs), x.untilCI)
}

func (x *contest) one(ctx context.Context, s *side, name string, warmUp bool) error {
	x.watch.Phase(fmt.Sprintf("%s, %s: %s", name, s.name, s.args))
	began := time.Now()
	record, err := s.far.test(ctx, func(document.Record) {}, x.watch.Progress)
	if err != nil {
		return fmt.Errorf("variant %s: %w", s.name, err)
	}
	run := report.NewRun(began, record.Result)
	run.Variant, run.WarmUp = s.name, warmUp
	x.watch.Result(run.Goodput.String())
	x.runs = append(x.runs, run)
	if !warmUp {
		s.runs = append(s.runs, run)
		x.order = append(x.order, s.name...)
	}
	return nil
}

// document says what there is so far.
func (x *contest) document() *comparisonDocument {
	a, b := &x.sides[0], &x.sides[1]
	d := &comparisonDocument{
		Schema: "fullbore/compare/1", Seed: x.seed, Order: string(x.order), Rounds: min(len(a.runs), len(b.runs)),
		A: variant{Args: a.args, Spec: a.spec}, B: variant{Args: b.args, Spec: b.spec},
		Smallest: x.smallest, UntilCI: x.untilCI, Runs: x.runs,
	}
	if d.Rounds > 0 {
		comparison := report.Compare(a.runs, b.runs, x.smallest)
		d.Comparison = &comparison
		d.A.Summary, d.B.Summary = &comparison.A, &comparison.B
	}
	if x.untilCI > 0 {
		settled := x.settled()
		d.Settled = &settled
	}
	return d
}
