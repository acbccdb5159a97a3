package metrics

import (
	"context"
	"errors"

	"github.com/fullbore/fullbore/exposition"
	"github.com/fullbore/fullbore/record"
)

// runs are what is kept of measurements.
type runs struct {
	open    func(context.Context) (*record.Store, error)
	figures map[string]figures // of runs that are done, by identifier: those do not change
}

// mostGroups is how many last runs are looked at to find those that have series: a few
// for each path and verb. Of more than that it finds some, not the latest.
const mostGroups = 10_000

// collect reads the record.
func (r *runs) collect(ctx context.Context) (string, error) {
	store, err := r.open(ctx)
	if errors.Is(err, record.ErrNowhere) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	m := exposition.New("fullbore_")
	if store == nil {
		m.Gauge("record_runs", helpRuns, 0)
		return m.String(), nil
	}
	text, err := r.read(ctx, store, m)
	return text, errors.Join(err, store.Close())
}

const helpRuns = "Runs that are kept."

func (r *runs) read(ctx context.Context, store *record.Store, m *exposition.Text) (string, error) {
	count, err := store.Count(ctx)
	if err != nil {
		return "", err
	}
	size, err := store.Size(ctx)
	if err != nil {
		return "", err
	}
	latest, _, err := store.Latest(ctx, mostGroups)
	if err != nil {
		return "", err
	}
	m.Gauge("record_runs", helpRuns, float64(count))
	m.Gauge("record_size_bytes", "What the kept runs take on disk.", float64(size))
	groups := grouped(latest)
	m.Gauge("record_paths", "Paths that runs are kept of, each verb by itself.", float64(len(groups)))
	m.Gauge("record_paths_left_out", "Those of them whose last runs have no series of their own, as others ran later.", float64(max(0, len(groups)-mostPaths)))
	known := map[string]figures{}
	for _, g := range groups[:min(mostPaths, len(groups))] {
		var f figures
		if g.done != nil {
			if f, err = r.of(ctx, store, g.done); err != nil {
				return "", err
			}
			known[g.done.ID] = f
		}
		g.write(m, f)
	}
	r.figures = known
	err = experiments(ctx, store, m)
	return m.String(), err
}

// of are the figures of a run that is done.
func (r *runs) of(ctx context.Context, store *record.Store, h *record.Header) (figures, error) {
	if f, ok := r.figures[h.ID]; ok {
		return f, nil
	}
	return readFigures(ctx, store, h)
}

// group is what ran last on one path by one verb.
type group struct {
	last record.Header  // of all
	done *record.Header // that came to its end; nil: none did
}

// grouped puts the last runs of each state together, the groups that ran last first.
// Names that look the same as labels are the same path.
func grouped(latest []record.Header) []*group {
	type key struct {
		from, to, scenario string
		kind               record.Kind
	}
	var all []*group
	by := map[key]*group{}
	for i := range latest { // the latest first
		h := &latest[i]
		k := key{exposition.Value(h.From), exposition.Value(h.To), exposition.Value(h.Scenario), h.Kind}
		g := by[k]
		if g == nil {
			g = &group{last: *h}
			by[k] = g
			all = append(all, g)
		}
		if h.State == record.Done && g.done == nil {
			g.done = h
		}
	}
	return all
}

// write adds the series of a group.
func (g *group) write(m *exposition.Text, f figures) {
	gauge := func(name, help string, v float64, more ...string) {
		labels := append([]string{"from", g.last.From, "to", g.last.To, "kind", string(g.last.Kind), "scenario", g.last.Scenario}, more...)
		m.Gauge("run_"+name, help, v, labels...)
	}
	gauge("start_timestamp_seconds", "When the last run of a path began, however it ended.", float64(g.last.Started.UnixMilli())/1000)
	gauge("state", "How far the last run of a path came; always 1.", 1, "state", string(g.last.State))
	if g.done == nil {
		return
	}
	if !g.done.Ended.IsZero() {
		gauge("end_timestamp_seconds", "When the last run of a path with a result ended.", float64(g.done.Ended.UnixMilli())/1000)
	}
	if known(float64(g.done.Goodput)) {
		gauge("goodput_bytes_per_second", "What reached the receiving application, at the end of the last run with a result.", float64(g.done.Goodput)/8)
	}
	if known(g.done.IOPS) {
		gauge("requests_per_second", "Requests that a file's server answered, at the end of the last run with a result that made any.", g.done.IOPS)
	}
	if g.done.Verdict != "" {
		gauge("verdict", "What limits a path, as its cause, by the last run with a result; always 1.", 1, "cause", g.done.Verdict)
	}
	for _, x := range []struct {
		name, help string
		v          float64
	}{
		{"rtt_seconds", "Round-trip time of a path without load, median of the probes.", f.rtt},
		{"loaded_rtt_seconds", "Round-trip time under load, median as the sending kernel smoothed it; of a tuning, after it.", f.loaded},
		{"gain_ratio", "Factor on goodput that the last tuning brought.", f.gain},
		{"gain_lower_ratio", "Lower end of the 95 % interval of that factor.", f.gainLow},
		{"gain_upper_ratio", "Upper end of the 95 % interval of that factor.", f.gainHigh},
	} {
		if known(x.v) {
			gauge(x.name, x.help, x.v)
		}
	}
}
