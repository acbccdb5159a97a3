package record

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Shift is a goodput that moved to another level: of a host of an experiment that is run again and again, or of
// the way from one host to another.
type Shift struct {
	Experiment string    `json:"experiment"` // its name
	Kind       ShiftKind `json:"kind"`
	From       string    `json:"from,omitempty"` // absent of a host that receives
	To         string    `json:"to,omitempty"`   // absent of one that sends
	Since      time.Time `json:"since"`          // the first run of the new level
	Run        string    `json:"run"`            // after which it could be told
	Found      time.Time `json:"found"`
	Before     unit.Rate `json:"before_bps"`
	After      unit.Rate `json:"after_bps"`
}

// ShiftKind is what a shift is of.
type ShiftKind string

// A host as it sends, as it receives, or one way.
const (
	ShiftSends    ShiftKind = "sends"
	ShiftReceives ShiftKind = "receives"
	ShiftLink     ShiftKind = "link"
)

// String is a line for people.
func (s *Shift) String() string {
	what := s.From + " to " + s.To
	switch s.Kind {
	case ShiftSends:
		what = "what " + s.From + " sends"
	case ShiftReceives:
		what = "what " + s.To + " receives"
	}
	return fmt.Sprintf("%s: %v instead of %v since %s", what, s.After, s.Before, s.Since.Format(time.DateTime+" MST"))
}

// Hosts are those that it is of.
func (s *Shift) Hosts() []string {
	return slices.DeleteFunc([]string{s.From, s.To}, func(name string) bool { return name == "" })
}

// KeepShifts keeps shifts; of one that is there nothing changes.
func (s *Store) KeepShifts(ctx context.Context, shifts []Shift) error {
	err := s.steadily(ctx, func(ctx context.Context) error {
		return s.change(ctx, func(tx *transaction) error {
			return insertShifts(ctx, tx, shifts, time.Time{})
		})
	})
	if err != nil {
		return fmt.Errorf("keep shifts in %s: %w", s.place, err)
	}
	return nil
}

// insertShifts writes shifts that somebody was told of then; zero: nobody was.
func insertShifts(ctx context.Context, tx *transaction, shifts []Shift, told time.Time) error {
	for _, h := range shifts {
		if _, err := tx.ExecContext(ctx, `INSERT INTO shift (experiment, kind, sender, receiver, since, run, found, before, after, told) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
			h.Experiment, string(h.Kind), h.From, h.To, stamp(h.Since), h.Run, stamp(h.Found), float64(h.Before), float64(h.After), stamp(told)); err != nil {
			return err
		}
	}
	return nil
}

// check says what keeps a shift that came from elsewhere from being kept.
func (s *Shift) check() error {
	if s.Kind != ShiftSends && s.Kind != ShiftReceives && s.Kind != ShiftLink {
		return fmt.Errorf("it has a shift of kind %.20q", s.Kind)
	}
	for _, text := range []string{s.Experiment, s.From, s.To, s.Run} {
		if err := checkText(text); err != nil {
			return err
		}
	}
	return nil
}

// readShifts adds those that were found after a run.
func readShifts(ctx context.Context, from reader, r *Run) error {
	rows, err := from.QueryContext(ctx, shiftColumns+`WHERE run = $1 ORDER BY kind, sender, receiver, since`, r.ID)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		s, err := scanShift(rows)
		if err != nil {
			return err
		}
		r.Shifts = append(r.Shifts, s)
	}
	return rows.Err()
}

// Shifts are those of an experiment, the newest first; no more than most of them.
func (s *Store) Shifts(ctx context.Context, experiment string, most int) ([]Shift, error) {
	return gather(ctx, s, "shifts", shiftColumns+`WHERE experiment = $1 ORDER BY found DESC, since DESC, kind, sender, receiver LIMIT $2`, scanShift, experiment, most)
}

// Untold are those of all experiments that were found since a time and that nobody was told of, the oldest first.
func (s *Store) Untold(ctx context.Context, since time.Time) ([]Shift, error) {
	return gather(ctx, s, "shifts", shiftColumns+`WHERE told = 0 AND found >= $1 ORDER BY found, experiment, kind, sender, receiver`, scanShift, stamp(since))
}

// Told notes that somebody was told of shifts.
func (s *Store) Told(ctx context.Context, shifts []Shift) error {
	return s.change(ctx, func(tx *transaction) error {
		for _, h := range shifts {
			if _, err := tx.ExecContext(ctx, `UPDATE shift SET told = $1 WHERE experiment = $2 AND kind = $3 AND sender = $4 AND receiver = $5 AND since = $6`,
				stamp(time.Now()), h.Experiment, string(h.Kind), h.From, h.To, stamp(h.Since)); err != nil {
				return err
			}
		}
		return nil
	})
}

const shiftColumns = `SELECT experiment, kind, sender, receiver, since, run, found, before, after FROM shift `

func scanShift(rows *sql.Rows) (h Shift, err error) {
	var since, found int64
	err = rows.Scan(&h.Experiment, (*string)(&h.Kind), &h.From, &h.To, &since, &h.Run, &found, (*float64)(&h.Before), (*float64)(&h.After))
	h.Since, h.Found = timeOf(since), timeOf(found)
	return h, err
}

// Measured is the goodput from one host to another in one run of an experiment.
type Measured struct {
	Run      string
	Started  time.Time
	From, To string
	Goodput  float64 // bit/s
}

// Again gives what an experiment came to each time that it was run, the oldest first: of so many of its latest
// runs, in which each way was first measured with all others.
func (s *Store) Again(ctx context.Context, experiment string, runs int) ([]Measured, error) {
	return gather(ctx, s, "flows", `SELECT run.id, run.started, flow.sender, flow.receiver, flow.goodput FROM flow JOIN run ON run.id = flow.run
		WHERE run.id IN (SELECT run.id FROM run JOIN tag ON tag.run = run.id WHERE tag.tag = $1 AND run.kind = $2 ORDER BY run.started DESC LIMIT $3)
		AND flow.kind = 'transfer' AND flow.error = '' AND flow.goodput > 0
		AND NOT EXISTS (SELECT 1 FROM flow AS earlier WHERE earlier.run = flow.run AND earlier.sender = flow.sender AND earlier.receiver = flow.receiver AND earlier.round < flow.round AND earlier.kind = 'transfer' AND earlier.error = '')
		ORDER BY run.started, run.id, flow.round, flow.n`,
		func(rows *sql.Rows) (m Measured, err error) {
			var started int64
			err = rows.Scan(&m.Run, &started, &m.From, &m.To, &m.Goodput)
			m.Started = timeOf(started)
			return m, err
		}, experiment, string(Fleet), runs)
}

// ChangesOf are what became different on the hosts of a shift, from the first run of the new level to the one in which it
// was found; never nil.
func (s *Store) ChangesOf(ctx context.Context, of *Shift) ([]Dated, error) {
	all, err := gather(ctx, s, "changes", `SELECT run.id, run.started, change.host, change.tunable, change.old, change.new, change.who FROM change JOIN run ON run.id = change.run
		WHERE run.id IN (SELECT run FROM tag WHERE tag = $1) AND run.started >= $2 AND run.started <= $3 ORDER BY run.started, run.id, change.n`,
		func(rows *sql.Rows) (d Dated, err error) {
			var at int64
			err = rows.Scan(&d.Run, &at, &d.Host, &d.Tunable, &d.From, &d.To, (*string)(&d.Who))
			d.At = timeOf(at)
			return d, err
		}, of.Experiment, stamp(of.Since), stamp(of.Found))
	hosts, changes := of.Hosts(), []Dated{}
	for _, d := range all {
		if slices.Contains(hosts, d.Host) {
			changes = append(changes, d)
		}
	}
	return changes, err
}

// Experiments are the names of those that were run again and again, the one that was run last first: tags of runs
// whose flows are kept.
func (s *Store) Experiments(ctx context.Context, most int) ([]string, error) {
	return gather(ctx, s, "experiments", `SELECT tag.tag, MAX(run.started) AS latest FROM run JOIN tag ON tag.run = run.id
		WHERE run.kind = $1 AND EXISTS (SELECT 1 FROM flow WHERE flow.run = run.id) GROUP BY tag.tag ORDER BY latest DESC, tag.tag LIMIT $2`,
		func(rows *sql.Rows) (name string, err error) {
			var latest int64
			err = rows.Scan(&name, &latest)
			return name, err
		}, string(Fleet), most)
}
