package plan

import (
	"slices"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
)

// maker is a plan in the making.
type maker struct {
	Input
	came    Input // as it came, with hosts that are not planned for
	need    need
	bbr     string // why the sender is to use BBR; "": it is not
	why     string // the reason for another congestion control, also where there is none to change to
	chooses string // the tunable by which the sender is to use BBR
	ideas   []idea
	notes   []string
	excused []*host.Facts // those whose buffers a note says to be as large as they may be
}

func newMaker(in Input) *maker {
	in.Streams = max(in.Streams, 1)
	m := &maker{Input: in, came: in}
	m.need = m.measure()
	m.Sender = m.accept(in.Sender, "sender")
	m.Receiver = m.accept(in.Receiver, "receiver")
	m.bbr = m.whyBBR()
	m.need.send = readable(m.sendFactor() * float64(m.need.bdp))
	return m
}

// accept gives the host back if it may be tuned, and notes why not otherwise.
func (m *maker) accept(h *host.Facts, role string) *host.Facts {
	switch {
	case h == nil && m.OneEnd:
		return nil
	case h == nil:
		m.note("The %s's settings are not known, so nothing is planned for it: a far end reports them only to clients that have its token.", role)
		return nil
	case h.Forwards:
		m.excused = append(m.excused, h)
		m.note("%s routes packets: a router or firewall is not tuned, since buffers are per connection and only waste its memory.", h.Name)
		return nil
	}
	if _, ok := systems[h.OS]; !ok {
		m.note("%s runs %s, for which there are no rules.", h.Name, h.OS)
		return nil
	}
	return h
}

// hosts are those that are planned for, each once.
func (m *maker) hosts() []*host.Facts {
	var all []*host.Facts
	for _, h := range []*host.Facts{m.Sender, m.Receiver} {
		if h != nil && !slices.Contains(all, h) {
			all = append(all, h)
		}
	}
	return all
}

func (m *maker) verdict() string {
	if m.Diagnosis == nil {
		return ""
	}
	return m.Diagnosis.Verdict.Cause
}

// finding of a cause that is sure enough to act on, nil if there is none.
func (m *maker) finding(cause string) *diagnose.Finding {
	if m.Diagnosis == nil {
		return nil
	}
	for i := range m.Diagnosis.Findings {
		if f := &m.Diagnosis.Findings[i]; f.Cause == cause && f.Confidence >= diagnose.Doubtful {
			return f
		}
	}
	return nil
}
