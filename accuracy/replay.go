package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fullbore/fullbore/examine"
)

// replay diagnoses recorded evidence again, by the rules as they are now.
func replay(dir string, all []entry, p *progress) ([]outcome, error) {
	jobs := recorded(dir, all)
	if len(jobs) == 0 {
		return nil, fmt.Errorf("replay: no evidence of these scenarios in %s: record some with -record", filepath.Clean(dir))
	}
	p.all = len(jobs)
	outcomes := make([]outcome, len(jobs))
	for i := range jobs {
		j, out := &jobs[i], &outcomes[i]
		*out = newOutcome(j.entry, j.run)
		x, err := examine.Read(evidenceFile(dir, j))
		if err != nil {
			return nil, err
		}
		if next := x.Untried(); next != nil {
			out.Wants = string(next.Kind)
		}
		out.judged(&x.Diagnosis, x.Evidence.Transfer.Goodput(x.Evidence.Direction))
		out.Traffic = x.Spent.Time
		if out.Healed, err = readHealed(dir, j); err != nil {
			return nil, err
		}
		p.add(out)
	}
	return outcomes, nil
}

// recorded are the runs whose evidence was kept.
func recorded(dir string, all []entry) []job {
	var jobs []job
	for i := range all {
		for run := 0; ; run++ {
			j := job{&all[i], run}
			if _, err := os.Stat(evidenceFile(dir, &j)); errors.Is(err, fs.ErrNotExist) {
				break
			}
			jobs = append(jobs, j)
		}
	}
	return jobs
}
