// Package twin makes a scenario of the lab from a kept run: the path that was
// measured, and both hosts' settings, so that a change is tried there before anyone
// touches the hosts. Every value says how it is known: what nothing shows is assumed,
// and said to be.
//
// Host a of the scenario is the one that sent, b the one that received. A value rests
// on what the run measured, never on a fit to what came of it: the rate on packet
// trains or on a full bottleneck, the queue on how much longer round trips were when it
// ran over, loss on what went missing without a queue, and so on, one file an idea.
package twin

import (
	"errors"
	"fmt"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// Schema is the version of the JSON contract.
const Schema = "fullbore/twin/1"

// Twin is a measured path as a scenario, with what is known of each of its values;
// docs/json.md describes it key by key.
type Twin struct {
	Schema   string        `json:"schema"` // Schema
	Run      string        `json:"run"`    // that it was made from
	From     string        `json:"from"`   // host that sent: a
	To       string        `json:"to"`     // host that received: b
	Verdict  string        `json:"verdict,omitempty"`
	Before   unit.Rate     `json:"before_bps"`          // goodput as it was found
	After    unit.Rate     `json:"after_bps,omitempty"` // goodput after a tuning that kept changes
	Keys     []Key         `json:"keys"`                // in the order of the file
	Lacks    []string      `json:"lacks"`               // what the lab has no key for, or the run does not show
	Scenario *lab.Scenario `json:"scenario"`            // as the lab reads the file
}

// Make turns a run into its twin. The error says what the run lacks.
func Make(run *record.Run) (*Twin, error) {
	s, err := look(run)
	if err != nil {
		return nil, err
	}
	b := &builder{seen: s}
	b.t = &Twin{
		Schema: Schema, Run: printable.Line(run.ID), From: printable.Line(s.from), To: printable.Line(s.to),
		Verdict: s.verdict.Cause, Before: s.before, After: s.after, Keys: []Key{}, Lacks: []string{},
	}
	b.head()
	b.packets()
	b.way(true)
	b.way(false)
	b.host("a")
	b.host("b")
	b.traffic()
	if known(s.verdict.Cause) {
		b.set(Key{How: Measured, Why: "the verdict of this run"}, s.verdict.Cause, "expect", "cause")
	}
	b.lacks()
	text := b.t.YAML()
	if b.t.Scenario, err = lab.Parse("twin", []byte(text)); err != nil {
		return nil, fmt.Errorf("the run's figures make no scenario: %w", err)
	}
	return b.t, nil
}

// known says whether a scenario may expect the cause: a run may come from anywhere.
func known(cause string) bool { return cause == diagnose.Healthy || diagnose.Known(cause) }

// builder writes the values of a twin, one after the other.
type builder struct {
	*seen
	t *Twin
}

// way writes one direction of the path: there, from a to b, or back.
func (b *builder) way(there bool) {
	name, link, probed := "b_to_a", b.rates[1], b.back
	if there {
		name, link, probed = "a_to_b", b.rates[0], b.there
	}
	b.set(link.key(), rate(link.rate), "path", name, "rate")
	b.delay(name, there)
	b.queue(name, there)
	b.hole(name, probed)
	if there {
		b.policer(name)
		b.loss(name)
		b.reorder(name)
	} else {
		b.lostBack(name)
	}
	b.clamp(name, there)
	b.stripped(name)
	if there {
		b.set(Key{How: Assumed, Why: "of all that is random: chance in the twin is another than on the path"}, "1", "path", name, "seed")
	} else {
		b.set(Key{How: Assumed, Why: "the same"}, "2", "path", name, "seed")
	}
}

// set adds a key with its value, as a scenario writes it.
func (b *builder) set(k Key, value string, at ...string) {
	k.at, k.Value = at, value
	k.name()
	b.t.Keys = append(b.t.Keys, k)
}

// leave says why a key is not in the scenario: what is known of it is that there is
// none, or not more than so much.
func (b *builder) leave(k Key, at ...string) { b.set(k, "", at...) }

// lack says something that the twin does not have.
func (b *builder) lack(format string, args ...any) {
	b.t.Lacks = append(b.t.Lacks, printable.Line(fmt.Sprintf(format, args...)))
}

// Errors of runs that make no twin.
var (
	// ErrNothing says that nothing was measured.
	ErrNothing = errors.New("nothing was measured in this run: a twin is made from a diagnose or a tune that moved data")
	// ErrKind says that the run is of another verb.
	ErrKind = errors.New("a twin is made from a run of diagnose or tune, which probe the path and look at both hosts")
)
