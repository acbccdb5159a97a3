package lab

import (
	"errors"
	"time"
)

// answerTime bounds how long a host may take to answer a question.
const answerTime = 5 * time.Second

// Report gives the counters as they stand. It is for a lab that is not yet closed.
func (l *Lab) Report() Report {
	stats := l.wire.Stats()
	r := Report{Scenario: l.scenario.Name, AToB: stats.AToB, BToA: stats.BToA}
	for _, h := range []struct {
		*Host
		drops *uint64
	}{{l.a, &r.RingDropsA}, {l.b, &r.RingDropsB}} {
		if c, err := h.counters(); err == nil {
			*h.drops = c.RingDrops
		} else {
			r.Ended = append(r.Ended, h.name)
		}
	}
	return r
}

// counters asks the host for what only it can see.
func (h *Host) counters() (*counters, error) {
	reply, err := h.ask(&message{Query: true})
	if err != nil {
		return nil, err
	}
	if reply.Count == nil {
		return nil, errors.New("it has no counters")
	}
	return reply.Count, nil
}

// ask asks the host something.
func (h *Host) ask(question *message) (reply *message, err error) {
	h.query.Lock()
	defer h.query.Unlock()
	if err := h.owner.conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return nil, err
	}
	if err := h.owner.send(question); err != nil {
		return nil, err
	}
	if reply, _, err = h.owner.receive(); err != nil {
		return nil, err
	}
	if reply.Error != "" {
		return nil, errors.New(reply.Error)
	}
	return reply, nil
}
