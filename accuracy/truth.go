package main

import (
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// Truth is by experiment: what limits a path is what, taken away, lets more through. A drawn path is measured as it is, with each thing
// healed that might limit it, and with all of them.

// cures are what can be taken out of a drawn path, each with what it leaves: all plants, and, of what every path has, a queue of less than a
// bandwidth-delay product and a way back that is slower than the way there.
func (d *drawn) cures() map[string]document {
	causes := slices.Clone(d.planted)
	if d.Path.AToB.Queue.Size(d.Path.AToB.Rate, d.Path.RTT()) < d.Path.BDP(&d.Path.AToB) && !slices.Contains(causes, diagnose.ShallowQueue) {
		causes = append(causes, diagnose.ShallowQueue)
	}
	if d.Path.BToA.Rate < d.Path.AToB.Rate && !slices.Contains(causes, diagnose.ReversePath) {
		causes = append(causes, diagnose.ReversePath)
	}
	all := map[string]document{}
	for _, cause := range causes {
		healed := d.document.clone()
		cure(healed, cause)
		all[cause] = healed
	}
	if len(causes) > 1 {
		healed := d.document.clone()
		for _, cause := range causes {
			cure(healed, cause)
		}
		all[allOfThem] = healed
	}
	return all
}

// allOfThem is the name of the path from which everything was taken that might limit it.
const allOfThem = "all"

// cure takes out of a drawn path what might limit it. [heal] makes a way back as the way there is; with what else was drawn that would be another fault.
func cure(d document, cause string) {
	switch cause {
	case diagnose.ReversePath:
		there, back := d.at("path", "a_to_b"), d.at("path", "b_to_a")
		d.at("path")["b_to_a"] = map[string]any{"rate": there["rate"], "delay": back["delay"]}
	case diagnose.MTUBlackHole:
		d.without("black_hole_above")
	default:
		healers[cause](d)
	}
}

// reading is one transfer.
type reading struct {
	Goodput unit.Rate     `json:"goodput_bps"`
	RTT     time.Duration `json:"loaded_rtt_ns,omitempty"` // while it sent: 95 % were shorter
}

// truth is what was measured of a drawn path, and kept: a label is made of it again whenever one is needed.
type truth struct {
	Schema  string               `json:"schema"` // "fullbore/truth/1"
	Name    string               `json:"name"`
	RTT     time.Duration        `json:"rtt_ns"` // of the idle path
	Planted []string             `json:"planted"`
	AsIs    []reading            `json:"as_is"`
	Healed  map[string][]reading `json:"healed"`  // by cause, and of all of them
	Invalid int                  `json:"invalid"` // transfers in which the lab itself lost packets: not among the others
	Problem string               `json:"problem,omitempty"`
}

const truthSchema = "fullbore/truth/1"

// worth is the gain from which something limits: less than a tenth nobody would do anything for.
const worth = 1.1

// label is what limits a path, by what was measured.
type label struct {
	causes    []string // what gains most, and what gains as much within the noise; healthy; none where it is not known
	gain      float64  // of the first of them
	undecided []string // more runs would tell whether these matter
}

// known says whether the path has a truth.
func (l *label) known() bool { return len(l.causes) > 0 }

// String is a cell of a table.
func (l *label) String() string {
	if !l.known() {
		return "ambiguous (" + strings.Join(l.undecided, ", ") + ")"
	}
	return strings.Join(l.causes, " or ")
}

// label decides, with 95 % confidence in each comparison.
func (t *truth) label() label {
	var l label
	found := map[string]stat.Effect{}
	var gains []string
	for _, cause := range t.tried() {
		e := stat.Ratio(rates(t.AsIs), rates(t.Healed[cause]))
		if silent(t.AsIs) && silent(t.Healed[cause]) { // no scatter, and no gain
			e = stat.Effect{Gain: 1, Low: 1, High: 1}
		}
		found[cause] = e
		switch {
		case e.Low >= worth:
			gains = append(gains, cause)
		case e.High >= worth:
			l.undecided = append(l.undecided, cause)
		}
	}
	if all, ok := found[allOfThem]; ok {
		gains = slices.DeleteFunc(gains, func(c string) bool { return c == allOfThem })
		if len(gains) == 0 && all.Low >= worth && len(l.undecided) == 0 { // each is as narrow as the others
			for _, cause := range t.tried() {
				if cause != allOfThem {
					l.causes = append(l.causes, cause)
				}
			}
			l.gain = all.Gain
			return l
		}
	}
	if len(gains) == 0 {
		if len(l.undecided) == 0 {
			l.causes, l.gain = t.healthy(), 1
		}
		return l
	}
	slices.SortFunc(gains, func(a, b string) int {
		if found[a].Gain > found[b].Gain {
			return -1
		}
		return 1
	})
	best := found[gains[0]]
	l.gain = best.Gain
	for _, cause := range gains {
		if found[cause].High >= best.Low {
			l.causes = append(l.causes, cause)
		}
	}
	// What may gain a tenth does not matter where something else gains far more.
	l.undecided = slices.DeleteFunc(l.undecided, func(c string) bool { return found[c].High < best.Low })
	if len(l.undecided) > 0 {
		l.causes = nil
	}
	return l
}

// tried are the causes that were healed, in order.
func (t *truth) tried() []string {
	var causes []string
	for cause := range t.Healed {
		causes = append(causes, cause)
	}
	slices.Sort(causes)
	return causes
}

// healthy are the names for a path that nothing makes faster: healthy, bufferbloat where its queue makes everything wait, and either in between. People
// notice 100 ms, and a queue of more than two bandwidth-delay products does nothing for goodput (Villamizar and Song, CCR 24, 1994).
func (t *truth) healthy() []string {
	const between = 1.5
	waits := stat.Median(times(t.AsIs)) - t.RTT.Seconds()
	over := min(waits/0.1, waits/(2*t.RTT.Seconds()))
	switch {
	case over > between:
		return []string{diagnose.Bufferbloat}
	case over > 1/between:
		return []string{diagnose.Healthy, diagnose.Bufferbloat}
	}
	return []string{diagnose.Healthy}
}

// silent says whether nothing arrived in any transfer.
func silent(readings []reading) bool {
	return len(readings) >= fewestRuns && !slices.ContainsFunc(readings, func(r reading) bool { return r.Goodput > nothing })
}

func rates(readings []reading) (all []float64) {
	for _, r := range readings {
		all = append(all, float64(r.Goodput))
	}
	return all
}

func times(readings []reading) (all []float64) {
	for _, r := range readings {
		all = append(all, r.RTT.Seconds())
	}
	return all
}
