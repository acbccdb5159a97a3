package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/fleet/clock"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/unit"
)

// Requests asks a server of NFS, from the instant at which the other hosts begin too.
func (h Host) Requests(ctx context.Context, doing *peer.Doing) (s job.Status, err error) {
	order := doing.Order.Task.NFS
	target, err := nfs.ParseTarget(order.File)
	if err != nil {
		return s, err
	}
	op, err := nfs.ParseOp(order.Op)
	if err != nil {
		return s, err
	}
	load := nfs.Load{Op: op, Writes: order.Writes, Size: order.Size, Random: order.Random, Depth: order.Depth, Duration: order.Duration, Omit: order.Omit}
	if (op == nfs.Write || load.Writes > 0) && h.Changes == nil {
		return s, errors.New("this host gives no leave to write: start its fullbore serve, or agent, with --allow-changes")
	}
	mount, err := nfs.Open(ctx, target, nfs.Options{Connections: order.Connections, Depth: order.Depth})
	if err != nil {
		return s, err
	}
	defer func() { _ = mount.Close() }() // what was measured stands
	if err := doing.Begin(ctx); err != nil {
		return s, err
	}
	began := clock.Now()
	f, err := mount.Run(ctx, load, nil)
	if err != nil {
		return s, err
	}
	d := nfs.NewDocument(order.File, mount, load, f)
	s.Outcome = &job.Outcome{
		Began: began, Goodput: d.Goodput, Seconds: f.Elapsed.Seconds(), Omitted: order.Omit.Seconds(), Retransmits: -1, Arrived: answered(f, order.Omit),
	}
	s.Report, err = job.NewReport(d.Goodput, f.Bytes, d, fmt.Sprintf("%.0f requests a second, %v, %.3g in flight; latency %.3g ms in the mean, %.3g ms for 99 %%",
		d.IOPS, unit.Rate(d.Goodput), d.InFlight, d.Latency.Mean, d.Latency.P99))
	return s, err
}

// answered is how much was, as arrivals after the first request: of what is not measured nothing is known.
func answered(f *nfs.Figures, omitted time.Duration) []job.Point {
	points := []job.Point{{After: omitted}}
	var bytes int64
	for _, e := range f.Each[:min(len(f.Each), job.MostPoints-2)] {
		bytes += e.Bytes
		points = append(points, job.Point{After: omitted + e.Until, Bytes: bytes})
	}
	if last := points[len(points)-1]; omitted+f.Elapsed > last.After && f.Bytes >= last.Bytes {
		points = append(points, job.Point{After: omitted + f.Elapsed, Bytes: f.Bytes})
	}
	return points
}
