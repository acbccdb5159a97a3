package iperf3

import (
	"fmt"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// software is what [bulk.End] calls the other end.
const software = "iperf3"

// ResultsOf is what this end reports to the other one about its half of a test.
func ResultsOf(end bulk.End, spec bulk.Spec) Results {
	r := Results{SenderHasRetransmits: -1, Streams: []StreamResults{}} // iperf3 insists on a list
	if whole := end.CPU.Elapsed; whole > 0 {
		r.CPUUser = 100 * float64(end.CPU.User) / float64(whole)
		r.CPUSystem = 100 * float64(end.CPU.System) / float64(whole)
		r.CPUTotal = r.CPUUser + r.CPUSystem
	}
	for _, s := range end.Streams {
		if r.CongestionUsed == "" {
			r.CongestionUsed = s.Congestion
		}
		retransmits := int64(-1)
		if s.Sender {
			r.SenderHasRetransmits = max(r.SenderHasRetransmits, 0)
			if s.Retransmits >= 0 && spec.Protocol != bulk.UDP {
				r.SenderHasRetransmits = 1
				retransmits = s.Retransmits
			}
		}
		r.Streams = append(r.Streams, streamResultsOf(s, retransmits))
	}
	return r
}

func streamResultsOf(s bulk.Stream, retransmits int64) StreamResults {
	out := StreamResults{
		ID: s.ID, Bytes: s.Bytes, Retransmits: retransmits, EndTime: s.Elapsed.Seconds(),
		OmittedErrors: new(int64), OmittedPackets: new(int64),
	}
	if d := s.Datagrams; d != nil {
		out.Packets, *out.OmittedPackets = d.Packets+d.Omitted.Packets, d.Omitted.Packets
		if !s.Sender {
			out.Jitter = d.Jitter
			out.Errors, *out.OmittedErrors = d.Lost+d.Omitted.Lost, d.Omitted.Lost
		}
	}
	return out
}

// End is the other end's half of a test, made from its results and from mine, which
// is this end's half: it must have results for exactly the streams of mine.
//
// Of a datagram flow that had an omitted time, iperf3 3.12 and 3.13 report only
// totals: then the packets omitted are taken to be as many as this end had, and
// all that were lost are counted.
func (r Results) End(spec bulk.Spec, mine bulk.End) (bulk.End, error) {
	end := bulk.End{Software: software}
	results := make(map[int]StreamResults, len(r.Streams))
	for _, s := range r.Streams {
		if _, twice := results[s.ID]; twice {
			return bulk.End{}, fmt.Errorf("results of the other end: stream %d comes twice", s.ID)
		}
		results[s.ID] = s
	}
	var elapsed time.Duration
	for _, own := range mine.Streams {
		theirs, ok := results[own.ID]
		if !ok {
			return bulk.End{}, fmt.Errorf("results of the other end: stream %d is missing", own.ID)
		}
		delete(results, own.ID)
		s, err := theirs.stream(spec, own)
		if err != nil {
			return bulk.End{}, fmt.Errorf("results of the other end: stream %d: %w", own.ID, err)
		}
		if spec.Protocol != bulk.UDP && bulk.CongestionName(r.CongestionUsed) {
			s.Congestion = r.CongestionUsed
		}
		end.Streams = append(end.Streams, s)
		elapsed = max(elapsed, s.Elapsed)
	}
	for id := range results {
		return bulk.End{}, fmt.Errorf("results of the other end: there is no stream %d", id)
	}
	end.CPU = r.cpu(elapsed)
	return end, nil
}

// maxPercent of one core is what a machine with 8192 cores, Linux's most, can
// spend. What is more, or less than nothing, is not known.
const maxPercent = 8192 * 100

func (r Results) cpu(elapsed time.Duration) bulk.CPU {
	for _, percent := range []float64{r.CPUUser, r.CPUSystem} {
		if !(percent >= 0 && percent <= maxPercent) {
			return bulk.CPU{}
		}
	}
	share := func(percent float64) time.Duration { return time.Duration(percent / 100 * float64(elapsed)) }
	return bulk.CPU{Elapsed: elapsed, User: share(r.CPUUser), System: share(r.CPUSystem)}
}

// stream is the other end of own.
func (s StreamResults) stream(spec bulk.Spec, own bulk.Stream) (bulk.Stream, error) {
	out := bulk.Stream{
		ID: own.ID, Sender: !own.Sender, Local: own.Remote, Remote: own.Local, Bytes: s.Bytes, Retransmits: -1,
		Began: own.Began, Elapsed: own.Elapsed, // iperf3 before 3.2 does not tell
	}
	if err := s.check(); err != nil {
		return bulk.Stream{}, err
	}
	if s.EndTime > s.StartTime {
		out.Elapsed = time.Duration((s.EndTime - s.StartTime) * float64(time.Second))
	}
	switch {
	case spec.Protocol == bulk.UDP:
		if out.Sender {
			s.Jitter, s.Errors = 0, 0 // not its to know, yet iperf3 fills something in
		}
		out.Datagrams = s.datagrams(own.Datagrams)
	case out.Sender:
		out.Retransmits = max(s.Retransmits, -1)
	}
	return out, nil
}

// check says which number cannot be.
func (s StreamResults) check() error {
	const longest = 2 * (maxTime + maxOmit) // the end of a test may be late
	switch {
	case s.Bytes < 0:
		return fmt.Errorf("%d bytes", s.Bytes)
	case s.Packets < 0 || s.Errors < 0:
		return fmt.Errorf("%d packets, %d lost", s.Packets, s.Errors)
	case s.OmittedPackets != nil && (*s.OmittedPackets < 0 || *s.OmittedErrors < 0):
		return fmt.Errorf("%d packets, %d lost in the omitted time", *s.OmittedPackets, *s.OmittedErrors)
	case !(s.Jitter >= 0 && s.Jitter <= longest):
		return fmt.Errorf("jitter of %v s", s.Jitter)
	case !(s.StartTime >= 0 && s.StartTime <= longest && s.EndTime >= 0 && s.EndTime <= longest):
		return fmt.Errorf("time from %v to %v s", s.StartTime, s.EndTime)
	}
	return nil
}

// datagrams splits the counts into those of the measured time and before.
func (s StreamResults) datagrams(own *bulk.Datagrams) *bulk.Datagrams {
	d := &bulk.Datagrams{Packets: s.Packets, Lost: s.Errors, Jitter: s.Jitter}
	switch {
	case s.OmittedPackets != nil:
		d.Omitted.Packets, d.Omitted.Lost = min(*s.OmittedPackets, s.Packets), min(*s.OmittedErrors, s.Errors)
	case own != nil:
		d.Omitted.Packets = min(own.Omitted.Packets, s.Packets)
	}
	d.Packets -= d.Omitted.Packets
	d.Lost -= d.Omitted.Lost
	return d
}
