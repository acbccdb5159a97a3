package metrics

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/fullbore/fullbore/exposition"
	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/record"
)

// Bounds of what a hub's schedule makes a store of metrics keep.
const (
	mostExperiments = 50
	mostMembers     = 200      // hosts whose traffic has series of their own: those that moved most
	mostOfResult    = 64 << 20 // bytes of a run's document
	mostShifts      = 10_000
)

// Times that are looked back at.
const (
	trafficFor = 24 * time.Hour
	shiftsFor  = 7 * 24 * time.Hour
)

// experiments adds what the experiments of a hub's schedule came to the last time that they had a result, and what
// each host moved for them.
func experiments(ctx context.Context, store *record.Store, m *exposition.Text) error {
	names, err := store.Experiments(ctx, mostExperiments)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := experiment(ctx, store, m, name); err != nil {
			return err
		}
	}
	moved, err := store.Moved(ctx, time.Now().Add(-trafficFor))
	if err != nil {
		return err
	}
	hosts := slices.SortedFunc(maps.Keys(moved), func(a, b string) int {
		return cmp.Or(cmp.Compare(moved[b], moved[a]), cmp.Compare(a, b))
	})
	for _, host := range hosts[:min(mostMembers, len(hosts))] {
		m.Gauge("experiment_traffic_bytes", "What a host sent and received for experiments in 24 hours.", float64(moved[host]), "host", host)
	}
	return nil
}

func experiment(ctx context.Context, store *record.Store, m *exposition.Text, name string) error {
	shifts, err := store.Shifts(ctx, name, mostShifts)
	if err != nil {
		return err
	}
	recent := 0
	for i := range shifts {
		if time.Since(shifts[i].Found) < shiftsFor {
			recent++
		}
	}
	gauge := func(what, help string, v float64, more ...string) {
		m.Gauge("experiment_"+what, help, v, append([]string{"experiment", name}, more...)...)
	}
	gauge("shifts", "Hosts and ways that moved to another level, found in the last seven days.", float64(recent))
	runs, err := store.List(ctx, record.Filter{Kind: record.Fleet, Tag: name, State: record.Done, Most: 1})
	if err != nil || len(runs) == 0 {
		return err
	}
	var r fleet.Result
	if found, err := store.Document(ctx, runs[0].ID, mostOfResult, &r); err != nil || !found {
		return err
	}
	gauge("start_timestamp_seconds", "When the last run of an experiment with a result began.", float64(runs[0].Started.UnixMilli())/1000)
	if g := float64(runs[0].Goodput); known(g) {
		gauge("goodput_bytes_per_second", "What is usual between two of its hosts, or what all flows came to together where not each sent to each.", g/8)
	}
	measured, failed := r.Flows()
	gauge("flows", "Flows of its last run.", float64(measured), "outcome", "measured")
	gauge("flows", "Flows of its last run.", float64(failed), "outcome", "failed")
	gauge("hosts", "Hosts of its last run.", float64(len(r.Hosts)), "state", "took part")
	gauge("hosts", "Hosts of its last run.", float64(len(r.LeftOut)), "state", "left out")
	if r.Sick != nil {
		gauge("sick", "Hosts and links that are not like the others, of its last run.", float64(len(r.Sick.Hosts)), "kind", "host")
		gauge("sick", "Hosts and links that are not like the others, of its last run.", float64(len(r.Sick.Links)), "kind", "link")
	}
	return nil
}
