package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/fullbore/fullbore/unit"
)

// lowRate is up to where scenarios do not disturb each other on one machine.
const lowRate = 50 * unit.Mbps

// job is one run of one scenario.
type job struct {
	*entry
	run int
}

// name is what its files are called.
func (j *job) name() string { return fmt.Sprintf("%s.%d", j.Name, j.run+1) }

// measure runs the scenarios for real.
func (o *options) measure(ctx context.Context, all []entry, p *progress) ([]outcome, error) {
	if o.fullbore == "" {
		remove, err := o.build(ctx)
		if err != nil {
			return nil, err
		}
		defer remove()
	}
	dir, err := os.MkdirTemp("", "fullbore-accuracy")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	b := &bench{options: o, dir: dir, keep: o.record}
	if b.keep == "" {
		b.keep = dir
	} else if err := os.MkdirAll(b.keep, 0o755); err != nil {
		return nil, err
	}
	slow, fast := o.jobsOf(all)
	p.all = len(slow) + len(fast)
	outcomes := b.run(ctx, slow, o.jobs, p)
	outcomes = append(outcomes, b.run(ctx, fast, 1, p)...)
	return outcomes, ctx.Err()
}

// jobsOf are the runs, those that may share the machine apart.
func (o *options) jobsOf(all []entry) (slow, fast []job) {
	for i := range all {
		e := &all[i]
		runs := o.seeds
		if e.healthy() {
			runs = o.healthy
		}
		for run := range runs {
			if j := (job{e, run}); e.Path.AToB.Rate <= lowRate && e.Hosts.A.CPUs == 0 && e.Hosts.B.CPUs == 0 {
				slow = append(slow, j)
			} else {
				fast = append(fast, j)
			}
		}
	}
	return slow, fast
}

// bench is where runs are made.
type bench struct {
	*options
	dir  string // for scenario files
	keep string // for evidence
}

// run does the jobs, so many at a time, and gives the outcomes in the jobs' order.
func (b *bench) run(ctx context.Context, jobs []job, workers int, p *progress) []outcome {
	outcomes := make([]outcome, len(jobs))
	next := make(chan int)
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for i := range next {
				outcomes[i] = b.diagnose(ctx, &jobs[i])
				p.add(&outcomes[i])
			}
		})
	}
	began := 0
	for ; began < len(jobs) && ctx.Err() == nil; began++ {
		next <- began
	}
	close(next)
	done.Wait()
	return outcomes[:began]
}

// evidenceFile is where the evidence of a run is kept.
func evidenceFile(dir string, j *job) string { return filepath.Join(dir, j.name()+".json.gz") }
