package lab

import (
	"errors"
	"time"
)

// answerTime bounds how long a host may take to answer a question.
const answerTime = 5 * time.Second

// Report gives the counters as they stand.
func (l *Lab) Report() Report {
	stats := l.wire.Stats()
	r := Report{Scenario: l.scenario.Name, AToB: stats.AToB, BToA: stats.BToA}
	// A host that does not answer has ended, and its device with it.
	if c, err := l.a.counters(); err == nil {
		r.RingDropsA = c.RingDrops
	}
	if c, err := l.b.counters(); err == nil {
		r.RingDropsB = c.RingDrops
	}
	return r
}

// counters asks the host for what only it can see.
func (h *Host) counters() (*counters, error) {
	h.query.Lock()
	defer h.query.Unlock()
	if err := h.owner.conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return nil, err
	}
	if err := h.owner.send(&message{Query: true}); err != nil {
		return nil, err
	}
	reply, _, err := h.owner.receive()
	if err != nil {
		return nil, err
	}
	if reply.Count == nil {
		return nil, errors.New(reply.Error)
	}
	return reply.Count, nil
}
