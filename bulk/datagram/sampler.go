package datagram

import (
	"cmp"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// A long transfer must not fill memory: a flow keeps up to maxSamples, all flows
// together about maxAllSamples, as in package bulk. Where more would come, every
// second one is dropped, and from then on half as many are kept.
const (
	maxSamples    = 3000
	minSamples    = 256
	maxAllSamples = 1 << 15
)

// samples says which looks are kept.
type samples struct {
	limit  int // a flow
	stride int // looks from one that is kept to the next
	looks  int
}

func newSamples(flows int) samples {
	return samples{limit: max(minSamples, min(maxSamples, maxAllSamples/max(1, flows))), stride: 1}
}

// keep takes the latest look at every flow into its record.
func (s *samples) keep(flows []*flow) {
	keep := s.looks%s.stride == 0
	s.looks++
	if !keep {
		return
	}
	for _, f := range flows {
		f.record.Samples = append(f.record.Samples, f.latest)
	}
	if len(flows[0].record.Samples) < s.limit {
		return
	}
	s.stride *= 2
	for _, f := range flows {
		kept := f.record.Samples[:0]
		for i, sample := range f.record.Samples {
			if i%2 == 0 {
				kept = append(kept, sample)
			}
		}
		f.record.Samples = kept
	}
}

// sample looks at all flows until the transfer is stopped, and watches its time.
func (r *Running) sample() {
	defer close(r.sampled)
	ticker := time.NewTicker(cmp.Or(r.spec.Interval, bulk.DefaultInterval))
	defer ticker.Stop()
	measured := time.NewTimer(r.spec.Omit)
	defer measured.Stop()
	over := time.NewTimer(r.spec.Omit + r.spec.Duration)
	defer over.Stop()
	if r.spec.Bytes > 0 {
		over.Stop()
	}
	r.look()
	for {
		select {
		case <-r.halted:
			return
		case <-measured.C:
			if cpu, err := host.ReadCPU(); err == nil {
				r.cpu = &cpu
			}
			r.readings.Begin()
		case <-over.C:
			r.becomeDue()
		case <-ticker.C:
			r.look()
			if r.watch != nil {
				r.watch(r.progress)
			}
		}
	}
}

// look takes a sample of every flow.
func (r *Running) look() {
	was, now := r.progress, r.now()
	p := bulk.Progress{At: now, Omitting: now < r.spec.Omit, Streams: make([]bulk.Look, 0, len(r.flows))}
	for _, f := range r.flows {
		f.latest = f.look(now, r)
		if f.Sender {
			p.Sent += f.latest.Bytes
		} else {
			p.Received += f.latest.Bytes
		}
		p.Streams = append(p.Streams, bulk.Look{
			ID: f.ID, Sender: f.Sender, Local: f.record.Local, Remote: f.record.Remote, Sample: f.latest,
		})
	}
	r.samples.keep(r.flows)
	p.SendRate = unit.RateOf(p.Sent-was.Sent, p.At-was.At)
	p.RecvRate = unit.RateOf(p.Received-was.Received, p.At-was.At)
	p.Rate = p.SendRate + p.RecvRate
	r.progress = p
}
