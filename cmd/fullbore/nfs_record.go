package main

import (
	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// keepFile begins to keep a run about a file of a server: it sends what is read. Of a server
// that is not ours no more is known than its name.
func (f *recordFlags) keepFile(app *app, kind record.Kind, server string, op nfs.Op) *keeper {
	direction := bulk.Reverse
	if op == nfs.Write {
		direction = bulk.Forward
	}
	kept := f.keep(app, kind, direction, peer.Hello{Host: server})
	if kept.recorder != nil {
		_, _ = kept.near(app.ctx) // else the run is kept without
	}
	return kept
}

// requested is what came of a test, for the record: of several runs the middle.
func requested(d *experiment.RequestsDocument) (o record.Outcome) {
	if d.Document == nil {
		return o
	}
	o.IOPS, o.Goodput = d.IOPS, unit.Rate(d.Goodput)
	if r := d.Repeat; r != nil {
		o.IOPS = r.IOPS.Median
		if r.Goodput != nil {
			o.Goodput = unit.Rate(r.Goodput.Median)
		}
	}
	return o
}

// ifAny is the document; nil: nothing was measured.
func ifAny(d *experiment.RequestsDocument) any {
	if d.Document == nil {
		return nil
	}
	return d
}

// outcome is what a diagnosis came to, for the record.
func (d *nfsDiagnosis) outcome() record.Outcome {
	now := d.Evidence.Now.IOPS
	return record.Outcome{IOPS: now, Goodput: unit.Rate(now * 8 * float64(d.Evidence.Size)), Verdict: d.Verdict.Cause}
}

// changesOf are those of both hosts that were kept, for the record.
func changesOf(h *climb.Hosts, r *climb.Result) (all []record.Change) {
	for _, c := range h.Kept(r.Best()) {
		all = append(all, record.Change{Host: c.Host, Tunable: c.Tunable, From: c.From, To: c.To, Who: record.ByTune})
	}
	return all
}
