package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/stat"
)

// Trend is how the goodput of one path went over time, or its requests a second where the
// verb counts those.
type Trend struct {
	From     string   `json:"from"`
	To       string   `json:"to"`
	Scenario string   `json:"scenario,omitempty"`
	Kind     Kind     `json:"kind"`
	Runs     []Header `json:"runs"`    // done, the oldest first
	Levels   []Level  `json:"levels"`  // at least one, unless there are no runs
	Changes  []Dated  `json:"changes"` // of either host, meanwhile
}

// Level is a stretch of runs with the same typical goodput, as far as chance lets tell
// (see stat.Levels).
type Level struct {
	Since   time.Time     `json:"since"` // its first run
	Runs    int           `json:"runs"`
	Goodput stat.Interval `json:"goodput_bps"`   // of one run without bounds, which are then 0
	IOPS    stat.Interval `json:"iops,omitzero"` // likewise; of verbs that count requests, whose levels are of these
}

// Level is what its levels are of: goodput in bit/s, or requests a second.
func (t *Trend) Level(l *Level) stat.Interval {
	if t.Kind.CountsRequests() {
		return l.IOPS
	}
	return l.Goodput
}

// Of is what a trend is of, in one of its runs.
func (t *Trend) Of(h *Header) float64 {
	if t.Kind.CountsRequests() {
		return h.IOPS
	}
	return float64(h.Goodput)
}

// Dated is a change of a host that a run made or found.
type Dated struct {
	Run string    `json:"run"`
	At  time.Time `json:"at"`
	Change
}

// mostOfTrend is how many runs a trend looks back at most: its levels take time with
// the square of that.
const mostOfTrend = 500

// errEnough ends a list early.
var errEnough = errors.New("enough runs")

// Trend gives that of the path that a filter names with From and To. Of a lab's
// scenario the runs are those of other hosts with the same names.
func (s *Store) Trend(ctx context.Context, f Filter, scenario string) (*Trend, error) {
	t := &Trend{From: f.From, To: f.To, Scenario: scenario, Kind: f.Kind, Runs: []Header{}, Levels: []Level{}, Changes: []Dated{}}
	f.Most = 0
	err := s.list(ctx, f, func(h Header) error {
		if h.State == Done && t.Of(&h) > 0 && h.Scenario == scenario {
			t.Runs = append(t.Runs, h)
		}
		if len(t.Runs) == mostOfTrend {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("trend of %s: %w", s.place, err)
	}
	if len(t.Runs) == 0 {
		return t, nil
	}
	slices.Reverse(t.Runs)
	t.Levels = t.levels()
	return t, s.changes(ctx, t)
}

func (t *Trend) levels() []Level {
	values, goodput := make([]float64, len(t.Runs)), make([]float64, len(t.Runs))
	for i := range t.Runs {
		values[i], goodput[i] = t.Of(&t.Runs[i]), float64(t.Runs[i].Goodput)
	}
	all := []Level{}
	from := 0
	for _, to := range append(stat.Levels(values), len(values)) {
		l := Level{Since: t.Runs[from].Started, Runs: to - from, Goodput: typicalOf(goodput[from:to])}
		if t.Kind.CountsRequests() {
			l.IOPS = typicalOf(values[from:to])
		}
		all = append(all, l)
		from = to
	}
	return all
}

// typicalOf is the typical value of runs, without bounds of a single one: infinity is no
// JSON.
func typicalOf(values []float64) stat.Interval {
	typical := stat.Typical(values)
	if len(values) == 1 {
		typical.Low, typical.High = 0, 0
	}
	return typical
}

// changes adds those of both hosts from the first run to the last.
func (s *Store) changes(ctx context.Context, t *Trend) error {
	rows, err := s.read.QueryContext(ctx, `SELECT run.id, run.started, change.host, change.tunable, change.old, change.new, change.who
		FROM change JOIN run ON run.id = change.run
		WHERE (change.host = $1 OR change.host = $2) AND run.scenario = $3 AND run.started >= $4 AND run.started <= $5 ORDER BY run.started, run.id, change.n`,
		t.From, t.To, t.Scenario, stamp(t.Runs[0].Started), stamp(t.Runs[len(t.Runs)-1].Started))
	if err != nil {
		return fmt.Errorf("changes in %s: %w", s.place, s.explain(err))
	}
	defer rows.Close()
	for rows.Next() {
		var d Dated
		var at int64
		if err := rows.Scan(&d.Run, &at, &d.Host, &d.Tunable, &d.From, &d.To, (*string)(&d.Who)); err != nil {
			return err
		}
		d.At = timeOf(at)
		t.Changes = append(t.Changes, d)
	}
	return rows.Err()
}
