package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

// maker is a plan in the making.
type maker struct {
	Input
	need  need
	bbr   string // why the sender is to use BBR; "": it is not
	ideas []idea
	notes []string
}

func newMaker(in Input) *maker {
	in.Streams = max(in.Streams, 1)
	m := &maker{Input: in}
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
	case h == nil:
		m.note("The %s's settings are not known, so nothing is planned for it: a far end tells them to those who have its token.", role)
		return nil
	case h.Forwards:
		m.note("%s routes packets: a router or firewall is not tuned, since buffers are per connection and only waste its memory.", h.Name)
		return nil
	}
	if _, err := tunable.Catalogue(h.OS); err != nil {
		m.note("%s runs %s, for which there are no rules.", h.Name, h.OS)
		return nil
	}
	return h
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

// change plans a value for a tunable, unless the host has it already, does not
// have the tunable, or may not change it. Sizes are only ever raised.
func (m *maker) change(h *host.Facts, name, value, why string) []Change {
	present, ok := h.Tunables[name]
	entry, known := tunable.Lookup(h.OS, name)
	if !ok || !known || entry.Leave != "" || !entry.Applies(h.Version) {
		m.note("%s does not have %s, or it has no effect there.", h.Name, name)
		return nil
	}
	present = tunable.Normalise(present)
	if entry.Rising {
		raised, higher := tunable.Raise(present, value)
		if !higher {
			return nil
		}
		value = raised
	}
	if value == present {
		return nil
	}
	if h.CanChange && slices.Contains(h.ReadOnly, name) {
		m.note("%s should be %s on %s, but it cannot be set there: it belongs to the machine, not to this network namespace.", name, value, h.Name)
		return nil
	}
	if err := entry.Check(value); err != nil {
		m.note("Nothing is planned for %s: %v.", h.Name, err)
		return nil
	}
	return []Change{{Host: h.Name, Tunable: name, From: present, To: value, Why: why, Source: source(entry)}}
}

func source(t *tunable.Tunable) string {
	return strings.TrimSpace(fmt.Sprintf("%s, %s", t.Source.Title, t.Source.URL))
}

func risk(h *host.Facts, name string) string {
	if t, ok := tunable.Lookup(h.OS, name); ok {
		return t.Risk
	}
	return ""
}
