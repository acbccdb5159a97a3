package html

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// provenance is where the figures come from.
type provenance struct {
	Facts   []fact
	Changed []change // tunables that differ between the beginning and the end
	Hosts   []hostFacts
	Steps   []fact // what was done, with when
	Left    int
}

// change is a tunable with its value at two times, or on two runs.
type change struct {
	Host, Tunable string
	Values        []string
}

// hostFacts is one host as it was found.
type hostFacts struct {
	Name     string
	Facts    []fact
	Tunables []fact
}

func newProvenance(run *record.Run, l limits) *provenance {
	clean := func(text string) string { return clean(text, l.text) }
	p := &provenance{}
	p.add("run", clean(run.ID))
	p.add("started", started(run))
	p.add("command", clean("fullbore "+strings.Join(run.Command, " ")))
	p.add("version", clean(run.Version))
	p.add("scenario", clean(run.Scenario))
	p.add("tags", clean(strings.Join(run.Tags, ", ")))
	p.add("transfers", fmt.Sprint(len(run.Transfers)))
	for _, side := range []record.Side{record.Near, record.Far} {
		before, after := factsOf(run, side, record.Before), factsOf(run, side, record.After)
		if before == nil {
			before = after
		}
		if before == nil {
			continue
		}
		p.Hosts = append(p.Hosts, newHostFacts(side, before, l))
		if after != nil {
			p.Changed = append(p.Changed, differing(before.Name, l, before.Tunables, after.Tunables)...)
		}
	}
	var left int
	p.Changed, left = first(p.Changed, 5*l.list)
	p.Left += left
	steps, left := first(run.Events, 5*l.list)
	p.Left += left
	for _, e := range steps {
		text := e.Text
		if e.Kind == record.Result {
			text = "→ " + text
		}
		p.Steps = append(p.Steps, fact{fmt.Sprintf("%.1f s", min(e.At.Seconds(), 1e7)), clean(text)})
	}
	return p
}

func (p *provenance) add(label, value string) {
	if value != "" {
		p.Facts = append(p.Facts, fact{label, value})
	}
}

// factsOf is what was known of an end at one time; nil: nothing.
func factsOf(run *record.Run, side record.Side, when record.When) *host.Facts {
	for _, h := range run.Hosts {
		if h.Side == side && h.When == when && h.Is != nil {
			return h.Is
		}
	}
	return nil
}

func newHostFacts(side record.Side, h *host.Facts, l limits) hostFacts {
	clean := func(text string) string { return clean(text, l.text) }
	where := map[record.Side]string{record.Near: "this end", record.Far: "far end"}[side]
	f := hostFacts{Name: clean(h.Name) + " (" + where + ")"}
	add := func(label, value string) {
		if strings.TrimSpace(value) != "" {
			f.Facts = append(f.Facts, fact{label, clean(value)})
		}
	}
	add("system", strings.TrimSpace(h.OS+" "+h.Version+" "+h.Arch))
	add("distribution", h.Distribution)
	add("processors", strings.TrimSpace(fmt.Sprintf("%d %s", h.CPUs, h.CPUModel)))
	add("memory", unit.Size(h.Memory).String())
	interfaces, _ := first(h.Interfaces, 8)
	for _, i := range interfaces {
		if !i.Up {
			continue
		}
		says := fmt.Sprintf("MTU %d", i.MTU)
		if i.Speed > 0 {
			says += ", " + (unit.Rate(i.Speed) * unit.Mbps).String()
		}
		if i.Driver != "" {
			says += ", " + i.Driver
		}
		if len(i.Qdiscs) > 0 {
			says += ", queue " + i.Qdiscs[0].Kind
		}
		if len(i.Addresses) > 0 {
			addresses, _ := first(i.Addresses, 4)
			says += ", " + strings.Join(addresses, " ")
		}
		add("interface "+clean(i.Name), says)
	}
	for _, m := range h.Managers {
		if len(f.Facts) < 2*l.list {
			add("also sets tunables", m.Name+" "+m.Sets)
		}
	}
	names, _ := first(slices.Sorted(maps.Keys(h.Tunables)), 10*l.list)
	for _, name := range names {
		f.Tunables = append(f.Tunables, fact{clean(name), clean(h.Tunables[name])})
	}
	return f
}

// differing are the tunables that do not have the same value everywhere.
func differing(name string, l limits, all ...map[string]string) []change {
	names := map[string]bool{}
	for _, tunables := range all {
		for n := range tunables {
			names[n] = true
		}
	}
	var changes []change
	for _, n := range slices.Sorted(maps.Keys(names)) {
		c := change{Host: clean(name, l.text), Tunable: clean(n, l.text)}
		same := true
		for _, tunables := range all {
			value, ok := tunables[n]
			if !ok {
				value = "not there"
			}
			same = same && value == orElse(all[0], n)
			c.Values = append(c.Values, clean(value, l.text))
		}
		if !same {
			changes = append(changes, c)
		}
	}
	return changes
}

func orElse(tunables map[string]string, name string) string {
	if value, ok := tunables[name]; ok {
		return value
	}
	return "not there"
}
