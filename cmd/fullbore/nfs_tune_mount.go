package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// keepMount keeps what made reads through a mount faster: its read-ahead at once, on the mount
// in use; its connections by the change of the line that mounts it, which is made by hand.
func (c *nfsTuneCmd) keepMount(app *app, m *climb.Mount, r *climb.Result) (changed []record.Change) {
	from, to := m.Begin(), r.Best()
	if to.Depth > from.Depth && m.InOrder() > 0 {
		name, ahead := tunable.Join("nfs.read_ahead_kb", m.Place.Point), m.ReadAhead(to)
		for i := range r.Kept {
			if r.Kept[i].Setting == string(climb.Depth) {
				r.Kept[i].Setting, r.Kept[i].From, r.Kept[i].To = name, kibibytes(*m.Place.ReadAhead), kibibytes(*ahead)
			}
		}
		changed = c.keepReadAhead(app, m, r, change.Setting{Tunable: name, Value: kibibytes(*ahead)})
	}
	if to.Connections > from.Connections {
		n := strconv.Itoa(to.Connections)
		r.Advise("connections are fixed when %s is mounted: unmount it, and mount it with nconnect=%s; in the trials with more than %s %d reads succeeded, none failed, and the slowest took %s; watch for hangs all the same, as not all servers take many connections of one client well",
			m.Place.Point, n, unit.Count(from.Connections, "connection"), m.Reads, unit.Milliseconds(m.Slowest))
		if edit := m.Place.Keeps("/", "nconnect", n); edit != nil {
			r.Diff = edit.Diff()
			r.Advise("the line of %s that mounts it is to have nconnect=%s (below, as patch takes it)", edit.File, n)
		}
	}
	if r.Windows() && to.Connections == from.Connections {
		r.Advise("the connections of %s were opened with the windows of before: unmount and mount it, so that it has the new ones", m.Place.Point)
	}
	if to != from {
		r.Advise("what holds reads back then, fullbore nfs diagnose %s says", m.Place.File)
	}
	return changed
}

// kibibytes are how the kernel has a read-ahead, rounded up.
func kibibytes(size unit.Size) string {
	return strconv.FormatInt(int64((size+unit.KiB-1)/unit.KiB), 10)
}

// keepReadAhead sets that of the mount in use, journalled as every change is.
func (c *nfsTuneCmd) keepReadAhead(app *app, m *climb.Mount, r *climb.Result, set change.Setting) []record.Change {
	known, _ := tunable.Lookup("linux", set.Tunable)
	if known == nil {
		return nil
	}
	steps := known.Fill(set.Tunable, set.Value, m.Place.Point)
	if c.Apply == "none" {
		r.Advise("a read-ahead of %s KiB is proven, and not set (--apply none): %s", set.Value, steps.Live)
		return nil
	}
	id, err := keepLive(app.ctx, set)
	if err != nil {
		r.Advise("a read-ahead of %s KiB helps, and could not be set (%v): %s", set.Value, err, steps.Live)
		return nil
	}
	r.Advise("%s of %s is %s now, until it is unmounted; to undo it: fullbore revert %s; to keep it over a remount: %s", known.Name, m.Place.Point, set.Value, id, steps.Persist)
	name, _ := os.Hostname() // a host without a name keeps its runs too
	return []record.Change{{Host: name, Tunable: set.Tunable, From: kibibytes(*m.Place.ReadAhead), To: set.Value, Who: record.ByTune}}
}

// liveWithin is how long a change may take that is kept as soon as it is made.
const liveWithin = 30 * time.Second

// keepLive makes one change of this host, and keeps it until the next boot.
func keepLive(ctx context.Context, set change.Setting) (id string, err error) {
	manager, err := localChanges()
	if err != nil {
		return "", err
	}
	held := &change.Held{Host: manager, Reason: "nfs tune", Within: liveWithin}
	if err = held.Bring(ctx, map[string]string{set.Tunable: set.Value}); err == nil {
		if err = manager.Confirm(ctx, held.ID, false); err == nil {
			return held.ID, nil
		}
	}
	if held.ID == "" {
		return "", err
	}
	if _, reverted := manager.Revert(context.WithoutCancel(ctx), held.ID); reverted != nil {
		err = errors.Join(err, fmt.Errorf("revert change set %s: %w", held.ID, reverted))
	}
	return "", err
}
