package document

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// filling is a stream with the row that is being filled.
type filling struct {
	first bulk.Look
	look  bulk.Look // the latest
	row   StreamRow
	base  time.Duration // when the measured time began, or before that the transfer: rows count from here
	omits bool
	began time.Duration // of row
}

func newFilling(first bulk.Look, spec bulk.Spec) *filling {
	s := &filling{first: first, omits: spec.Omit > 0}
	s.look = bulk.Look{ID: first.ID, Sender: first.Sender, Sample: bulk.Sample{Omitted: s.omits}}
	s.begin(0, s.omits)
	return s
}

// begin empties the row; the state of the connection stays what it was.
func (s *filling) begin(at time.Duration, omitted bool) {
	s.began = at
	s.row.ID, s.row.Sender, s.row.Omitted, s.row.Start = s.look.ID, s.look.Sender, omitted, at-s.base
	s.row.Bytes, s.row.Retransmits, s.row.Packets, s.row.Lost, s.row.OutOfOrder = 0, -1, 0, 0, 0
}

// take adds what happened since the latest sample to the row, and says whether
// the measured time began with this one.
func (s *filling) take(now bulk.Sample) (begins bool) {
	was := s.look.Sample
	s.look.Sample = now
	s.row.Bytes += max(0, now.Bytes-was.Bytes)
	s.takeTCP(was.TCP, now.TCP)
	s.takeUDP(was.UDP, now.UDP)
	return s.omits && was.Omitted && !now.Omitted
}

// takeTCP counts in the kernel's 32 bits: a counter that wrapped is no smaller.
func (s *filling) takeTCP(was, now bulk.TCPInfo) {
	if now.Length == 0 { // the kernel did not report it
		s.look.TCP = was
		now = was
	}
	if !s.row.Sender || now.Length == 0 {
		return
	}
	s.row.Retransmits = max(0, s.row.Retransmits) + int64(now.TotalRetrans-was.TotalRetrans)
	if now.State == bulk.StateClosed { // only its totals stand
		return
	}
	s.row.Cwnd, s.row.Wnd = int64(now.SndCwnd)*int64(now.SndMSS), int64(now.SndWnd)
	s.row.RTT, s.row.RTTVar = micro(now.RTT), micro(now.RTTVar)
	s.row.PMTU, s.row.Reorder = int64(now.PMTU), int64(now.ReordSeen)
}

// takeUDP counts the omitted packets too: rows show them.
func (s *filling) takeUDP(was, now *bulk.Datagrams) {
	if now == nil {
		s.look.UDP = was
		return
	}
	if was == nil {
		was = &bulk.Datagrams{}
	}
	s.row.Packets += now.Packets + now.Omitted.Packets - was.Packets - was.Omitted.Packets
	s.row.Lost += now.Lost + now.Omitted.Lost - was.Lost - was.Omitted.Lost
	s.row.OutOfOrder += now.OutOfOrder + now.Omitted.OutOfOrder - was.OutOfOrder - was.Omitted.OutOfOrder
	s.row.Jitter = time.Duration(now.Jitter * float64(time.Second))
}

// end is the row, complete at the given time. The next one begins there.
func (s *filling) end(at time.Duration) StreamRow {
	row := s.row
	row.End = max(at, s.began) - s.base
	omitted := s.omits && s.look.Omitted
	if row.Omitted && !omitted {
		s.base = at
	}
	s.begin(at, omitted)
	return row
}

func micro(us uint32) time.Duration { return time.Duration(us) * time.Microsecond }
