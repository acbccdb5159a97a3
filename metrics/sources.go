package metrics

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/record"
)

// ThisHost is what this user's fullbore knows of this host: where it keeps its runs,
// the flows that run, the journals of its changes. Who is a far end adds Serving.
func ThisHost(log *slog.Logger) Sources {
	return Sources{Record: openRecord, Flows: watchFlows, Changes: readJournals, Log: log}
}

// openRecord opens the store of runs. It is made when the first run is kept, not by
// asking for what is in it.
func openRecord(ctx context.Context) (*record.Store, error) {
	place, err := record.Place()
	if err != nil {
		return nil, err
	}
	if place != record.Nowhere && !strings.Contains(place, "://") {
		if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return record.Open(ctx, place)
}

func watchFlows() (Looker, error) {
	watcher, err := flow.New()
	if err != nil {
		return nil, err // not the watcher: a nil one in an interface would be there
	}
	return watcher, nil
}

func readJournals() ([]change.Set, error) {
	manager, err := change.NewManager(change.DefaultDir(), change.Kernel{})
	if err != nil {
		return nil, fmt.Errorf("find the journals of changes: %w", err)
	}
	return manager.Journals()
}
