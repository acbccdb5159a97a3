package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/pattern"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// Fleet writes what came of an experiment over many hosts.
func Fleet(w io.Writer, r *fleet.Result) {
	s := &fleetSheet{&sheet{w: w}, r}
	if r.Mesh != nil {
		s.mesh()
	} else if r.Pattern != fleet.Rehearsal {
		for i := range r.Rounds {
			s.round(&r.Rounds[i])
		}
	}
	for _, row := range FleetRows(r) {
		s.row(row.Label, row.Text)
	}
}

// FleetRow is something that an experiment came to.
type FleetRow struct{ Label, Text string }

// FleetRows are what an experiment came to, in words: what is sick and why, what all came to together,
// what failed, how far apart they started.
func FleetRows(r *fleet.Result) []FleetRow {
	t := &fleetWords{Result: r}
	switch {
	case r.Mesh != nil && r.Sick != nil:
		t.sick()
	case r.Pattern == fleet.Rehearsal:
		for i := range r.Rounds {
			t.rehearsal(&r.Rounds[i])
		}
	default:
		for i := range r.Rounds {
			t.together(&r.Rounds[i])
		}
	}
	if r.Sick == nil {
		t.verdicts()
	}
	t.reports()
	t.failed()
	for _, l := range r.LeftOut {
		t.row("left out", l.Host+": "+l.Why)
	}
	t.started()
	return t.rows
}

type fleetWords struct {
	*fleet.Result
	rows []FleetRow
}

func (s *fleetWords) row(label, text string) {
	s.rows = append(s.rows, FleetRow{label, printable.Line(text)})
}

type fleetSheet struct {
	*sheet
	*fleet.Result
}

// host names one. What it is called came from elsewhere.
func (s *fleetSheet) host(i int) string { return printable.Line(s.Host(i)) }

// rehearsal says how many started.
func (s *fleetWords) rehearsal(r *fleet.Round) {
	started := 0
	for _, f := range r.Flows {
		if f.Error == "" {
			started++
		}
	}
	s.row("hosts", fmt.Sprintf("%d of %d started, and sent nothing", started, len(r.Flows)))
}

// together says what the flows of a round came to.
func (s *fleetWords) together(r *fleet.Round) {
	t := r.Together
	if t == nil {
		return
	}
	s.row("together", fmt.Sprintf("%v in the %.3g s in which all were active; fairness %.2f (1: all get the same)", unit.Rate(t.Goodput), t.Seconds, t.Fairness))
	if len(r.Flows) > 1 {
		s.row("done", fmt.Sprintf("the first after %.3g s, the last after %.3g s", t.FirstDone, t.LastDone))
	}
}

// round is flows that ran at the same time, each with its share.
func (s *fleetSheet) round(r *fleet.Round) {
	width := 0
	for _, f := range r.Flows {
		width = max(width, len(printable.Line(s.Flow(f.From, f.To))))
	}
	for _, f := range r.Flows {
		if f.Error != "" {
			continue
		}
		text := fmt.Sprintf("%-*s  %12v", width, printable.Line(s.Flow(f.From, f.To)), unit.Rate(f.Goodput))
		if f.Share > 0 {
			text += fmt.Sprintf("  %5s", unit.Percent(f.Share))
		}
		if f.LoadedRTT > 0 {
			text += fmt.Sprintf("  RTT %.3g ms", f.LoadedRTT)
		}
		if f.Repeated > 0 {
			text += fmt.Sprintf("  %s sent again", unit.Percent(f.Repeated))
		}
		s.line("flow", text)
	}
}

// mesh is who got how much to whom, in Mb/s: rows send, columns receive.
func (s *fleetSheet) mesh() {
	const most = 12 // columns of a terminal
	if len(s.Hosts) > most {
		s.row("mesh", fmt.Sprintf("%d hosts: --json has what each got to each", len(s.Hosts)))
		return
	}
	suspect := map[[2]int]bool{}
	if s.Sick != nil {
		for _, l := range s.Sick.Links {
			suspect[[2]int{l.From, l.To}] = true
		}
	}
	width := 0
	for i := range s.Hosts {
		width = max(width, len(s.host(i)))
	}
	line := fmt.Sprintf("%-*s", width, "Mb/s to")
	for j := range s.Hosts {
		line += fmt.Sprintf(" %*s", max(5, len(s.host(j))), s.host(j))
	}
	s.line("from", line)
	for i, row := range s.Mesh.Goodput {
		line = fmt.Sprintf("%-*s", width, s.host(i))
		for j, v := range row {
			text := "-"
			if v > 0 {
				text = fmt.Sprintf("%.0f", v/1e6)
			}
			if suspect[[2]int{i, j}] {
				text = "*" + text
			}
			line += fmt.Sprintf(" %*s", max(5, len(s.host(j))), text)
		}
		s.line("", line)
	}
}

// sick says which hosts and links are not like the others.
func (s *fleetWords) sick() {
	switch {
	case s.Sick == nil:
		return
	case len(s.Sick.Hosts)+len(s.Sick.Links) == 0:
		s.row("sick", "none: no host and no link carries less than the others do")
	}
	for _, h := range s.Sick.Hosts {
		s.row("sick", fmt.Sprintf("host %s %s less than the others, whoever is at the other end: %v, usual are %v%s",
			s.Host(h.Host), h.Ways, unit.Rate(h.Median), unit.Rate(h.Usual), s.repeatedOf(h.Host)))
		s.why(func(f pattern.Flow) bool { return f.From == h.Host || f.To == h.Host })
	}
	for _, l := range s.Sick.Links {
		again := ""
		if share := s.Mesh.Repeated[l.From][l.To]; share > 0 {
			again = fmt.Sprintf("; %s of the bytes were sent again", unit.Percent(share))
		}
		s.row("sick", fmt.Sprintf("the way from %s to %s: %v, and %v with others%s", s.Host(l.From), s.Host(l.To), unit.Rate(l.Goodput), unit.Rate(l.Usual), again))
		s.why(func(f pattern.Flow) bool { return f == l.Flow })
	}
}

// mostVerdicts is how many ways are named with their verdicts.
const mostVerdicts = 20

// verdicts says what was found where each way was diagnosed: how often each cause, and which ways have another one
// than the usual.
func (s *fleetWords) verdicts() {
	count := map[string]int{}
	for i := range s.Causes {
		if c := &s.Causes[i]; c.Finding != nil {
			count[c.Cause]++
		}
	}
	if len(count) == 0 {
		return
	}
	causes := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	var text []string
	for _, c := range causes {
		text = append(text, c+" of "+unit.Count(count[c], "way"))
	}
	s.row("verdicts", strings.Join(text, ", "))
	named := 0
	for i := range s.Causes {
		c := &s.Causes[i]
		if c.Finding == nil || len(causes) > 1 && c.Cause == causes[0] {
			continue
		}
		if named++; named > mostVerdicts {
			s.row("more", "--json has the others")
			break
		}
		s.row("verdict", fmt.Sprintf("%s: %s", s.Flow(c.From, c.To), c.String()))
	}
}

// reports are what came of tasks, each line by line.
func (s *fleetWords) reports() {
	for i := range s.Reports {
		label, of := "result", &s.Reports[i]
		for n, line := range of.Says {
			if n == 0 {
				line = s.Flow(of.From, of.To) + ": " + line
			}
			s.row(label, line)
			label = ""
		}
	}
}

// why says what a diagnosis found of something sick.
func (s *fleetWords) why(of func(pattern.Flow) bool) {
	for i := range s.Causes {
		c := &s.Causes[i]
		if of(c.Flow) {
			s.row("why", fmt.Sprintf("%s: %s", s.Flow(c.From, c.To), c.String()))
			return
		}
	}
}

// repeatedOf says how much was sent again to and from a host, by the median of its flows.
func (s *fleetWords) repeatedOf(host int) string {
	middle := func(of func(other int) float64) float64 {
		var all []float64
		for other := range s.Hosts {
			if other != host {
				all = append(all, of(other))
			}
		}
		return stat.Median(all)
	}
	out := middle(func(other int) float64 { return s.Mesh.Repeated[host][other] })
	in := middle(func(other int) float64 { return s.Mesh.Repeated[other][host] })
	if max(out, in) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s of what it sends and %s of what it gets was sent again", unit.Percent(out), unit.Percent(in))
}

// failed names flows that came to nothing: each reason once.
func (s *fleetWords) failed() {
	flows := map[string][]string{}
	for _, round := range s.Rounds {
		for _, f := range round.Flows {
			if f.Error != "" {
				flows[f.Error] = append(flows[f.Error], s.Flow(f.From, f.To))
			}
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(flows)) {
		const few = 4
		named := flows[reason]
		more := ""
		if len(named) > few {
			more = fmt.Sprintf(" and %d more", len(named)-few)
			named = named[:few]
		}
		s.row("failed", fmt.Sprintf("%s%s: %s", strings.Join(named, ", "), more, reason))
	}
}

// started says how far apart the flows of a round began, at the worst.
func (s *fleetWords) started() {
	var worst *fleet.Skew
	for i := range s.Rounds {
		if k := s.Rounds[i].Skew; k != nil && (worst == nil || k.P99 > worst.P99) {
			worst = k
		}
	}
	switch {
	case worst == nil:
	case !worst.Claimed:
		s.row("start", fmt.Sprintf("the clocks are known to ± %s only: that the flows started together is not claimed", millis(worst.Bound)))
	default:
		s.row("start", fmt.Sprintf("half within %s of the first, 99 %% within %s (± %s, as far as the clocks are known)", millis(worst.P50), millis(worst.P99), millis(worst.Bound)))
	}
}

func millis(ms float64) string {
	return unit.Milliseconds(time.Duration(ms * float64(time.Millisecond)))
}
