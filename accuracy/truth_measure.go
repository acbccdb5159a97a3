package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/statedir"
)

// Runs of each configuration: as many as it takes to decide, between these.
const (
	fewestRuns = 2
	mostRuns   = 6
)

// steady is how long a transfer of a drawn path is measured, and what is left out before: congestion controls need some round trips to
// come to their mean rate.
func (d *drawn) steady() (measured, omitted time.Duration) {
	rtt := d.Path.RTT()
	return min(max(8*time.Second, 60*rtt), 18*time.Second), min(max(2*time.Second, 20*rtt), 6*time.Second)
}

// hash names the truth of a path: another scenario, or another time to measure, is another truth.
func (d *drawn) hash() (string, error) {
	text, err := d.document.text()
	if err != nil {
		return "", err
	}
	measured, omitted := d.steady()
	sum := sha256.Sum256(fmt.Append(text, truthSchema, measured, omitted))
	return hex.EncodeToString(sum[:12]), nil
}

// truthOf is the one that is kept in a directory, or else none.
func truthOf(dir string, d *drawn) (*truth, string, error) {
	hash, err := d.hash()
	if err != nil {
		return nil, "", err
	}
	file := filepath.Join(dir, hash+".json")
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, file, nil
	}
	t := new(truth)
	if err == nil {
		err = json.Unmarshal(data, t)
	}
	if err == nil && t.Schema != truthSchema {
		err = fmt.Errorf("it is of schema %q, this is %q", t.Schema, truthSchema)
	}
	if err != nil {
		return nil, file, fmt.Errorf("read the truth of %s in %s: %w", d.Name, file, err)
	}
	return t, file, nil
}

// truths measures what is not known yet of drawn paths, slow ones several at a time, and keeps it as it comes. What it prints is a line for each path.
func (b *bench) truths(ctx context.Context, paths []*drawn, out io.Writer) error {
	var slow, fast []*drawn
	for _, d := range paths {
		known, _, err := truthOf(b.keep, d)
		if err != nil {
			return err
		}
		switch {
		case known != nil:
		case d.Path.AToB.Rate <= lowRate && d.Hosts.A.CPUs == 0 && d.Hosts.B.CPUs == 0:
			slow = append(slow, d)
		default:
			fast = append(fast, d)
		}
	}
	fmt.Fprintf(out, "%d of %d paths are known; %d are measured one at a time, %d up to %d at a time\n", len(paths)-len(slow)-len(fast), len(paths), len(fast), len(slow), b.jobs)
	var mu sync.Mutex
	done := 0
	each := func(paths []*drawn, workers int) error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(workers)
		for _, d := range paths {
			group.Go(func() error {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				t := b.experiment(ctx, d)
				if ctx.Err() != nil { // it was cut short
					return context.Cause(ctx)
				}
				if err := keepTruth(b.keep, d, t); err != nil {
					return err
				}
				l := t.label()
				mu.Lock()
				defer mu.Unlock()
				done++
				fmt.Fprintf(out, "%3d/%d %-16s planted %-40s is %-40s x %.3g %s\n", done, len(slow)+len(fast), d.Name, fmt.Sprint(t.Planted), l.String(), l.gain, t.Problem)
				return nil
			})
		}
		return group.Wait()
	}
	if err := each(fast, 1); err != nil {
		return err
	}
	return each(slow, b.jobs)
}

func keepTruth(dir string, d *drawn, t *truth) error {
	_, file, err := truthOf(dir, d)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return statedir.Keep(file, append(data, '\n'))
}

// experiment measures a path as it is and with each cure, in turns, until it is decided what limits it.
func (b *bench) experiment(ctx context.Context, d *drawn) *truth {
	t := &truth{Schema: truthSchema, Name: d.Name, RTT: d.Path.RTT(), Planted: append([]string{}, d.planted...), AsIs: []reading{}, Healed: map[string][]reading{}}
	cures := d.cures()
	for cause := range cures {
		t.Healed[cause] = []reading{}
	}
	for run := range mostRuns {
		if run >= fewestRuns {
			if l := t.label(); l.known() {
				break
			}
		}
		if r, err := b.transfer(ctx, d, d.document, "as-is", run); b.counts(t, err) {
			t.AsIs = append(t.AsIs, r)
		}
		for _, cause := range t.tried() {
			if r, err := b.transfer(ctx, d, cures[cause], cause, run); b.counts(t, err) {
				t.Healed[cause] = append(t.Healed[cause], r)
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return t
}

// counts says whether a transfer is a reading, and notes why one is not.
func (b *bench) counts(t *truth, err error) bool {
	switch {
	case err == nil:
		return true
	case errors.Is(err, lab.ErrInvalid):
		t.Invalid++
	default:
		t.Problem = err.Error()
	}
	return false
}

// transfer is one of some seconds in a scenario.
func (b *bench) transfer(ctx context.Context, d *drawn, scenario document, name string, run int) (reading, error) {
	scenario = scenario.clone()
	scenario.reseed(run)
	file, err := scenario.write(b.dir, fmt.Sprintf("%s.%s.%d", d.Name, name, run))
	if err != nil {
		return reading{}, err
	}
	defer func() { _ = os.Remove(file) }()
	measured, omitted := d.steady()
	var document struct {
		FullBore bulk.Result `json:"fullbore"`
	}
	err = b.call(ctx, &document, "test", "--json", "--no-record", "--lab", file, "--time", seconds(measured.Seconds()), "--omit", seconds(omitted.Seconds()), "--parallel", strconv.Itoa(1))
	if err != nil {
		if d.deadly(name) && !errors.Is(err, lab.ErrInvalid) && ctx.Err() == nil { // nothing arrives, and that is measured, too
			return reading{}, nil
		}
		return reading{}, err
	}
	f := document.FullBore.Figures(bulk.Forward)
	r := reading{Goodput: f.Goodput}
	if f.LoadedRTT != nil {
		r.RTT = f.LoadedRTT.P95
	}
	return r, nil
}

// deadly says whether the path may let nothing through at all, with what was healed.
func (d *drawn) deadly(healed string) bool {
	for _, cause := range d.planted {
		switch cause {
		case diagnose.MTUBlackHole, diagnose.RandomLoss, diagnose.LinkErrors, diagnose.ReversePath, diagnose.SenderCPU, diagnose.ReceiverCPU:
			if cause != healed && healed != allOfThem {
				return true
			}
		}
	}
	return false
}
