package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Export calls with each whole run that a filter means, the oldest first.
func (s *Store) Export(ctx context.Context, f Filter, call func(*Run) error) error {
	all, err := s.List(ctx, f)
	if err != nil {
		return err
	}
	for _, h := range slices.Backward(all) {
		r, err := s.Load(ctx, h.ID)
		if errors.Is(err, ErrNoRun) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return err
		}
		if err := call(r); err != nil {
			return err
		}
	}
	return nil
}

// mostOfALine bounds one run that is read, in bytes of JSON.
const mostOfALine = 1 << 30

// ReadRuns calls with each run of an export: one JSON object a line. An error names the
// run by its place.
func ReadRuns(from io.Reader, call func(*Run) error) error {
	limited := &io.LimitedReader{R: from}
	runs := json.NewDecoder(limited)
	for n := 1; ; n++ {
		limited.N = mostOfALine
		var r Run
		switch err := runs.Decode(&r); {
		case errors.Is(err, io.EOF) && limited.N > 0:
			return nil
		case err != nil && limited.N <= 0:
			return fmt.Errorf("run %d: more than %d MB", n, mostOfALine>>20)
		case err != nil:
			return fmt.Errorf("run %d: %w", n, err)
		}
		if err := r.check(); err != nil {
			return fmt.Errorf("run %d: %w", n, err)
		}
		if err := call(&r); err != nil {
			return fmt.Errorf("run %d: %w", n, err)
		}
	}
}

// check says what keeps a run that came from elsewhere from being one.
func (r *Run) check() error {
	if r.Schema != Schema {
		return fmt.Errorf("its schema is %q, not %q", r.Schema, Schema)
	}
	if id, err := uuid.Parse(r.ID); err != nil || id.String() != r.ID {
		return fmt.Errorf("its identifier %q is no UUID", r.ID)
	}
	if !slices.Contains(Kinds, r.Kind) {
		return fmt.Errorf("its kind %q is not known", r.Kind)
	}
	switch r.State {
	case Running, Done, Failed, Interrupted:
	default:
		return fmt.Errorf("its state %q is not known", r.State)
	}
	if year := r.Started.Year(); year < 1990 || year > 2200 {
		return fmt.Errorf("it started in the year %d", year)
	}
	for _, text := range append([]string{r.From, r.To, r.Version, r.Far, r.Scenario, r.Verdict, r.Error}, r.Tags...) {
		if err := checkText(text); err != nil {
			return err
		}
	}
	for i := range r.Flows {
		if r.Flows[i].Run != r.ID {
			return errors.New("a flow in it is of another run")
		}
		if err := r.Flows[i].check(); err != nil {
			return err
		}
	}
	for i := range r.Shifts {
		if err := r.Shifts[i].check(); err != nil {
			return err
		}
	}
	return nil
}

func checkText(text string) error {
	if len(text) > 1<<16 || strings.ContainsRune(text, 0) { // PostgreSQL keeps no NUL
		return errors.New("a name in it is longer than 64 KB, or has a NUL")
	}
	return nil
}

// Import keeps a run that was kept elsewhere, unless it is there already; it reports
// whether it was new.
func (s *Store) Import(ctx context.Context, r *Run) (added bool, err error) {
	if err := r.check(); err != nil {
		return false, err
	}
	h := r.Header
	if h.State == Running { // elsewhere
		h.State = Interrupted
	}
	err = s.change(ctx, func(tx *transaction) error {
		var there int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM run WHERE id = $1`, h.ID).Scan(&there); err != nil || there > 0 {
			return err
		}
		added = true
		if err := insertRun(ctx, tx, &h, time.Now()); err != nil {
			return err
		}
		if len(r.Document) > 0 {
			if err := insertPart(ctx, tx, h.ID, "document", 1, r.Document); err != nil {
				return err
			}
		}
		for i := range r.Events {
			if err := insertPart(ctx, tx, h.ID, "event", i+1, &r.Events[i]); err != nil {
				return err
			}
		}
		for i := range r.Hosts {
			if err := insertPart(ctx, tx, h.ID, "host", i+1, &r.Hosts[i]); err != nil {
				return err
			}
		}
		for i := range r.Transfers {
			if err := insertTransfer(ctx, tx, h.ID, i+1, &r.Transfers[i]); err != nil {
				return err
			}
		}
		for i := range r.Flows {
			if _, err := insertFlow(ctx, tx, &r.Flows[i]); err != nil {
				return err
			}
		}
		if err := insertShifts(ctx, tx, r.Shifts, time.Now()); err != nil { // whoever watches over that record was told there
			return err
		}
		return insertChanges(ctx, tx, h.ID, 0, r.Changes)
	})
	if err != nil {
		return false, fmt.Errorf("keep run %s in %s: %w", r.ID, s.place, err)
	}
	return added, nil
}

// Keep says which runs stay.
type Keep struct {
	Newest int       // so many
	Since  time.Time // and those that started then or later; zero: only the newest
}

// Prune removes all other runs, and gives their number.
func (s *Store) Prune(ctx context.Context, keep Keep) (removed int64, err error) {
	err = s.change(ctx, func(tx *transaction) error {
		since := int64(1<<63 - 1)
		if !keep.Since.IsZero() {
			since = stamp(keep.Since)
		}
		result, err := tx.ExecContext(ctx, `DELETE FROM run WHERE started < $1 AND state <> $2 AND id NOT IN (SELECT id FROM run ORDER BY started DESC, id DESC LIMIT $3)`,
			since, string(Running), keep.Newest)
		if err != nil {
			return err
		}
		removed, err = result.RowsAffected()
		return err
	})
	if err == nil && removed > 0 {
		err = s.kind.tidy(ctx, s)
	}
	if err != nil {
		return removed, fmt.Errorf("remove runs from %s: %w", s.place, err)
	}
	return removed, nil
}
