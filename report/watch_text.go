package report

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// Watch writes one look at the flows of this host as lines for a log: a line on
// all of them, then one for each that is shown.
func Watch(w io.Writer, look *flow.Snapshot, shown []flow.Flow) error {
	heading(w, look, shown)
	lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range shown {
		line(lines, &shown[i])
	}
	if err := lines.Flush(); err != nil {
		return fmt.Errorf("write flows: %w", err)
	}
	return nil
}

// WatchExplained writes what Watch does, and of each flow what limits it, the
// evidence, and what to do.
func WatchExplained(w io.Writer, look *flow.Snapshot, shown []flow.Flow, style Style) error {
	heading(w, look, shown)
	for i := range shown {
		f := &shown[i]
		lines := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		line(lines, f)
		if err := lines.Flush(); err != nil {
			return fmt.Errorf("write flows: %w", err)
		}
		if f.Idle {
			continue
		}
		s := &sheet{w: w, style: style}
		s.gap()
		s.marked("limit", Limit(f)+Sure(f), style.bold)
		s.row("", f.Limit.Says)
		s.facts(f.Limit.Evidence)
		s.todo(f.Limit)
		s.gap()
	}
	return nil
}

// heading is the line on all flows, and what could not be seen.
func heading(w io.Writer, look *flow.Snapshot, shown []flow.Flow) {
	_, _ = fmt.Fprintf(w, "%s  %s\n", look.At.Format(time.RFC3339), Flows(look, len(shown), "--all"))
	for _, note := range look.Notes {
		_, _ = fmt.Fprintln(w, "  note:", printable.Line(note))
	}
}

// Flows says how many flows there are, how many of them are shown, and what all
// of them move. all is what to type to see idle ones too.
func Flows(look *flow.Snapshot, shown int, all string) string {
	var out, in unit.Rate
	moving := 0
	for i := range look.Flows {
		f := &look.Flows[i]
		if f.Sends {
			out += f.Goodput
		} else {
			in += f.Goodput
		}
		if !f.Idle {
			moving++
		}
	}
	switch {
	case len(look.Flows) == 0:
		return "no TCP flow is open"
	case moving == 0 && shown == 0:
		return fmt.Sprintf("no flow moves data to speak of; %s shows idle ones (%d)", all, len(look.Flows))
	case shown == 0:
		return fmt.Sprintf("none of the %s that move data is selected", unit.Count(moving, "flow"))
	}
	return fmt.Sprintf("%d of %s; in all %v out, %v in", shown, unit.Count(len(look.Flows), "flow"), out, in)
}

// line writes a flow as cells of a table.
func line(w io.Writer, f *flow.Flow) {
	way := "<-"
	if f.Sends {
		way = "->"
	}
	_, _ = fmt.Fprintf(w, "  %s\t%v %s %v\t%v\t%s\tsent again %s\t%s\n",
		Process(f), Endpoint(f.Local), way, Endpoint(f.Remote), f.Goodput, "RTT "+RTT(f), unit.Percent(f.Lost), Limit(f))
}

// Limit names what limits a flow: nothing does one that is idle.
func Limit(f *flow.Flow) string {
	if f.Idle {
		return "idle"
	}
	return cmp.Or(f.Limit.Cause, diagnose.Unknown)
}

// Sure says how sure it is what limits a flow; "": not at all.
func Sure(f *flow.Flow) string {
	if f.Idle || f.Limit.Confidence <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%.0f %% sure)", 100*f.Limit.Confidence)
}

// Evidence is one fact a finding rests on, as people read it.
type Evidence struct{ Name, Value, Says string }

// EvidenceOf gives the facts of a finding, except its prediction.
func EvidenceOf(f *diagnose.Finding) []Evidence {
	var out []Evidence
	for _, fact := range f.Evidence {
		if fact.Name != predicted {
			value, says := meaning(fact)
			out = append(out, Evidence{printable.Line(fact.Name), value, says})
		}
	}
	return out
}

// Prediction is what a finding promises if its action is taken; "" if nothing.
func Prediction(f *diagnose.Finding) string {
	if f.Predicted <= 0 || f.Gain <= 1 {
		return ""
	}
	return fmt.Sprintf("predicted then: %s (%s)", f.Predicted, unit.Factor(f.Gain))
}

// RTT writes a flow's round-trip time; "-": not known.
func RTT(f *flow.Flow) string {
	if f.RTT <= 0 {
		return "-"
	}
	return unit.Milliseconds(f.RTT)
}

// Process names a flow's process, safe to show; "?": not known.
func Process(f *flow.Flow) string {
	name := printable.Line(f.Process)
	switch {
	case f.PID > 0 && name != "":
		return name + "[" + strconv.Itoa(f.PID) + "]"
	case f.PID > 0:
		return strconv.Itoa(f.PID)
	case name != "":
		return name
	}
	return "?"
}

// Endpoint writes an address and port, safe to show; IPv4 as IPv4 where a socket
// for both has it.
func Endpoint(a netip.AddrPort) string {
	return printable.Line(netip.AddrPortFrom(a.Addr().Unmap(), a.Port()).String())
}
