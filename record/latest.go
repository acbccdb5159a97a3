package record

import (
	"context"
	"errors"
	"fmt"
)

// latest walks run_latest from its end: from the latest run of one path, verb and
// state to that of the one before, so that it takes time with what it gives, however
// many runs there are. SQLite has to be helped to that: it goes into an index by more
// than the first column only where no two columns are compared (hence the ||), begins a
// step at what is equal to where it stands (hence 0, when no run started: else it would
// pass all runs of the same path), and keeps to the order of a CROSS JOIN's tables.
const latest = `WITH RECURSIVE latest (id, n) AS (
	SELECT (SELECT id FROM run ORDER BY sender DESC, receiver DESC, scenario DESC, kind DESC, state DESC, started DESC LIMIT 1), 1
	UNION ALL
	SELECT (SELECT next.id FROM run AS next
		WHERE (next.sender, next.receiver, next.scenario, next.kind, next.state, next.started) < (run.sender || '', run.receiver || '', run.scenario || '', run.kind || '', run.state || '', 0)
		ORDER BY next.sender DESC, next.receiver DESC, next.scenario DESC, next.kind DESC, next.state DESC, next.started DESC LIMIT 1), latest.n + 1
	FROM latest CROSS JOIN run WHERE run.id = latest.id AND latest.n < $1
)
SELECT run.id, kind, state, started, ended, seen, command, version, far, scenario, sender, receiver, goodput, verdict, tags, error, iops
FROM latest CROSS JOIN run WHERE run.id = latest.id ORDER BY started DESC, run.id DESC`

// Latest gives the latest run of each path, verb and state, the latest first, and
// whether those are all: it looks at no more than most of them.
func (s *Store) Latest(ctx context.Context, most int) (runs []Header, all bool, err error) {
	rows, err := s.read.QueryContext(ctx, latest, most+1)
	if err != nil {
		return nil, false, fmt.Errorf("latest runs of %s: %w", s.place, s.explain(err))
	}
	defer rows.Close()
	for rows.Next() {
		h, err := scanHeader(rows)
		if err != nil {
			return nil, false, err
		}
		runs = append(runs, h)
	}
	if err := rows.Err(); err != nil {
		return nil, false, fmt.Errorf("latest runs of %s: %w", s.place, s.explain(err))
	}
	return runs[:min(most, len(runs))], len(runs) <= most, nil
}

// Count is how many runs there are.
func (s *Store) Count(ctx context.Context) (n int64, err error) {
	if err := s.read.QueryRowContext(ctx, `SELECT COUNT(*) FROM run`).Scan(&n); err != nil {
		return 0, fmt.Errorf("count runs of %s: %w", s.place, s.explain(err))
	}
	return n, nil
}

// Document reads what --json would have printed of a run into a value; found is
// false where the run has none, or one of more than most bytes.
func (s *Store) Document(ctx context.Context, id string, most int64, into any) (found bool, err error) {
	rows, err := s.read.QueryContext(ctx, `SELECT data FROM part WHERE run = $1 AND kind = 'document' AND LENGTH(data) <= $2`, id, most) // compressed: what cannot be small enough is not read
	if err != nil {
		return false, fmt.Errorf("document of run %s in %s: %w", id, s.place, s.explain(err))
	}
	defer rows.Close()
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return false, err
		}
		switch err := expandUpTo(most, data, into); {
		case errors.Is(err, errTooLarge):
			continue
		case err != nil:
			return false, fmt.Errorf("document of run %s in %s: %w", id, s.place, err)
		}
		found = true
	}
	return found, s.explain(rows.Err())
}
