package html

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/tune"
	"github.com/fullbore/fullbore/unit"
)

// documents is what the verb of a run printed as JSON, read as far as a report needs
// it; all are nil if there was none.
type documents struct {
	tune      *tune.Result
	diagnosis *diagnosis
	test      *tested
	compare   *experiment.ABDocument
	sweep     *swept
	requests  *experiment.RequestsDocument
	limits    *nfsDiagnosis
	raised    *climb.Result
	fleet     *fleet.Result
	err       error // why it cannot be read; the rest of the run still can
}

// diagnosis is diagnose's document.
type diagnosis struct {
	Direction bulk.Direction `json:"direction"`
	Path      *path.Estimate `json:"path"`
	Goodput   float64        `json:"goodput_bps"`
	diagnose.Diagnosis
	Failed string `json:"failed"`
	Trials []struct {
		Kind     string    `json:"kind"`
		Why      string    `json:"why"`
		Goodput  unit.Rate `json:"goodput_bps"`
		Repeated float64   `json:"retransmitted_share"`
		Failed   string    `json:"failed"`
	} `json:"trials"`
	Error string `json:"error"`
}

// tested is what is fullbore's own in test's document.
type tested struct {
	Error    string `json:"error"`
	Fullbore struct {
		Spec   bulk.Spec          `json:"spec"`
		Repeat *experiment.Repeat `json:"repeat"`
		Runs   []experiment.Run   `json:"runs"`
	} `json:"fullbore"`
}

// read reads a run's document by its kind.
func read(run *record.Run) documents {
	var d documents
	if len(run.Document) == 0 {
		return d
	}
	decode := func(into any) bool {
		if err := json.Unmarshal(run.Document, into); err != nil {
			d.err = fmt.Errorf("what %s printed cannot be read: %w", run.Kind, err)
		}
		return d.err == nil
	}
	switch run.Kind {
	case record.Tune:
		if r := new(tune.Result); decode(r) {
			d.tune = r
		}
	case record.Diagnose:
		if r := new(diagnosis); decode(r) {
			d.diagnosis = r
		}
	case record.Test:
		if r := new(tested); decode(r) {
			d.test = r
		}
	case record.Compare:
		if r := new(experiment.ABDocument); decode(r) {
			d.compare = r
		}
	case record.Sweep:
		if r := new(swept); decode(r) {
			d.sweep = r
		}
	case record.NFSTest:
		if r := new(experiment.RequestsDocument); decode(r) && r.Document != nil {
			d.requests = r
		}
	case record.NFSDiagnose:
		if r := new(nfsDiagnosis); decode(r) && r.Evidence != nil {
			d.limits = r
		}
	case record.Fleet:
		if r := new(fleet.Result); decode(r) {
			if d.err = r.Check(); d.err == nil {
				d.fleet = r
			}
		}
	case record.NFSTune:
		if r := new(climb.Result); decode(r) {
			d.raised = r
		}
	}
	return d
}

// path is what the run knows of the path; nil: nothing.
func (d *documents) path() *path.Estimate {
	switch {
	case d.tune != nil:
		return d.tune.Path
	case d.diagnosis != nil:
		return d.diagnosis.Path
	}
	return nil
}

// goodputOf adds up the directions of a transfer.
func goodputOf(r *bulk.Result) unit.Rate {
	if r == nil {
		return 0
	}
	var sum unit.Rate
	for _, d := range r.Spec.Directions() {
		sum += r.Goodput(d)
	}
	return sum
}

// came are the repeated results that a run's is the middle of, one if there was one only:
// goodput in bit/s, or requests a second.
func came(run *record.Run, d *documents, requests bool) []float64 {
	var all []float64
	if requests {
		switch {
		case d.requests != nil:
			all = experiment.Rates(d.requests.Runs)
		case d.raised != nil:
			all = d.raised.After.Runs
		}
		if all = positive(all); len(all) == 0 && run.IOPS > 0 {
			all = []float64{run.IOPS}
		}
		return all
	}
	switch {
	case d.tune != nil:
		runs := d.tune.After.Runs
		if len(d.tune.Kept) == 0 {
			runs = d.tune.Before.Runs
		}
		for _, r := range runs {
			all = append(all, float64(r))
		}
	case d.test != nil && len(d.test.Fullbore.Runs) > 1:
		all = experiment.Goodputs(d.test.Fullbore.Runs)
	}
	if len(all) == 0 && run.Goodput > 0 {
		all = []float64{float64(run.Goodput)}
	}
	return all
}

// positive leaves out what is no rate: a document may come from anywhere.
func positive(all []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(all), func(v float64) bool { return !(v > 0) })
}

// interval is the 95 % interval of several runs as figures have it, both 0 for one.
func interval(runs []float64) (low, high float64) {
	if len(runs) < 2 {
		return 0, 0
	}
	i := stat.Typical(runs)
	return i.Low, i.High
}
