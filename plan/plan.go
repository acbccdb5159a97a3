// Package plan turns a path, two hosts and a verdict into ordered changes to
// tunables. It only ever raises, within the hosts' memory.
//
// Its comments and tests name practitioners' articles by their subject: those on
// LAN buffers of Linux and Solaris, wide-area TCP, GigaSwift Ethernet, Mac OS X,
// and NFS over 10 Gb/s.
package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// Plan is an ordered list of changes for both ends of one direction of a path.
type Plan struct {
	Steps []Step   `json:"steps"` // tried one after the other; each is one idea
	Notes []string `json:"notes"` // what was left alone or assumed, and why
}

// Step is a set of changes that only make sense together.
type Step struct {
	Idea      string    `json:"idea"` // "let the receiver's window grow to twice the path's BDP"
	Changes   []Change  `json:"changes"`
	Predicted unit.Rate `json:"predicted_bps"` // goodput if the idea is right; 0: no prediction
	Risk      string    `json:"risk,omitempty"`
}

// Role is a host's part in the planned direction of a path.
type Role string

// The roles.
const (
	Sender   Role = "sender"
	Receiver Role = "receiver"
)

// Change sets one tunable on one host.
type Change struct {
	Role    Role   `json:"-"`       // which host of the Input it is for; "": only its name is known, as in a plan that was read from a file
	Host    string `json:"host"`    // its name, for people, as in host.Facts
	Tunable string `json:"tunable"` // catalogue name
	From    string `json:"from"`
	To      string `json:"to"`
	Why     string `json:"why"`
	Source  string `json:"source"` // title and address
}

// Make plans the changes. The first step lifts what limits now, according to the
// verdict; each further one lifts what will limit next, lowest first; a change of
// congestion control, which affects others on the path, comes last unless it is
// the answer to the verdict. A full path and hosts that are right already make a
// plan without steps. Where nothing that is planned answers the verdict, a note
// says why, and what helps.
func Make(in Input) *Plan {
	if in.Diagnosis != nil && Full(in.Diagnosis.Verdict.Cause) {
		return &Plan{Steps: []Step{}, Notes: []string{unplannable[in.Diagnosis.Verdict.Cause]}}
	}
	m := newMaker(in)
	m.think()
	verdict := m.verdict()
	slices.SortStableFunc(m.ideas, func(a, b idea) int {
		return cmp.Compare(a.rank(verdict), b.rank(verdict))
	})
	m.settle()
	m.predict()
	m.aboutVerdict(verdict)
	m.aboutOthers()
	m.aboutObsolete()
	return m.plan()
}

// idea is a step on its way into the plan.
type idea struct {
	Step
	answers []string  // causes that it lifts
	limit   unit.Rate // goodput that the present setting allows
	after   unit.Rate // goodput that the new one allows
}

// rank orders ideas: the answer to the verdict, then the lowest limit.
func (i idea) rank(verdict string) float64 {
	if slices.Contains(i.answers, verdict) {
		return -1
	}
	return float64(i.limit)
}

// unlimited ranks an idea behind those that lift a known limit.
var unlimited = unit.Rate(math.Inf(1))

// predict gives each step the goodput to expect once it and all before it are
// done: the lowest limit that is left, and no less than was reached without.
// Where the path's capacity is not known there is no prediction.
func (m *maker) predict() {
	limit, known := m.pathLimit()
	if !known {
		return
	}
	for i := range m.ideas {
		expect := min(limit, m.lossLimit(m.ideas[:i+1]))
		for j, other := range m.ideas {
			if j <= i {
				expect = min(expect, other.after)
			} else {
				expect = min(expect, other.limit)
			}
		}
		m.ideas[i].Predicted = max(expect, m.reached())
	}
}

// lossLimit is what the sender reaches with the loss that was found, unless one
// of the ideas changes the congestion control.
func (m *maker) lossLimit(done []idea) unit.Rate {
	for _, i := range done {
		if slices.Contains(i.answers, diagnose.RandomLoss) {
			return unlimited
		}
	}
	if f := m.finding(diagnose.RandomLoss); f != nil && f.LossLimit > 0 {
		return f.LossLimit
	}
	return unlimited
}

func (m *maker) plan() *Plan {
	p := &Plan{Steps: []Step{}, Notes: append([]string{}, m.notes...)}
	for _, i := range m.ideas {
		i.Risk = m.risks(i.Step)
		p.Steps = append(p.Steps, i.Step)
	}
	return p
}

func (m *maker) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(m.notes, text) {
		m.notes = append(m.notes, text)
	}
}
