package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/report"
)

// looks are those at the flows of this host, one after the other.
type looks struct {
	watcher   *flow.Watcher
	selection *report.Selection // of what is shown: keys change it
	exporter  *exporter         // nil: no metrics
}

// look gives all flows, after it has published them. It leaves the selection
// alone, which keys may change meanwhile.
func (l *looks) look(ctx context.Context) (*flow.Snapshot, error) {
	look, err := l.watcher.Look(ctx)
	if err != nil {
		return nil, err
	}
	if l.exporter != nil {
		err = l.exporter.publish(look)
	}
	return look, err
}

// selected gives those flows of a look that are selected.
func (l *looks) selected(look *flow.Snapshot) []flow.Flow { return l.selection.Of(look.Flows) }

// hint tells of a process that has no flow, which may be a typing error.
func (l *looks) hint(w io.Writer, look *flow.Snapshot) {
	names := map[string]bool{}
	for i := range look.Flows {
		names[printable.Line(look.Flows[i].Process)] = true
	}
	delete(names, "")
	for _, process := range l.selection.Processes {
		one := report.Selection{Processes: []string{process}, Idle: true}
		if len(one.Of(look.Flows)) > 0 {
			continue
		}
		others := "no process whose name is known has one"
		if len(names) > 0 {
			known := slices.Sorted(maps.Keys(names))
			others = "these have: " + strings.Join(known[:min(len(known), 20)], ", ")
		}
		fmt.Fprintf(w, "  note: no flow is of the process %q; %s\n", process, others)
	}
}
