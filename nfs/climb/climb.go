// Package climb raises what may hold a file's requests back, one setting after the other as
// the article on NFS over 10 Gb/s did by hand: the windows of both hosts, the connections,
// the requests in flight, the server's threads. It keeps what makes requests faster, by the same statistics as
// tuning, and proves the whole in runs of their own.
package climb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// State is how a client asks.
type State struct {
	Windows     bool // those that the path needs; else as they were found
	Connections int
	Depth       int // requests in flight, over all connections
	Threads     int // of the server; 0: as they were found, whatever that is
}

// Reading is what one run came to.
type Reading struct {
	IOPS     float64
	Goodput  unit.Rate
	P50, P99 time.Duration
}

// Bench measures requests to a file.
type Bench interface {
	// Measure brings client and hosts to a state, and runs requests.
	Measure(ctx context.Context, s State) (Reading, error)
	// Takes is how long that is.
	Takes() time.Duration
}

// Setting is what can be raised.
type Setting string

// The settings, in the article's order.
const (
	Windows     Setting = "windows"
	Connections Setting = "connections"
	Depth       Setting = "requests in flight"
	Threads     Setting = "server threads"
)

var settings = []Setting{Windows, Connections, Depth, Threads}

// Options of one climb.
type Options struct {
	Start   State
	Most    State // Windows: they may be raised
	Budget  time.Duration
	Watcher Watcher

	// InOrder is the size of the requests of a client that reads ahead of one program, so that
	// their number is its read-ahead; 0: programs ask by themselves.
	InOrder unit.Size
	// Least is the fewest requests in flight that it is worth to raise them to; 0: twice as many.
	Least int
	// Mounted says that the file is read through a mount of this host: who asks for the climb says
	// how it gets what helped.
	Mounted bool
	// Limits says by laws what holds requests back in a state, the first one most, within
	// LimitsTake; nil: nobody can.
	Limits func(context.Context, State) ([]limit.Finding, error)
}

// LimitsTake is the most that [Options.Limits] takes on the paths that NFS is used over.
const LimitsTake = 15 * time.Second

// Watcher sees a climb as it goes; its methods are called one after the other.
type Watcher interface {
	Phase(text string)
	Result(text string)
}

// ErrBudget says that the budget does not cover one try and its proof.
var ErrBudget = errors.New("budget is too small")

// climb is one that runs.
type climb struct {
	Options
	bench  Bench
	spent  time.Duration // of the budget
	points map[State]*point
	result *Result
}

// point is a state and what was measured there.
type point struct {
	State
	readings []Reading
}

func (p *point) rates() []float64 {
	rates := make([]float64, len(p.readings))
	for i, r := range p.readings {
		rates[i] = r.IOPS
	}
	return rates
}

// fewestRuns are those of a climb with one try: two of each side, and a proof of two pairs.
const fewestRuns = 4 + 2*fewestPairs

// Run climbs. Where nothing helps it ends where it began; the result says what was tried.
func Run(ctx context.Context, bench Bench, o Options) (*Result, error) {
	if need := fewestRuns * bench.Takes(); need > o.Budget {
		return nil, fmt.Errorf("%w: %v; one try and its proof take %v", ErrBudget, o.Budget, need.Round(time.Second))
	}
	c := &climb{Options: o, bench: bench, points: map[State]*point{}, result: newResult()}
	c.result.inOrder, c.result.mounted = o.InOrder, o.Mounted
	start := c.point(o.Start)
	c.Watcher.Phase("measure as it is now: " + o.Start.String())
	if err := c.measure(ctx, start); err != nil {
		return nil, err
	}
	c.Watcher.Result(start.String())
	best, err := c.up(ctx, start)
	if err != nil {
		return nil, err
	}
	if best, err = c.needed(ctx, start, best); err != nil {
		return nil, err
	}
	if err := c.prove(ctx, start, best); err != nil {
		return nil, err
	}
	c.limits(ctx)
	return c.result, ctx.Err()
}

// limits asks what holds requests back where the climb ended.
func (c *climb) limits(ctx context.Context) {
	switch {
	case c.Limits == nil || c.Mounted && c.result.Best() != c.Start: // the mount in use is not in that state yet
	case c.left() < LimitsTake:
		c.result.Advise("what holds requests back now was not looked at: --budget was too small (fullbore nfs diagnose does it)")
	default:
		c.Watcher.Phase("look at what holds them back now")
		found, err := c.Limits(ctx, c.result.to)
		if err != nil {
			c.result.Advise("what holds requests back now could not be measured: %v", err)
			return
		}
		c.result.remains(found)
	}
}

// moves are what is raised: one setting after the other, in the article's order. Where none
// of them brings anything, two limits may be equally low, and raising one shows nothing
// until the other is raised too.
var moves = [][]Setting{{Windows}, {Connections}, {Depth}, {Threads}, {Windows, Depth}, {Connections, Depth}, {Threads, Depth}}

// up makes one move after the other, each again until nothing more is gained, and begins
// anew with each that helped: windows are of no use to a client that waits for each answer,
// and then are the limit.
func (c *climb) up(ctx context.Context, best *point) (*point, error) {
	tried := map[int]State{} // on top of which a move brought nothing
	for i := 0; i < len(moves); i++ {
		helped := false
		for {
			next, ok := c.moved(best.State, moves[i])
			if !ok || tried[i] == best.State {
				break
			}
			tried[i] = best.State
			better, err := c.try(ctx, best, c.point(next), moves[i])
			if err != nil {
				return nil, err
			}
			if better == nil {
				break
			}
			best, helped = better, true
		}
		if helped && i > 0 {
			i = -1
		}
	}
	return best, nil
}

// moved is a state with each of a move's settings raised; false: one cannot be.
func (c *climb) moved(s State, move []Setting) (State, bool) {
	for _, setting := range slices.Backward(move) { // connections need as many requests
		next, ok := c.raised(s, setting)
		if !ok {
			return s, false
		}
		s = next
	}
	return s, true
}

// raised is a state with one setting raised; false: it cannot be, or not usefully.
func (c *climb) raised(s State, setting Setting) (State, bool) {
	switch setting {
	case Windows:
		if s.Windows || !c.Most.Windows {
			return s, false
		}
		s.Windows = true
	case Connections:
		if s.Connections *= 2; s.Connections > min(c.Most.Connections, s.Depth) {
			return s, false
		}
	case Depth:
		if s.Depth >= c.Most.Depth {
			return s, false
		}
		s.Depth = min(max(2*s.Depth, c.Least), c.Most.Depth)
	case Threads:
		if s.Threads == 0 || s.Threads >= c.Most.Threads {
			return s, false
		}
		s.Threads = min(2*s.Threads, c.Most.Threads)
	}
	return s, true
}

// try measures a state against the best one so far, and gives it if it is better.
func (c *climb) try(ctx context.Context, best, next *point, move []Setting) (*point, error) {
	if c.left() < c.proof()+2*c.bench.Takes() {
		if c.result.doubt == "" { // of the others the same is true
			c.result.doubt = "not all was tried: --budget was too small"
			c.result.Advise("the budget ended before %s could be tried", next.State)
		}
		return nil, nil
	}
	c.Watcher.Phase(fmt.Sprintf("try %s: %s -> %s", named(move), best.values(move), next.values(move)))
	decision, failed, err := c.contest(ctx, best, next)
	if err != nil {
		return nil, err
	}
	says := fmt.Sprintf("%s -> %s", best, next)
	switch {
	case failed != nil && decision == stat.Better:
		return nil, fmt.Errorf("requests failed in a state in which they had not: %w", failed)
	case failed != nil:
		says = "requests failed: " + failed.Error()
	case decision == stat.Better:
		says = "helps: " + says
	case decision == stat.Worse:
		says = "hurts: " + says
	default:
		says = "brings nothing: " + says
	}
	c.Watcher.Result(says)
	c.result.step(move, best, next, decision == stat.Better, says)
	if decision != stat.Better {
		return nil, nil
	}
	for _, s := range move { // until it is known what is lost without it
		c.result.worth(s, max(1, c.result.worths[s])*next.rate()/best.rate())
	}
	return next, nil
}

// needed puts back what does not help any more, now that the rest is raised, and keeps
// for the verdict what each setting is worth.
func (c *climb) needed(ctx context.Context, start, best *point) (*point, error) {
	for _, setting := range settings {
		less := best.with(setting, start.State)
		if less == best.State {
			continue
		}
		less.Connections = min(less.Connections, less.Depth) // each has one
		if less == start.State {                             // it was the only one
			c.result.worth(setting, best.rate()/start.rate())
			continue
		}
		if c.left() < c.proof()+2*c.bench.Takes() {
			break
		}
		c.Watcher.Phase(fmt.Sprintf("do without: %s at %s", setting, less.value(setting)))
		without := c.point(less)
		decision, failed, err := c.contest(ctx, without, best)
		if err != nil {
			return nil, err
		}
		switch {
		case failed != nil && decision == stat.Worse:
			return nil, fmt.Errorf("requests failed in a state in which they had not: %w", failed)
		case failed != nil:
			c.Watcher.Result("needed: requests fail without it: " + failed.Error())
		case decision == stat.Better:
			c.Watcher.Result(fmt.Sprintf("needed: %s without it", without))
			c.result.worth(setting, best.rate()/without.rate())
		default:
			c.Watcher.Result(fmt.Sprintf("not needed: %s without it", without))
			c.result.unneeded(setting, start, best)
			best = without
		}
	}
	return best, nil
}

func (c *climb) point(s State) *point {
	if c.points[s] == nil {
		c.points[s] = &point{State: s}
	}
	return c.points[s]
}

func (c *climb) measure(ctx context.Context, p *point) error {
	began := time.Now()
	r, err := c.bench.Measure(ctx, p.State)
	c.spent += max(time.Since(began), c.bench.Takes())
	if err != nil {
		return err
	}
	p.readings = append(p.readings, r)
	return nil
}

func (c *climb) left() time.Duration { return c.Budget - c.spent }
