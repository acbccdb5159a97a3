package record

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/fullbore/fullbore/unit"
)

// Flow is what one flow of an experiment of many hosts came to, as the host that sent says. It is kept apart
// from the run's document: it may come in when the run has ended, or was killed.
type Flow struct {
	Run     string          `json:"id"`
	Round   int             `json:"round"`
	N       int             `json:"flow"` // of that round
	From    string          `json:"from"`
	To      string          `json:"to"`
	Kind    string          `json:"kind"`  // transfer, rehearsal, diagnosis
	Ended   time.Time       `json:"ended"` // by the sender's clock
	Goodput unit.Rate       `json:"goodput_bps"`
	Bytes   int64           `json:"bytes"` // that it moved
	Error   string          `json:"error,omitempty"`
	Data    json.RawMessage `json:"result,omitempty"` // all that the sender said
}

// check says what keeps a flow that came over the network from being kept.
func (f *Flow) check() error {
	if id, err := uuid.Parse(f.Run); err != nil || id.String() != f.Run || id.Version() != 7 {
		return fmt.Errorf("its experiment %.50q is no UUID of a run", f.Run)
	}
	if year := startOf(f.Run).Year(); year < 1990 || year > 2200 {
		return fmt.Errorf("its experiment began in the year %d", year)
	}
	for _, text := range []string{f.From, f.To, f.Kind, f.Error} {
		if err := checkText(text); err != nil {
			return err
		}
	}
	return nil
}

// KeepFlows keeps flows of one experiment, all or none, and gives how many are new: of one that was kept before
// nothing changes. When it returns, they are in the store. Of an experiment whose run is not there, as one of
// another hub, or one that was removed, a run is made: interrupted, with the experiment's name as its tag.
func (s *Store) KeepFlows(ctx context.Context, experiment string, flows []Flow) (added int, err error) {
	for i := range flows {
		if err := flows[i].check(); err != nil {
			return 0, fmt.Errorf("keep what %s to %s came to: %w", flows[i].From, flows[i].To, err)
		}
	}
	err = s.steadily(ctx, func(ctx context.Context) error {
		added = 0
		return s.change(ctx, func(tx *transaction) error {
			for i := range flows {
				if i == 0 || flows[i].Run != flows[i-1].Run {
					if err := ensureRun(ctx, tx, flows[i].Run, experiment); err != nil {
						return err
					}
				}
				n, err := insertFlow(ctx, tx, &flows[i])
				if err != nil {
					return err
				}
				added += n
			}
			return nil
		})
	})
	if err != nil {
		return 0, fmt.Errorf("keep results in %s: %w", s.place, err)
	}
	return added, nil
}

// ensureRun makes a run that is not there.
func ensureRun(ctx context.Context, tx *transaction, id, experiment string) error {
	var there int
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM run WHERE id = $1`, id).Scan(&there); err != nil || there > 0 {
		return err
	}
	h := Header{
		ID: id, Kind: Fleet, State: Interrupted, Started: startOf(id), From: "many hosts", To: "each other",
		Error: "of its experiment only these results are here",
	}
	if CheckTags([]string{experiment}) == nil {
		h.Tags = []string{experiment}
	}
	return insertRun(ctx, tx, &h, time.Now())
}

// startOf is when a run with a checked identifier began.
func startOf(id string) time.Time {
	return time.Unix(uuid.MustParse(id).Time().UnixTime()).UTC()
}

func insertFlow(ctx context.Context, tx *transaction, f *Flow) (added int, err error) {
	data, err := shrink(f.Data)
	if err != nil {
		return 0, err
	}
	result, err := tx.ExecContext(ctx, `INSERT INTO flow (run, round, n, sender, receiver, kind, ended, seen, goodput, bytes, error, data)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING`,
		f.Run, int64(f.Round), int64(f.N), f.From, f.To, f.Kind, stamp(f.Ended), stamp(time.Now()), float64(f.Goodput), f.Bytes, f.Error, data)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// readFlows adds the flows of a run, in their order.
func readFlows(ctx context.Context, from reader, r *Run) error {
	rows, err := from.QueryContext(ctx, `SELECT round, n, sender, receiver, kind, ended, goodput, bytes, error, data FROM flow WHERE run = $1 ORDER BY round, n, sender`, r.ID)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		f := Flow{Run: r.ID}
		var ended int64
		var data []byte
		if err := rows.Scan(&f.Round, &f.N, &f.From, &f.To, &f.Kind, &ended, (*float64)(&f.Goodput), &f.Bytes, &f.Error, &data); err != nil {
			return err
		}
		f.Ended = timeOf(ended)
		if err := expand(data, &f.Data); err != nil {
			return err
		}
		r.Flows = append(r.Flows, f)
	}
	return rows.Err()
}

// Moved is how many bytes each host sent and received in experiments since a time, by the time at which
// results came in here.
func (s *Store) Moved(ctx context.Context, since time.Time) (map[string]int64, error) {
	return s.moved(ctx, `seen >= $1`, stamp(since))
}

// MovedIn is how many bytes each host sent and received in a run: see [Store.Moved].
func (s *Store) MovedIn(ctx context.Context, run string) (map[string]int64, error) {
	return s.moved(ctx, `run = $1`, run)
}

func (s *Store) moved(ctx context.Context, where string, arg any) (map[string]int64, error) {
	moved := map[string]int64{}
	_, err := gather(ctx, s, "traffic", `SELECT sender, receiver, SUM(bytes) FROM flow WHERE `+where+` GROUP BY sender, receiver`, func(rows *sql.Rows) (none struct{}, err error) {
		var from, to string
		var bytes float64 // PostgreSQL's sum is a numeric
		err = rows.Scan(&from, &to, &bytes)
		moved[from] += int64(bytes)
		if to != from {
			moved[to] += int64(bytes)
		}
		return none, err
	}, arg)
	return moved, err
}

// Amend gives a run that has ended another outcome: more of it came in since.
func (s *Store) Amend(ctx context.Context, run string, o Outcome) error {
	err := s.steadily(ctx, func(ctx context.Context) error {
		return s.change(ctx, func(tx *transaction) error {
			if _, err := tx.ExecContext(ctx, `DELETE FROM part WHERE run = $1 AND kind = 'document'`, run); err != nil {
				return err
			}
			w := &writer{store: s, header: Header{ID: run, From: o.From, To: o.To}}
			return w.end(ctx, tx, &o)
		})
	})
	if err != nil {
		return fmt.Errorf("amend run %s in %s: %w", run, s.place, err)
	}
	return nil
}

// LastOf is the newest run of a kind that has a tag.
func (s *Store) LastOf(ctx context.Context, kind Kind, tag string) (h Header, found bool, err error) {
	newest, err := s.List(ctx, Filter{Kind: kind, Tag: tag, Most: 1})
	if err != nil || len(newest) == 0 {
		return Header{}, false, err
	}
	return newest[0], true, nil
}
