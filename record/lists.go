package record

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Path is what is kept of one path: runs of one verb that came to their end.
type Path struct {
	From     string    `json:"from"`
	To       string    `json:"to"`
	Scenario string    `json:"scenario,omitempty"` // of the lab
	Kind     Kind      `json:"kind"`
	Runs     int       `json:"runs"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Goodput  unit.Rate `json:"goodput_bps"` // of the last that measured one; 0: none did
}

// Paths gives those that runs are kept of, the one that was measured last first.
func (s *Store) Paths(ctx context.Context, most int) ([]Path, error) {
	// The inner query reads nothing but the index run_latest.
	const query = `SELECT g.sender, g.receiver, g.scenario, g.kind, g.runs, g.earliest, g.latest, COALESCE((
			SELECT goodput FROM run WHERE sender = g.sender AND receiver = g.receiver AND scenario = g.scenario AND kind = g.kind AND state = 'done' AND goodput > 0
			ORDER BY started DESC, id DESC LIMIT 1), 0)
		FROM (SELECT sender, receiver, scenario, kind, COUNT(*) AS runs, MIN(started) AS earliest, MAX(started) AS latest
			FROM run WHERE state = 'done' AND receiver <> '' GROUP BY sender, receiver, scenario, kind) AS g
		ORDER BY g.latest DESC, g.sender, g.receiver, g.kind LIMIT $1`
	return gather(ctx, s, "list paths", query, func(rows *sql.Rows) (p Path, err error) {
		var first, last int64
		err = rows.Scan(&p.From, &p.To, &p.Scenario, (*string)(&p.Kind), &p.Runs, &first, &last, (*float64)(&p.Goodput))
		p.First, p.Last = timeOf(first), timeOf(last)
		return p, err
	}, most)
}

// Seen is a host that runs are kept of, the lab's left out: those are new in each.
type Seen struct {
	Name  string    `json:"name"`
	Runs  int       `json:"runs"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// Hosts gives those that sent or received, the one that did last first.
func (s *Store) Hosts(ctx context.Context, most int) ([]Seen, error) {
	// Each path is counted by itself first: that reads nothing but the index run_latest.
	const query = `SELECT h.name, CAST(SUM(h.runs) AS BIGINT), MIN(h.earliest), MAX(h.latest) FROM (
			SELECT sender AS name, COUNT(*) AS runs, MIN(started) AS earliest, MAX(started) AS latest FROM run WHERE scenario = '' GROUP BY sender, receiver
			UNION ALL SELECT receiver, COUNT(*), MIN(started), MAX(started) FROM run WHERE scenario = '' AND receiver <> sender GROUP BY sender, receiver) AS h
		WHERE h.name <> '' GROUP BY h.name ORDER BY MAX(h.latest) DESC, h.name LIMIT $1`
	return gather(ctx, s, "list hosts", query, func(rows *sql.Rows) (h Seen, err error) {
		var first, last int64
		err = rows.Scan(&h.Name, &h.Runs, &first, &last)
		h.First, h.Last = timeOf(first), timeOf(last)
		return h, err
	}, most)
}

// gather reads all rows of a query.
func gather[T any](ctx context.Context, s *Store, what, query string, scan func(*sql.Rows) (T, error), args ...any) (all []T, err error) {
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", what, s.place, s.explain(err))
	}
	defer rows.Close()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", what, s.place, err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%s of %s: %w", what, s.place, s.explain(err))
	}
	return all, nil
}

// mostLooked is how many of a host's latest runs are searched for what it is like:
// one that failed early knows nothing.
const mostLooked = 20

// LastSeen gives what is known of a host that is not in the lab: by its latest run
// that asked it. Nil: no run of it did.
func (s *Store) LastSeen(ctx context.Context, name string) (*Host, Header, error) {
	runs, err := s.List(ctx, Filter{Host: name, Outside: true, Most: mostLooked})
	if err != nil {
		return nil, Header{}, err
	}
	for _, h := range runs {
		var hosts []Host
		if err := readAll(ctx, s.read, h.ID, "host", &hosts); err != nil {
			return nil, h, fmt.Errorf("hosts of run %s in %s: %w", h.ID, s.place, s.explain(err))
		}
		for i := len(hosts) - 1; i >= 0; i-- { // what it was left like comes last
			if hosts[i].Is != nil && hosts[i].Is.Name == name {
				return &hosts[i], h, nil
			}
		}
	}
	return nil, Header{}, nil
}

// Get gives what a list shows of one run.
func (s *Store) Get(ctx context.Context, id string) (h Header, err error) {
	all, err := gather(ctx, s, "read a run", `SELECT `+headerColumns+` FROM run WHERE id = $1`, scanHeader, id)
	switch {
	case err != nil:
		return h, err
	case len(all) == 0:
		return h, fmt.Errorf("%w: %s", ErrNoRun, id)
	}
	return all[0], nil
}
