package record

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed migrations/*.sql
var migrations embed.FS

// steps are the texts of all migrations, oldest first: the store's version is
// how many of them it has seen. They only go forward.
func steps() ([]string, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// ErrNewer says that a newer fullbore has written to the store.
var ErrNewer = errors.New("a newer version of fullbore keeps its runs there: use that version, or another place with " + Variable)

// migrate brings the store to this version. Of several processes that open it at
// the same time one does it, and the others wait.
func (s *Store) migrate(ctx context.Context) error {
	texts, err := steps()
	if err != nil {
		return err
	}
	if version, err := storeVersion(ctx, s.write); err == nil && version == len(texts) {
		return nil // the usual case, without a lock
	}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to do once it is committed
	for _, statement := range []string{s.kind.lock, `CREATE TABLE IF NOT EXISTS store (version BIGINT NOT NULL)`} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	version, err := storeVersion(ctx, tx)
	switch {
	case err != nil:
		return err
	case version > len(texts):
		return fmt.Errorf("%w (its version is %d, this one knows %d)", ErrNewer, version, len(texts))
	case version < 0:
		return fmt.Errorf("its version is %d: this is no record of fullbore", version)
	}
	for _, text := range texts[version:] {
		for statement := range strings.SplitSeq(text, ";\n") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("bring it from version %d to %d: %w", version, len(texts), err)
			}
		}
	}
	for _, statement := range []string{`DELETE FROM store`, fmt.Sprintf(`INSERT INTO store (version) VALUES (%d)`, len(texts))} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// storeVersion is how many migrations a store has seen.
func storeVersion(ctx context.Context, from interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (version int, err error) {
	err = from.QueryRowContext(ctx, `SELECT version FROM store`).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return version, err
}
