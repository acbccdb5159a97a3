package bulk

import (
	"time"

	"github.com/fullbore/fullbore/unit"
)

// A long transfer must not fill the memory of both ends, nor the page that
// shows it: a stream keeps up to maxSamples, all streams together about
// maxAllSamples. Where more would come, every second one is dropped, and from
// then on half as many are kept.
const (
	maxSamples    = 3000
	minSamples    = 256
	maxAllSamples = 1 << 15
)

// lengthWithBytesAcked is the length of a struct tcp_info that has
// tcpi_bytes_acked (Linux 4.1).
const lengthWithBytesAcked = 128

// sampler looks at all streams of a transfer, from one goroutine.
type sampler struct {
	streams  []*stream
	limit    int // samples a stream
	stride   int // ticks from one sample that is kept to the next
	ticks    int
	progress Progress
	acked    int64 // at the last tick: bytes acknowledged, or written where the kernel does not tell
}

func newSampler(streams []*stream) *sampler {
	return &sampler{
		streams: streams,
		limit:   max(minSamples, min(maxSamples, maxAllSamples/len(streams))),
		stride:  1,
	}
}

// take looks at every stream that is still driven.
func (p *sampler) take(now time.Duration) {
	keep := p.ticks%p.stride == 0
	p.ticks++
	for _, s := range p.streams {
		if s.done {
			continue
		}
		s.latest = s.look(now)
		if keep && s.latest.TCP.State != StateClosed { // last keeps that one
			s.record.Samples = append(s.record.Samples, s.latest)
		}
	}
	p.advance(now)
	for _, s := range p.streams {
		if len(s.record.Samples) >= p.limit {
			p.thin()
			return
		}
	}
}

// last looks at a stream whose thread has ended.
func (p *sampler) last(s *stream, now time.Duration) {
	s.done = true
	s.latest = s.look(now)
	s.record.Samples = append(s.record.Samples, s.latest)
}

// thin drops every second sample of all streams: they stay in step. The last
// one of a stream that has ended stays.
func (p *sampler) thin() {
	p.stride *= 2
	for _, s := range p.streams {
		all := s.record.Samples
		kept := all[:0]
		for i, sample := range all {
			if i%2 == 0 || s.done && i == len(all)-1 {
				kept = append(kept, sample)
			}
		}
		s.record.Samples = kept
	}
}

// advance brings progress up to date with the latest samples.
func (p *sampler) advance(now time.Duration) {
	was, wasAcked := p.progress, p.acked
	p.progress = Progress{At: now, Omitting: true, Streams: make([]Sample, 0, len(p.streams))}
	p.acked = 0
	for _, s := range p.streams {
		p.progress.Streams = append(p.progress.Streams, s.latest)
		p.progress.Omitting = p.progress.Omitting && s.latest.Omitted
		if !s.Sender {
			p.progress.Received += s.latest.Bytes
			continue
		}
		p.progress.Sent += s.latest.Bytes
		if s.latest.TCP.Length >= lengthWithBytesAcked {
			p.acked += int64(s.latest.TCP.BytesAcked)
		} else {
			p.acked += s.latest.Bytes
		}
	}
	interval := now - was.At
	p.progress.SendRate = unit.RateOf(max(0, p.acked-wasAcked), interval)
	p.progress.RecvRate = unit.RateOf(p.progress.Received-was.Received, interval)
	p.progress.Rate = p.progress.SendRate + p.progress.RecvRate
}

// look is the state of the stream now.
func (s *stream) look(now time.Duration) Sample {
	sample := Sample{At: now, Omitted: !s.meter.window.isOpen(now), Bytes: s.meter.bytes.Load()}
	s.sock.inspect(&sample)
	return sample
}

// held says whether the kernel holds more received data than what it can give
// to the application, which makes up at least half of the memory it takes: the
// rest came after a packet that is missing.
func (s *Sample) held() bool { return s.Mem.RecvAlloc > 2*s.Unread }
