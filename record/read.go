package record

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// list calls with each run, the latest first.
func (s *Store) list(ctx context.Context, f Filter, call func(Header) error) error {
	where, args := f.where()
	query := `SELECT ` + headerColumns + ` FROM run` + where + ` ORDER BY started DESC, id DESC`
	if f.Most > 0 {
		query += fmt.Sprintf(" LIMIT %d", f.Most)
	}
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return s.explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		h, err := scanHeader(rows)
		if err != nil {
			return err
		}
		if err := call(h); err != nil {
			return err
		}
	}
	return s.explain(rows.Err())
}

// List gives the runs that a filter means, the latest first.
func (s *Store) List(ctx context.Context, f Filter) (all []Header, err error) {
	err = s.list(ctx, f, func(h Header) error {
		all = append(all, h)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list runs of %s: %w", s.place, err)
	}
	return all, nil
}

// dead is the time after which a run that wrote nothing is taken for killed: some
// times what is between two signs of life.
const dead = 4 * beat

// headerColumns are those that scanHeader reads.
const headerColumns = `id, kind, state, started, ended, seen, command, version, far, scenario, sender, receiver, goodput, verdict, tags, error, iops`

func scanHeader(rows *sql.Rows) (Header, error) {
	h := Header{Schema: Schema}
	var started, ended, seen int64
	var command, tags string
	var goodput float64
	err := rows.Scan(&h.ID, (*string)(&h.Kind), (*string)(&h.State), &started, &ended, &seen, &command, &h.Version, &h.Far, &h.Scenario, &h.From, &h.To, &goodput, &h.Verdict, &tags, &h.Error, &h.IOPS)
	if err != nil {
		return h, err
	}
	h.Started, h.Ended, h.Goodput = timeOf(started), timeOf(ended), unit.Rate(goodput)
	if err := errors.Join(json.Unmarshal([]byte(command), &h.Command), json.Unmarshal([]byte(tags), &h.Tags)); err != nil {
		return h, fmt.Errorf("run %s: %w", h.ID, err)
	}
	if h.State == Running && time.Since(timeOf(seen)) > dead {
		h.State, h.Ended, h.Error = Interrupted, timeOf(seen), "its process was killed"
	}
	return h, nil
}

// ErrNoRun says that there is no such run.
var ErrNoRun = errors.New("no such run")

// Latest names the latest run.
const Latest = "last"

// Find gives the identifier of a run by its beginning or its end, of at least four
// characters, or the latest one.
func (s *Store) Find(ctx context.Context, name string) (string, error) {
	query, arg := `SELECT id FROM run WHERE id LIKE $1 OR id LIKE $2 ORDER BY id DESC LIMIT 2`, strings.ToLower(name)
	switch {
	case name == Latest:
		query, arg = `SELECT id FROM run WHERE id > $1 OR id > $2 ORDER BY id DESC LIMIT 1`, ""
	case len(name) < 4 || strings.Trim(arg, "0123456789abcdef-") != "":
		return "", fmt.Errorf("%w: %q is not the identifier of one, nor its first or last four characters or more, nor %q", ErrNoRun, name, Latest)
	}
	first, second := arg+"%", "%"+arg
	if name == Latest {
		first, second = "", ""
	}
	rows, err := s.read.QueryContext(ctx, query, first, second)
	if err != nil {
		return "", s.explain(err)
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return "", err
		}
		found = append(found, id)
	}
	switch {
	case rows.Err() != nil:
		return "", s.explain(rows.Err())
	case len(found) == 0:
		return "", fmt.Errorf("%w as %q in %s", ErrNoRun, name, s.place)
	case len(found) > 1:
		return "", fmt.Errorf("%w alone: %q is %s, %s, and may be more", ErrNoRun, name, found[0], found[1])
	}
	return found[0], nil
}

// Load gives a whole run.
func (s *Store) Load(ctx context.Context, id string) (*Run, error) {
	r, err := s.load(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("load run %s from %s: %w", id, s.place, err)
	}
	return r, nil
}

func (s *Store) load(ctx context.Context, id string) (*Run, error) {
	// One transaction, so that all parts are of one moment.
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, s.explain(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was changed
	rows, err := tx.QueryContext(ctx, `SELECT `+headerColumns+` FROM run WHERE id = $1`, id)
	if err != nil {
		return nil, s.explain(err)
	}
	if !rows.Next() {
		return nil, errors.Join(ErrNoRun, rows.Err(), rows.Close())
	}
	r := &Run{}
	r.Header, err = scanHeader(rows)
	if err := errors.Join(err, rows.Close()); err != nil {
		return nil, err
	}
	err = readParts(ctx, tx, id, "document", func(data []byte) error { return expand(data, &r.Document) })
	err = errors.Join(err, readAll(ctx, tx, id, "event", &r.Events))
	err = errors.Join(err, readAll(ctx, tx, id, "transfer", &r.Transfers))
	err = errors.Join(err, readAll(ctx, tx, id, "host", &r.Hosts))
	err = errors.Join(err, readSeries(ctx, tx, r), readChanges(ctx, tx, r), readFlows(ctx, tx, r), readShifts(ctx, tx, r))
	if err != nil {
		return nil, err
	}
	return r, nil
}

// reader is a connection or a transaction.
type reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// readParts calls with each part of a kind, in their order.
func readParts(ctx context.Context, from reader, run, kind string, call func(data []byte) error) error {
	rows, err := from.QueryContext(ctx, `SELECT n, data FROM part WHERE run = $1 AND kind = $2 ORDER BY n`, run, kind)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		var data []byte
		if err := rows.Scan(&n, &data); err != nil {
			return err
		}
		if err := call(data); err != nil {
			return fmt.Errorf("%s %d: %w", kind, n, err)
		}
	}
	return rows.Err()
}

func readAll[T any](ctx context.Context, from reader, run, kind string, all *[]T) error {
	return readParts(ctx, from, run, kind, func(data []byte) error {
		var one T
		if err := expand(data, &one); err != nil {
			return err
		}
		*all = append(*all, one)
		return nil
	})
}

func readChanges(ctx context.Context, from reader, r *Run) error {
	rows, err := from.QueryContext(ctx, `SELECT host, tunable, old, new, who FROM change WHERE run = $1 ORDER BY n`, r.ID)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c Change
		if err := rows.Scan(&c.Host, &c.Tunable, &c.From, &c.To, (*string)(&c.Who)); err != nil {
			return err
		}
		r.Changes = append(r.Changes, c)
	}
	return rows.Err()
}

// readSeries gives the streams of a run their samples back.
func readSeries(ctx context.Context, from reader, r *Run) error {
	rows, err := from.QueryContext(ctx, `SELECT transfer, side, stream, data FROM series WHERE run = $1`, r.ID)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var row series
		if err := rows.Scan(&row.transfer, (*string)(&row.side), &row.stream, &row.data); err != nil {
			return err
		}
		samples, err := unpack(row.data)
		if err != nil {
			return fmt.Errorf("transfer %d, %s, stream %d: %w", row.transfer, row.side, row.stream, err)
		}
		if s := r.stream(row); s != nil {
			s.Samples = samples
		}
	}
	return rows.Err()
}

// stream is the one that a row of samples belongs to; nil if there is none.
func (r *Run) stream(row series) *bulk.Stream {
	if row.transfer < 1 || row.transfer > len(r.Transfers) || r.Transfers[row.transfer-1].Result == nil {
		return nil
	}
	end := &r.Transfers[row.transfer-1].Result.Client
	if row.side == Far {
		end = &r.Transfers[row.transfer-1].Result.Server
	}
	if row.stream < 0 || row.stream >= len(end.Streams) {
		return nil
	}
	return &end.Streams[row.stream]
}

// largestPart of a run, unpacked: the document of 256 streams is some 50 MB.
const largestPart = 256 << 20

// errTooLarge says that a part of a run is larger than it may be.
var errTooLarge = errors.New("it is too large")

// expand reads compressed JSON.
func expand(data []byte, into any) error { return expandUpTo(largestPart, data, into) }

// expandUpTo reads compressed JSON that has at most so many bytes.
func expandUpTo(most int64, data []byte, into any) error {
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(zip, most+1))
	if err != nil {
		return err
	}
	if int64(len(text)) > most {
		return fmt.Errorf("%w: more than %d bytes", errTooLarge, most)
	}
	return json.Unmarshal(text, into)
}
