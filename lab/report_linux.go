package lab

import (
	"errors"
	"time"
)

// answerTime bounds how long a host may take to answer a question.
const answerTime = 5 * time.Second

// Report gives the counters as they stand. It is for a lab that is not yet closed.
func (l *Lab) Report() Report {
	r := Report{Scenario: l.scenario.Name}
	drops := map[string]*uint64{}
	if l.network != nil {
		for i, stats := range l.network.Stats() {
			r.Links = append(r.Links, LinkReport{l.links[i].Name, stats})
		}
	} else {
		stats := l.wire.Stats()
		r.AToB, r.BToA = stats.AToB, stats.BToA
		drops["a"], drops["b"] = &r.RingDropsA, &r.RingDropsB
	}
	for _, h := range l.hosts {
		c, err := h.counters()
		switch {
		case err != nil:
			r.Ended = append(r.Ended, h.name)
		case drops[h.name] != nil:
			*drops[h.name] = c.RingDrops
		case c.RingDrops > 0:
			if r.RingDrops == nil {
				r.RingDrops = map[string]uint64{}
			}
			r.RingDrops[h.name] = c.RingDrops
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
