package regular

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/fleet/pattern"
	"github.com/fullbore/fullbore/fleet/schedule"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
	"github.com/fullbore/fullbore/version"
)

var errFew = errors.New("fewer than two hosts can take part")

// takePart is which hosts do, and which should and do not.
func (k *keeper) takePart(ctx context.Context, e *schedule.Experiment, there []fleet.Member) (members []fleet.Member, left []fleet.LeftOut, err error) {
	before, err := k.before(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	spent, err := k.spent(ctx, before.moved)
	if err != nil {
		return nil, nil, err
	}
	at := map[string]fleet.Member{}
	for _, m := range there {
		at[m.Name] = m
	}
	for _, name := range wanted(e, there, before.hosts) {
		m, ok := at[name]
		if !ok {
			left = append(left, fleet.LeftOut{Host: name, Why: "not connected"})
		} else if why := spent(name); why != "" {
			left = append(left, fleet.LeftOut{Host: name, Why: why})
		} else {
			members = append(members, m)
		}
	}
	if len(members) < 2 {
		var why []string
		for _, l := range left {
			why = append(why, l.Host+" is "+l.Why)
		}
		return nil, nil, fmt.Errorf("%w: %s", errFew, cmp.Or(strings.Join(why, ", "), "no others are connected"))
	}
	if _, ok := at[e.At]; e.At != "" && !ok {
		return nil, nil, fmt.Errorf("%s, which it is about, is not connected", e.At)
	}
	return members, left, nil
}

// wanted are the names of the hosts of an experiment; where it names none, those that are there, and those that were
// before.
func wanted(e *schedule.Experiment, there []fleet.Member, before []string) (names []string) {
	if len(e.Hosts) > 0 {
		return e.Hosts
	}
	for _, m := range there {
		names = append(names, m.Name)
	}
	for _, name := range before {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// before is what an experiment was like when it last ran to its end: one that was cut short has fewer flows.
type before struct {
	hosts []string
	moved map[string]int64 // bytes, by each host
}

// mostOfDocument bounds what is read of an earlier run.
const mostOfDocument = 64 << 20

func (k *keeper) before(ctx context.Context, e *schedule.Experiment) (b before, err error) {
	runs, err := k.store.List(ctx, record.Filter{Kind: record.Fleet, Tag: e.Name, State: record.Done, Most: 1})
	if err != nil || len(runs) == 0 {
		return b, err
	}
	var result fleet.Result
	if _, err := k.store.Document(ctx, runs[0].ID, mostOfDocument, &result); err != nil {
		return b, err
	}
	b.hosts = result.Hosts
	b.moved, err = k.store.MovedIn(ctx, runs[0].ID)
	return b, err
}

// daily is the time for which a schedule bounds the traffic.
const daily = 24 * time.Hour

// spent says of a host why it may not take part: with what it moved in the last day, and what it did when the
// experiment was last run, it would move more than it may. Of one that was never in it nothing is expected.
func (k *keeper) spent(ctx context.Context, expected map[string]int64) (func(name string) string, error) {
	if k.Schedule.Daily == 0 {
		return func(string) string { return "" }, nil
	}
	moved, err := k.store.Moved(ctx, time.Now().Add(-daily))
	return func(name string) string {
		if moved[name]+expected[name] <= int64(k.Schedule.Daily) {
			return ""
		}
		return fmt.Sprintf("over its traffic: it moved %v in 24 h, this experiment takes %v, and it may have %v", unit.Size(moved[name]), unit.Size(expected[name]), k.Schedule.Daily)
	}, err
}

// header is that of a run of an experiment.
func header(command []string, e *schedule.Experiment) record.Header {
	return record.Header{Kind: record.Fleet, Command: command, Version: version.String(), From: "many hosts", To: "each other", Tags: []string{e.Name}}
}

// experimentOf is what a schedule asks for, between those hosts.
func experimentOf(e *schedule.Experiment, members []fleet.Member) (x fleet.Experiment, err error) {
	x = fleet.Experiment{Spec: e.Spec()}
	if e.Verb == schedule.Diagnose {
		x.Kind = job.Diagnosis
	}
	if x.Pattern, err = pattern.Named(e.Pattern); err != nil {
		return x, err
	}
	if e.At != "" {
		x.Centre = slices.IndexFunc(members, func(m fleet.Member) bool { return m.Name == e.At })
	}
	return x, nil
}

// looks is how many hosts are asked what they are like at the same time.
const looks = 16

// look keeps what became different on hosts since they were last looked at. What one does not say is not kept:
// measuring matters more.
func look(ctx context.Context, members []fleet.Member, recorder *record.Recorder) {
	var all errgroup.Group
	all.SetLimit(looks)
	for _, m := range members {
		of, ok := m.Host.(interface {
			Facts(context.Context) (*host.Facts, error)
		})
		if !ok {
			continue
		}
		all.Go(func() error {
			if facts, err := of.Facts(ctx); err == nil {
				own := *facts
				own.Name = m.Name // as the experiment has it
				recorder.Host(record.Host{Side: record.Member, When: record.Before, Is: &own})
			}
			return nil
		})
	}
	_ = all.Wait()
}

// keep keeps what came of flows: see [fleet.Keep].
func (k *keeper) keep(ctx context.Context, results []*job.Result) error {
	var flows []record.Flow
	name := ""
	for _, r := range results {
		data, err := json.Marshal(r.Status)
		if err != nil {
			return err
		}
		f := record.Flow{
			Run: r.Part.Experiment, Round: r.Part.Round, N: r.Part.Flow, From: r.Part.From, To: r.Part.To,
			Kind: string(r.Kind), Ended: r.Ended, Bytes: r.Bytes(), Error: r.Status.Error, Data: data,
		}
		if o := r.Status.Outcome; o != nil {
			f.Goodput = unit.Rate(o.Goodput)
		}
		if d := r.Status.Finding; d != nil {
			f.Goodput = unit.Rate(d.Goodput)
		}
		flows, name = append(flows, f), r.Part.Name
	}
	_, err := k.store.KeepFlows(ctx, name, flows)
	return err
}
