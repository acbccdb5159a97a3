package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver" // "sqlite3"
)

// openSQLite opens a file, and makes it readable for its owner only. SQLite has
// one writer: that connection takes its lock when a transaction begins, as one
// that began by reading cannot wait for another writer (SQLITE_BUSY_SNAPSHOT).
// Readers go on beside it, by the write-ahead log; that needs memory which
// processes share, so a file on a network's file system goes without.
func openSQLite(ctx context.Context, name string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	made, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := made.Close(); err != nil {
		return nil, err
	}
	s, err := connect(ctx, name, false)
	if err != nil && diskFull(err, name) {
		// What processes share needs room on the disk; a process alone does without.
		if alone, failed := connect(ctx, name, true); failed == nil {
			return alone, nil
		}
	}
	if err != nil && diskFull(err, name) {
		err = fmt.Errorf("%w (%w)", ErrFull, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// connect opens the file for this process beside others, or for it alone.
func connect(ctx context.Context, name string, alone bool) (*Store, error) {
	const patience = "busy_timeout(10000)" // ms, for another writer
	pragmas := []string{patience}
	if alone {
		pragmas = append(pragmas, "locking_mode(exclusive)")
	}
	if info, err := os.Stat(name); err == nil && info.Size() == 0 {
		pragmas = append(pragmas, "auto_vacuum(incremental)") // it writes, and only a new file takes it
	}
	if remote(name) {
		pragmas = append(pragmas, "journal_mode(delete)")
	} else {
		pragmas = append(pragmas, "journal_mode(wal)")
	}
	pragmas = append(pragmas, "foreign_keys(1)", "synchronous(full)")
	open := func(options url.Values) (*sql.DB, error) {
		return sql.Open("sqlite3", (&url.URL{Scheme: "file", Path: filepath.ToSlash(name), RawQuery: options.Encode()}).String())
	}
	write, err := open(url.Values{"_txlock": {"immediate"}, "_pragma": pragmas})
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read := write
	if !alone {
		if read, err = open(url.Values{"_pragma": {patience, "query_only(1)"}}); err != nil {
			return nil, errors.Join(err, write.Close())
		}
		read.SetMaxOpenConns(4)
	}
	s := &Store{place: name, write: write, read: read, kind: database{
		lock: `SELECT 1`, // the transaction has its lock
		size: sizeOfFiles, tidy: vacuum, full: func(err error) bool { return diskFull(err, name) },
	}}
	if err := write.PingContext(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// sizeOfFiles is that of the database and what lies beside it.
func sizeOfFiles(_ context.Context, s *Store) (int64, error) {
	var size int64
	for _, ending := range []string{"", "-wal", "-shm", "-journal"} {
		info, err := os.Stat(s.place + ending)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		size += info.Size()
	}
	return size, nil
}

func vacuum(ctx context.Context, s *Store) error {
	for _, statement := range []string{`PRAGMA incremental_vacuum`, `PRAGMA wal_checkpoint(TRUNCATE)`} {
		rows, err := s.write.QueryContext(ctx, statement)
		if err != nil {
			return s.explain(err)
		}
		for rows.Next() { // it works as it is read
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return s.explain(err)
		}
	}
	return nil
}

// littleRoom is less than what the write-ahead log and its index grow by at a time.
const littleRoom = 64 << 10

// diskFull says whether an error comes from a full disk: also where it shows as one of
// reading or writing, as when the log's index cannot grow.
func diskFull(err error, name string) bool {
	if errors.Is(err, sqlite3.FULL) {
		return true
	}
	left := room(name)
	return errors.Is(err, sqlite3.IOERR) && left >= 0 && left < littleRoom
}
