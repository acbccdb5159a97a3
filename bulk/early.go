package bulk

import (
	"fmt"

	"github.com/fullbore/fullbore/unit"
)

// leaveOutEarly finds the bytes of a receiver's measured time that had arrived
// before it, and counts them as omitted. Where bytes are counted from the first
// one on, or their number ends the transfer, Bytes keep them, and only the goodput
// is without them.
//
// A path that carries C bytes a second brings at most C*T in a time T. The
// application may read more in that time: what came behind a lost packet waits in
// the kernel until that packet is repeated, megabytes on a long path, and what
// the application was slow to read waits as well. If the measured time begins
// meanwhile, these bytes are read in it, but the path brought them before.
//
// The kernel does not count bytes as they arrive. Two figures are never above
// what arrived:
//
//   - the segments of data that came, each of which holds an MSS at most. It is
//     too low where a device hands over several segments as one that the kernel
//     counts once (virtio_net and TUN do).
//   - what came in order (tcpi_bytes_received counts that, read or not), less all
//     that had waited behind a hole when the time began. How many bytes that were
//     is not known, but the memory that they took, which is never less. It is too
//     low by what the memory is larger, and by what waits behind a hole at the end.
//
// The larger of the two is the nearer one, and no more than that is counted. At a
// receiver that knows neither, nothing is left out, and Early stays nil.
func (s *stream) leaveOutEarly(spec Spec) {
	if s.opening == nil {
		return
	}
	arrived, known := arrivedBetween(s.opening, &s.latest)
	if !known {
		return
	}
	early := max(0, s.record.Bytes-arrived)
	s.record.Early = &early
	if !spec.OmitsEarly() {
		return
	}
	s.record.Bytes -= early
	s.record.Omitted += early
	if late := s.opening.At - s.record.Began; late > 0 { // on a busy host, the look came later than it should
		s.record.Began += late
		s.record.Elapsed = max(0, s.record.Elapsed-late)
	}
}

// OmitsEarly says whether [Stream.Early] is counted in Stream.Omitted, not in
// Stream.Bytes: there is an omitted time, and it is time that ends the transfer.
func (s Spec) OmitsEarly() bool { return s.Timed() && s.Omit > 0 }

// seenLate says whether most of what a receiver counts from the first byte on had
// arrived at its first look: the transfer was too short for a goodput without it.
func (r *Result) seenLate(s *Stream) bool {
	return s.Early != nil && !r.Spec.OmitsEarly() && r.Spec.Rate <= 0 && *s.Early > s.Bytes/2
}

// arrivedBetween is how many bytes of data arrived between two looks at a
// receiver, in order or not, and never more than that.
func arrivedBetween(opening, ending *Sample) (bytes int64, known bool) {
	was, is := &opening.TCP, &ending.TCP
	if was.has(tcpDataSegs) && is.has(tcpDataSegs) {
		segments := int64(is.DataSegsIn - was.DataSegsIn)
		bytes, known = segments*int64(max(was.RcvMSS, is.RcvMSS)), true
	}
	if was.has(tcpBytesReceived) && is.has(tcpBytesReceived) && opening.Mem.RecvBuf > 0 {
		inOrder := int64(is.BytesReceived - was.BytesReceived)
		bytes, known = max(bytes, inOrder-opening.behindHole()), true
	}
	return bytes, known
}

// behindHole is the most that may have come and wait for something lost before
// it: the memory of all that was received, less what can be read.
func (s *Sample) behindHole() int64 {
	return max(0, int64(s.Mem.RecvAlloc)+int64(s.Mem.Backlog)-int64(s.Unread))
}

// Excess is by how much a goodput may be above what arrived in the measured time,
// where the receiving end does not report what had arrived before, or that was most
// of it.
type Excess struct {
	By   *float64 `json:"by,omitempty"` // share of the goodput, at most; absent: not known
	Says string   `json:"says"`
}

// excess is nil where the goodput is right: see [Result.Goodput]. Other programs
// begin to measure with the connection unless a time is omitted, and then nothing
// has waited.
func (r *Result) excess(d Direction, goodput unit.Rate) *Excess {
	var waited, late, bytes int64
	unknown, bounded := false, true
	for _, s := range r.Receivers(d) {
		bytes += s.Bytes
		if r.seenLate(&s) {
			late += *s.Early
		}
		if s.Early != nil || s.Datagrams != nil {
			continue
		}
		unknown = true
		n, known := r.mayHaveWaited(d, &s)
		waited += n
		bounded = bounded && known
	}
	if late > 0 && !unknown {
		by := min(1, float64(late)/float64(bytes))
		return &Excess{By: &by, Says: fmt.Sprintf("it may be up to %.2g %% too high: %s had arrived when the receiving end first looked at the connection", 100*by, unit.Size(late))}
	}
	if !unknown || goodput <= 0 || bytes <= 0 || r.Spec.Protocol == UDP || r.Spec.Omit == 0 && r.Client.Software+r.Server.Software != "" {
		return nil
	}
	if !bounded {
		return &Excess{Says: "it may be too high: the receiving end does not report what had arrived before the measured time began and was read during it"}
	}
	waited += late
	by := min(1, float64(waited)/float64(bytes))
	if by == 0 {
		return nil
	}
	return &Excess{By: &by, Says: fmt.Sprintf("it may be up to %.2g %% too high: the receiving end does not report what had arrived before the measured time began and was read during it: %s at most", 100*by, unit.Size(waited))}
}

// mayHaveWaited is how many bytes can have waited at a receiver when the measured
// time began, as its sender sees it: those that were selectively acknowledged
// wait behind a hole, and those that the application has not read make the window
// smaller than it was. Where the sender does not report it either, all that fits into
// the receive buffer.
func (r *Result) mayHaveWaited(d Direction, receiver *Stream) (bytes int64, known bool) {
	for _, s := range r.Senders(d) {
		if samples := s.Measured(); s.ID == receiver.ID && len(samples) > 0 && samples[0].TCP.has(tcpSndWnd) {
			// The two ends' times do not begin at the same instant: the next look counts as well.
			return max(samples[0].waitsFarAway(&s), samples[min(1, len(samples)-1)].waitsFarAway(&s)), true
		}
	}
	return int64(receiver.RecvBuf), receiver.RecvBuf > 0
}

// waitsFarAway is what waits at the receiver, by a sample of its sender.
func (s *Sample) waitsFarAway(of *Stream) int64 {
	var widest uint32
	for i := range of.Samples {
		if of.Samples[i].At <= s.At {
			widest = max(widest, of.Samples[i].TCP.SndWnd)
		}
	}
	return int64(s.TCP.Sacked)*int64(s.TCP.SndMSS) + int64(widest-min(widest, s.TCP.SndWnd))
}
