package bulk

import (
	"cmp"
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

// Lengths of a struct tcp_info that has tcpi_total_retrans (Linux 2.6.13) and
// tcpi_bytes_acked (4.1).
const (
	lengthWithTotalRetrans = 104
	lengthWithBytesAcked   = 128
)

// sampler looks at all streams of a transfer, from one goroutine.
type sampler struct {
	streams  []*stream
	limit    int // samples a stream
	stride   int // ticks from one sample that is kept to the next
	ticks    int
	progress Progress
	acked    int64 // at the last tick: bytes acknowledged, or written where the kernel does not tell
}

// MostSamples is how many samples one end keeps at most of each of so many
// streams: sampler.limit of them and the last one.
func MostSamples(streams int) int { return samplesEach(streams) + 1 }

func samplesEach(streams int) int { return max(minSamples, min(maxSamples, maxAllSamples/streams)) }

func newSampler(streams []*stream) *sampler {
	return &sampler{
		streams: streams,
		limit:   samplesEach(len(streams)),
		stride:  1,
	}
}

// take looks at every stream that is not yet done with.
func (p *sampler) take(now time.Duration) {
	p.takeOf(now, func(s *stream) Sample { return s.look(now) })
}

func (p *sampler) takeOf(now time.Duration, look func(*stream) Sample) {
	keep := p.ticks%p.stride == 0
	p.ticks++
	for _, s := range p.streams {
		if s.done {
			continue
		}
		s.learn(look(s))
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

// last looks at streams for the last time. The samples are of the time at which
// all of them have been taken: nothing that they count came later.
func (p *sampler) last(clock func() time.Duration, streams ...*stream) {
	for _, s := range streams {
		s.done = true
		s.learn(s.look(clock()))
	}
	at := clock()
	for _, s := range streams {
		s.latest.At = at
		s.record.Samples = append(s.record.Samples, s.latest)
	}
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
	p.progress = Progress{At: now, Omitting: true, Streams: make([]Look, 0, len(p.streams))}
	p.acked = 0
	for _, s := range p.streams {
		p.progress.Streams = append(p.progress.Streams, Look{
			ID: s.ID, Sender: s.Sender, Local: s.record.Local, Remote: s.record.Remote, Sample: s.latest,
		})
		p.progress.Omitting = p.progress.Omitting && s.latest.Omitted
		if !s.Sender {
			p.progress.Received += s.latest.Bytes
			continue
		}
		p.progress.Sent += s.latest.Bytes
		if s.latest.TCP.HasBytesAcked() {
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

// learn makes now the stream's latest sample, and brings up to date what must
// not get lost when samples are dropped.
func (s *stream) learn(now Sample) {
	was := s.latest
	s.latest = now
	if !s.Sender || now.TCP.Length < lengthWithTotalRetrans {
		return
	}
	if s.record.Retransmits < 0 {
		s.record.Retransmits, was = 0, now // its first sample
	}
	if now.Omitted {
		return
	}
	// Without omitted time, the first byte may go between two looks.
	if !was.Omitted || s.meter.window.omit == 0 {
		s.record.Retransmits += int64(now.TCP.TotalRetrans - was.TCP.TotalRetrans)
	}
	s.learnPeaks(&now.TCP)
}

func (s *stream) learnPeaks(now *TCPInfo) {
	p := &s.record.Peaks
	p.MaxSndCwnd = max(p.MaxSndCwnd, int64(now.SndCwnd)*int64(now.SndMSS))
	p.MaxSndWnd = max(p.MaxSndWnd, int64(now.SndWnd))
	rtt := int64(now.RTT)
	if rtt == 0 {
		return // none was measured yet
	}
	s.rtts += rtt
	s.looks++
	p.MinRTT = min(rtt, cmp.Or(p.MinRTT, rtt))
	p.MaxRTT = max(p.MaxRTT, rtt)
	p.MeanRTT = s.rtts / s.looks
}
