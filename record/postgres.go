package record

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// openPostgres prepares for a server; nothing is asked of it yet. Everything is
// kept in a schema of its own.
func openPostgres(place string) (*Store, error) {
	config, err := pgx.ParseConfig(place)
	if err != nil {
		return nil, err // pgx leaves the password out
	}
	config.RuntimeParams["search_path"] = "fullbore"
	config.RuntimeParams["application_name"] = "fullbore"
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS fullbore`)
		var failed *pgconn.PgError
		if errors.As(err, &failed) && (failed.Code == "23505" || failed.Code == "42501") {
			return nil // another one made it in this moment, or the administrator did and lets this user not
		}
		return err
	}))
	db.SetMaxOpenConns(4)
	return &Store{place: visible(config), write: db, read: db, kind: database{
		lock: `SELECT pg_advisory_xact_lock(7310868778951434853)`, // the bytes of "fullbore"
		size: sizeOfTables,
		tidy: func(context.Context, *Store) error { return nil }, // autovacuum does
		full: func(err error) bool {
			var failed *pgconn.PgError
			return errors.As(err, &failed) && failed.Code == "53100" // disk_full
		},
		away: isAway,
		kept: func(err error) bool {
			var failed *pgconn.PgError
			return errors.As(err, &failed) && failed.Code == "23505" // unique_violation
		},
		copy: copySeries,
	}}, nil
}

// isAway says whether an error is of a connection to a server that stops, starts, or cannot be reached.
func isAway(err error) bool {
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		// Classes 08, connection exceptions, and 57P, operator interventions (PostgreSQL manual, appendix A).
		return strings.HasPrefix(failed.Code, "08") || strings.HasPrefix(failed.Code, "57P")
	}
	var refused *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &refused) || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}

// visible is the address of a server without its password.
func visible(c *pgx.ConnConfig) string {
	if c.User == "" {
		return "postgres://" + c.Host + "/" + c.Database
	}
	return "postgres://" + c.User + "@" + c.Host + "/" + c.Database
}

func sizeOfTables(ctx context.Context, s *Store) (size int64, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT COALESCE(SUM(pg_total_relation_size(quote_ident(schemaname) || '.' || quote_ident(tablename))), 0) FROM pg_tables WHERE schemaname = 'fullbore'`).Scan(&size)
	return size, err
}

// copySeries writes series with COPY, on the connection that the transaction has.
func copySeries(ctx context.Context, tx *transaction, rows []series) error {
	return tx.conn.Raw(func(driver any) error {
		conn := driver.(*stdlib.Conn).Conn()
		_, err := conn.CopyFrom(ctx, pgx.Identifier{"series"}, seriesColumns, pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
			return rows[i].values(), nil
		}))
		return err
	})
}
