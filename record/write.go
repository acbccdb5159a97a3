package record

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
)

// NewID gives an identifier for a run that starts now.
func NewID() string { return uuid.Must(uuid.NewV7()).String() } // it fails only without any randomness

// writer writes one run into a store, message by message.
type writer struct {
	store     *Store
	header    Header
	events    int
	transfers int
	hosts     int
	changes   int
}

// begin writes the run's row.
func (s *Store) begin(ctx context.Context, h Header) (*writer, error) {
	w := &writer{store: s, header: h}
	return w, s.change(ctx, func(tx *transaction) error { return insertRun(ctx, tx, &h, time.Now()) })
}

func insertRun(ctx context.Context, tx *transaction, h *Header, seen time.Time) error {
	command, err := json.Marshal(h.Command)
	if err != nil {
		return err
	}
	tags, err := json.Marshal(append([]string{}, h.Tags...))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO run (id, kind, state, started, ended, seen, command, version, far, scenario, sender, receiver, goodput, verdict, tags, error, iops)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
		h.ID, string(h.Kind), string(h.State), stamp(h.Started), stamp(h.Ended), stamp(seen), string(command), h.Version, h.Far, h.Scenario, h.From, h.To,
		float64(h.Goodput), h.Verdict, string(tags), h.Error, h.IOPS)
	if err != nil {
		return err
	}
	for _, tag := range h.Tags {
		if _, err := tx.ExecContext(ctx, `INSERT INTO tag (run, tag) VALUES ($1, $2)`, h.ID, tag); err != nil {
			return err
		}
	}
	return nil
}

// write adds a message.
func (w *writer) write(ctx context.Context, m Message) error {
	if m.Progress != nil {
		return nil // it is not kept
	}
	return w.store.steadily(ctx, func(ctx context.Context) error {
		next := *w // what a failed attempt counted does not count
		err := w.store.change(ctx, func(tx *transaction) error { return next.add(ctx, tx, m) })
		if err == nil || w.store.kind.kept != nil && w.store.kind.kept(err) {
			*w = next
		}
		return err
	})
}

func (w *writer) add(ctx context.Context, tx *transaction, m Message) error {
	switch {
	case m.Event != nil:
		w.events++
		return insertPart(ctx, tx, w.header.ID, "event", w.events, m.Event)
	case m.Transfer != nil:
		w.transfers++
		if err := w.name(ctx, tx, m.Transfer.Result); err != nil {
			return err
		}
		return insertTransfer(ctx, tx, w.header.ID, w.transfers, m.Transfer)
	case m.Host != nil && m.Host.Side == Member:
		return w.member(ctx, tx, m.Host)
	case m.Host != nil:
		return w.host(ctx, tx, m.Host)
	case m.End != nil:
		return w.end(ctx, tx, m.End)
	}
	return nil
}

// beat says that the run goes on.
func (w *writer) beat(ctx context.Context) error {
	return w.store.steadily(ctx, func(ctx context.Context) error {
		_, err := w.store.write.ExecContext(ctx, `UPDATE run SET seen = $1 WHERE id = $2`, stamp(time.Now()), w.header.ID)
		return w.store.explain(err)
	})
}

// close ends the store's connections: a recorder has one of its own.
func (w *writer) close() error { return w.store.Close() }

// name takes the hosts' own names, as the first transfer has them.
func (w *writer) name(ctx context.Context, tx *transaction, r *bulk.Result) error {
	if r == nil || w.transfers > 1 {
		return nil
	}
	from, to := r.Client.Host, r.Server.Host
	if r.Spec.Direction == bulk.Reverse {
		from, to = to, from
	}
	if from == "" || to == "" {
		return nil
	}
	w.header.From, w.header.To = from, to
	_, err := tx.ExecContext(ctx, `UPDATE run SET sender = $1, receiver = $2 WHERE id = $3`, from, to, w.header.ID)
	return err
}

// host adds facts, and what is another setting since the run before.
func (w *writer) host(ctx context.Context, tx *transaction, h *Host) error {
	w.hosts++
	if h.When == Before && h.Is != nil {
		last, err := lastFacts(ctx, tx, h.Is.Name, w.header.ID)
		if err != nil {
			return err
		}
		if err := w.change(ctx, tx, differences(last, h.Is)); err != nil {
			return err
		}
	}
	return insertPart(ctx, tx, w.header.ID, "host", w.hosts, h)
}

// member keeps what another setting is since the host of a fleet was last looked at, and how it is now: that
// of hundreds of hosts after each run would be the same again and again.
func (w *writer) member(ctx context.Context, tx *transaction, h *Host) error {
	if h.Is == nil {
		return nil
	}
	var last *host.Facts
	var data []byte
	err := tx.QueryRowContext(ctx, `SELECT data FROM member WHERE host = $1`, h.Is.Name).Scan(&data)
	if err == nil {
		last = new(host.Facts)
		err = expand(data, last)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := w.change(ctx, tx, differences(last, h.Is)); err != nil {
		return err
	}
	if data, err = shrink(h.Is); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO member (host, run, data) VALUES ($1, $2, $3) ON CONFLICT (host) DO UPDATE SET run = $2, data = $3`, h.Is.Name, w.header.ID, data)
	return err
}

// lastFacts are the latest that a run before had of a host; nil: none.
func lastFacts(ctx context.Context, tx *transaction, name, before string) (*host.Facts, error) {
	var run string
	err := tx.QueryRowContext(ctx, `SELECT id FROM run WHERE (sender = $1 OR receiver = $1) AND id < $2
		AND EXISTS (SELECT 1 FROM part WHERE part.run = run.id AND part.kind = 'host') ORDER BY id DESC LIMIT 1`, name, before).Scan(&run)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var last *host.Facts
	err = readParts(ctx, tx, run, "host", func(data []byte) error {
		var h Host
		if err := expand(data, &h); err != nil {
			return err
		}
		if h.Is != nil && h.Is.Name == name {
			last = h.Is
		}
		return nil
	})
	return last, err
}

// differences are the settings of a host that somebody changed between two runs.
func differences(last, now *host.Facts) []Change {
	if last == nil {
		return nil
	}
	var all []Change
	if last.Version != now.Version {
		all = append(all, Change{now.Name, SystemVersion, last.Version, now.Version, BySomeone})
	}
	for _, name := range slices.Sorted(maps.Keys(now.Tunables)) {
		if old, ok := last.Tunables[name]; ok && old != now.Tunables[name] {
			all = append(all, Change{now.Name, name, old, now.Tunables[name], BySomeone})
		}
	}
	return all
}

func (w *writer) change(ctx context.Context, tx *transaction, changes []Change) error {
	before := w.changes
	w.changes += len(changes)
	return insertChanges(ctx, tx, w.header.ID, before, changes)
}

// insertChanges writes changes behind so many that the run has.
func insertChanges(ctx context.Context, tx *transaction, run string, before int, changes []Change) error {
	for i, c := range changes {
		if _, err := tx.ExecContext(ctx, `INSERT INTO change (run, n, host, tunable, old, new, who) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			run, before+i+1, c.Host, c.Tunable, c.From, c.To, string(c.Who)); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) end(ctx context.Context, tx *transaction, o *Outcome) error {
	if len(o.Document) > 0 {
		if err := insertPart(ctx, tx, w.header.ID, "document", 1, o.Document); err != nil {
			return err
		}
	}
	if err := w.change(ctx, tx, o.Changes); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE run SET state = $1, ended = $2, goodput = $3, verdict = $4, error = $5, sender = $6, receiver = $7, iops = $8 WHERE id = $9`,
		string(o.State), stamp(o.Ended), float64(o.Goodput), o.Verdict, o.Error, cmp.Or(o.From, w.header.From), cmp.Or(o.To, w.header.To), o.IOPS, w.header.ID)
	return err
}

// insertTransfer writes a transfer, its samples apart.
func insertTransfer(ctx context.Context, tx *transaction, run string, n int, t *Transfer) error {
	var rows []series
	if t.Result != nil {
		for side, end := range map[Side]*bulk.End{Near: &t.Result.Client, Far: &t.Result.Server} {
			for i := range end.Streams {
				data, err := pack(end.Streams[i].Samples)
				if err != nil {
					return err
				}
				rows = append(rows, series{run, n, side, i, data})
			}
		}
	}
	bare := *t
	bare.Result = WithoutSamples(t.Result)
	if err := insertPart(ctx, tx, run, "transfer", n, &bare); err != nil {
		return err
	}
	return tx.insertSeries(ctx, rows)
}

// WithoutSamples is a copy of a result that lacks them: they are kept by themselves.
func WithoutSamples(r *bulk.Result) *bulk.Result {
	if r == nil {
		return nil
	}
	short := *r
	for _, end := range []*bulk.End{&short.Client, &short.Server} {
		end.Streams = slices.Clone(end.Streams)
		for i := range end.Streams {
			end.Streams[i].Samples = nil
		}
	}
	return &short
}

// series is a row of the table.
type series struct {
	run      string
	transfer int
	side     Side
	stream   int
	data     []byte
}

var seriesColumns = []string{"run", "transfer", "side", "stream", "data"}

func (r *series) values() []any {
	return []any{r.run, int64(r.transfer), string(r.side), int64(r.stream), r.data}
}

// insertPart writes a part of a run as compressed JSON.
func insertPart(ctx context.Context, tx *transaction, run, kind string, n int, part any) error {
	data, err := shrink(part)
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO part (run, kind, n, data) VALUES ($1, $2, $3, $4)`, run, kind, n, data)
	return err
}

// shrink makes compressed JSON, which expand reads.
func shrink(part any) ([]byte, error) {
	text, err := json.Marshal(part)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	var data bytes.Buffer
	zip := gzip.NewWriter(&data)
	_, err = zip.Write(text)
	if err := errors.Join(err, zip.Close()); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return data.Bytes(), nil
}
