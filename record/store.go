package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fullbore/fullbore/statedir"
)

// Store is where runs are kept: a file of SQLite, or a PostgreSQL server. It is
// safe for concurrent use, by several processes too.
type Store struct {
	place string  // as people may see it: without a password
	write *sql.DB // one connection where there is one writer by design
	read  *sql.DB
	kind  database
}

// database is what differs between the two.
type database struct {
	lock string                                                          // a statement after which nobody else migrates, until the transaction ends
	size func(ctx context.Context, s *Store) (int64, error)              // bytes on disk
	tidy func(ctx context.Context, s *Store) error                       // gives disk space back after much was removed
	full func(error) bool                                                // the disk is
	away func(error) bool                                                // the server is, and may come back; nil: there is none
	kept func(error) bool                                                // what was to be written is there already; nil with away
	copy func(ctx context.Context, tx *transaction, rows []series) error // many rows at once; nil: one by one
}

// Variable names the environment's variable that says where runs are kept.
const Variable = "FULLBORE_RECORD"

// Nowhere is its value for: do not keep any.
const Nowhere = "none"

// ErrNowhere says that runs are not kept.
var ErrNowhere = errors.New("runs are not kept: " + Variable + " is " + Nowhere)

// Place is where runs are kept: what FULLBORE_RECORD says (a file, or
// postgres://…), or record.db in the user's state folder. Nowhere: they are not.
func Place() (string, error) {
	if place := os.Getenv(Variable); place != "" {
		return place, nil
	}
	return statedir.For("record.db")
}

// Open opens the store at a place, and makes it if it is not there yet.
func Open(ctx context.Context, place string) (*Store, error) {
	var s *Store
	var err error
	switch {
	case place == Nowhere:
		return nil, ErrNowhere
	case strings.HasPrefix(place, "postgres://"), strings.HasPrefix(place, "postgresql://"):
		s, err = openPostgres(place)
	case strings.Contains(place, "://"):
		return nil, fmt.Errorf("%s: use the name of a file, postgres://…, or %s", place, Nowhere)
	default:
		var name string
		if name, err = filepath.Abs(place); err == nil {
			s, err = openSQLite(ctx, name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the record: %w", err)
	}
	if err := s.migrate(ctx); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("open the record in %s: %w", s.place, s.explain(err))
	}
	return s, nil
}

// Place is where the store is, without a password.
func (s *Store) Place() string { return s.place }

// Close ends all connections.
func (s *Store) Close() error {
	err := s.write.Close()
	if s.read != s.write {
		err = errors.Join(s.read.Close(), err)
	}
	return err
}

// Size is what the record takes on disk, in bytes.
func (s *Store) Size(ctx context.Context) (int64, error) { return s.kind.size(ctx, s) }

// transaction is one on a connection that is known.
type transaction struct {
	*sql.Tx
	conn  *sql.Conn
	store *Store
}

// insertSeries writes rows of the table series.
func (tx *transaction) insertSeries(ctx context.Context, rows []series) error {
	if tx.store.kind.copy != nil {
		return tx.store.kind.copy(ctx, tx, rows)
	}
	for i := range rows {
		if _, err := tx.ExecContext(ctx, `INSERT INTO series (run, transfer, side, stream, data) VALUES ($1, $2, $3, $4, $5)`, rows[i].values()...); err != nil {
			return err
		}
	}
	return nil
}

// change makes several changes, all or none of them.
func (s *Store) change(ctx context.Context, make func(tx *transaction) error) (err error) {
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return s.explain(err)
	}
	defer func() { _ = conn.Close() }() // back to the pool
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return s.explain(err)
	}
	if err := make(&transaction{tx, conn, s}); err != nil {
		_ = tx.Rollback() // err is why
		return s.explain(err)
	}
	return s.explain(tx.Commit())
}

// How long a server may be away, and how often it is tried meanwhile. A restart takes seconds; what is written
// waits in memory.
const (
	awayFor  = 2 * time.Minute
	tryAgain = 250 * time.Millisecond
)

// steadily writes once more what a server that went away did not confirm. If it had written it, that is
// what it says then.
func (s *Store) steadily(ctx context.Context, write func(context.Context) error) error {
	err := write(ctx)
	for since := time.Now(); err != nil && s.kind.away != nil && s.kind.away(err) && time.Since(since) < awayFor; {
		select {
		case <-time.After(tryAgain):
		case <-ctx.Done():
			return err
		}
		if err = write(ctx); err != nil && s.kind.kept(err) {
			return nil
		}
	}
	return err
}

// ErrFull says that the disk of the record is full.
var ErrFull = errors.New("its disk is full: make room there")

// explain says what to do about an error.
func (s *Store) explain(err error) error {
	if err != nil && s.kind.full(err) {
		return fmt.Errorf("%w (%w)", ErrFull, err)
	}
	return err
}

// stamp is a time as the tables have it: nanoseconds since 1970, 0 for none.
func stamp(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// timeOf is the reverse of stamp.
func timeOf(stamp int64) time.Time {
	if stamp == 0 {
		return time.Time{}
	}
	return time.Unix(0, stamp).UTC()
}
