package watch

import (
	"cmp"
	"fmt"

	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/unit"
)

// explanation is the opened flow: what is known of it, what limits it, why that
// is certain, and what to do. The last stays in sight while all else is scrolled.
func (s *screen) explanation() []string {
	f := s.opened
	body, action := append(s.figures(f), s.finding(f)...), s.action(f)
	room := s.height - 3 - len(action)
	if room < 6 {
		body, action = append(body, action...), nil
		room = max(1, s.height-3)
	}
	s.scroll = max(0, min(s.scroll, len(body)-room))
	below := max(0, len(body)-s.scroll-room)
	body = body[s.scroll : len(body)-below]

	ended := ""
	if s.ended {
		ended = "this flow has ended: what was seen last"
	}
	lines := append([]string{bold.Render(printable.Fit(report.Process(f)+" "+toOrFrom(f, s.width), s.width)), printable.Fit(ended, s.width)}, body...)
	for len(lines) < s.height-1-len(action) {
		lines = append(lines, "")
	}
	keys := "esc back  q quit"
	if s.scroll > 0 || below > 0 {
		keys = fmt.Sprintf("esc back  up/down scroll (%d more below)  q quit", below)
	}
	return append(append(lines, action...), faint.Render(printable.Fit(keys, s.width)))
}

// figures are what is known of a flow.
func (s *screen) figures(f *flow.Flow) []string {
	rates := s.rates[f.ID]
	return []string{
		printable.Fit(fmt.Sprintf("rate        %-9v %s", f.Goodput, printable.Sparkline(rates[max(0, len(rates)-max(0, s.width-24)):])), s.width),
		printable.Fit(fmt.Sprintf("RTT         %s, at least %s; %.2g %% of the bytes resent", report.RTT(f), unit.Milliseconds(f.MinRTT), 100*f.Lost), s.width),
		printable.Fit(fmt.Sprintf("connection  %s, %s, %v since it was opened", f.State, cmp.Or(f.Congestion, "congestion control unknown"), unit.Size(f.Bytes)), s.width),
		printable.Fit(fmt.Sprintf("from here   %s", report.Endpoint(f.Local)), s.width),
		"",
	}
}

// finding is what limits a flow, and the evidence as a table.
func (s *screen) finding(f *flow.Flow) []string {
	lines := []string{bold.Render(printable.Fit(report.Limit(f)+report.Sure(f), s.width))}
	lines = append(append(lines, s.hang("", f.Limit.Says)...), "")
	evidence := report.EvidenceOf(&f.Limit)
	names, values := 0, 0
	for _, e := range evidence {
		names, values = max(names, printable.Width(e.Name)), max(values, printable.Width(e.Value))
	}
	for _, e := range evidence {
		lines = append(lines, s.hang("  "+pad(e.Name, names, false)+"  "+pad(e.Value, values, true)+"  ", e.Says)...)
	}
	return lines
}

// action is what to do, and what that brings.
func (s *screen) action(f *flow.Flow) []string {
	if f.Idle || f.Limit.Action == "" {
		return nil
	}
	lines := append([]string{""}, s.hang("do  ", f.Limit.Action)...)
	if says := report.Prediction(&f.Limit); says != "" {
		lines = append(lines, s.hang("    ", says)...)
	}
	return lines
}

// hang writes text behind a label, and its further lines below the first.
func (s *screen) hang(label, text string) []string {
	lines := printable.Hang(label, text, s.width)
	for i, line := range lines {
		lines[i] = printable.Fit(line, s.width)
	}
	return lines
}
