package task

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/sweep"
)

// Sweep carries out an experiment over the path to the other host.
func (h Host) Sweep(ctx context.Context, doing *peer.Doing) (s job.Status, err error) {
	spec, err := sweep.Parse("the experiment", []byte(doing.Order.Task.Experiment))
	if err != nil {
		return s, err
	}
	if spec.OfFile() {
		return s, fmt.Errorf("experiment %s is about a file, not about a path between two hosts: fullbore sweep %s nfs://HOST/EXPORT/FILE", spec.Name, spec.Name)
	}
	hosts, err := sweep.Meet(ctx, sweep.Near{Facts: host.Collect, Changes: h.Changes}, doing.Far, spec.Measure)
	if err != nil {
		return s, err
	}
	if err := doing.Begin(ctx); err != nil {
		return s, err
	}
	watch := &sweeping{saying: saying{doing.Say}}
	doc, err := sweep.Run(ctx, spec, hosts, &sweep.Memory{}, watch)
	if doc == nil {
		return s, err
	}
	var failed error
	s.Report, failed = job.NewReport(float64(doc.Best()), doc.Spent.Bytes, doc, append([]string{spec.Name + ": " + doc.Says}, watch.failed...)...)
	if err == nil {
		err = failed
	}
	return s, err
}

// sweeping says how many transfers are left, and keeps why some failed, each reason once.
type sweeping struct {
	saying
	failed []string
}

func (s *sweeping) Starts(cost sweep.Cost, _ int) { s.say("sweep: " + cost.String()) }

func (s *sweeping) Kept(m sweep.Measured, _ *bulk.Result, left sweep.Left) {
	if text := "failed: " + m.Error; m.Error != "" && !slices.Contains(s.failed, text) {
		s.failed = append(s.failed, text)
	}
	s.say(fmt.Sprintf("sweep: %d transfers left, about %v", left.Transfers, left.Time.Round(time.Second)))
}

// Progress and results of single transfers are too many to be told.
func (*sweeping) Phase(string)  {}
func (*sweeping) Result(string) {}
