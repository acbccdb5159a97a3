package watch

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/report"
)

// Emphasis works on dark and on light terminals alike, and without colours.
var (
	bold    = lipgloss.NewStyle().Bold(true)
	faint   = lipgloss.NewStyle().Faint(true)
	reverse = lipgloss.NewStyle().Reverse(true)
)

// View draws the whole screen.
func (s *screen) View() tea.View {
	draw := s.table
	if s.opened != nil {
		draw = s.explanation
	}
	lines := draw()
	view := tea.NewView(strings.Join(lines[:min(len(lines), max(1, s.height))], "\n"))
	view.AltScreen = true
	view.WindowTitle = "fullbore watch"
	return view
}

// rows is how many flows fit: two lines are above them, one or two below.
func (s *screen) rows() int {
	room := s.height - 3
	if s.latest != nil && len(s.latest.Notes) > 0 {
		room--
	}
	return max(1, room)
}

func (s *screen) table() []string {
	columns := s.columns()
	lines := []string{bold.Render(printable.Fit("fullbore watch  "+s.summary(), s.width)), faint.Render(printable.Fit(titles(columns), s.width))}
	for i := range s.rows() {
		if i += s.first; i >= len(s.shown) {
			lines = append(lines, "")
			continue
		}
		f := &s.shown[i]
		row := printable.Fit(cells(columns, f), s.width)
		if i == s.row {
			row = reverse.Render(pad(row, s.width, false))
		} else if f.Idle {
			row = faint.Render(row)
		}
		lines = append(lines, row)
	}
	if s.latest != nil && len(s.latest.Notes) > 0 {
		lines = append(lines, faint.Render(printable.Fit("note: "+printable.Line(strings.Join(s.latest.Notes, "; ")), s.width)))
	}
	return append(lines, s.footer())
}

func (s *screen) summary() string {
	if s.latest == nil {
		return "looking"
	}
	if len(s.latest.Flows) > 0 && s.latest.Over <= 0 {
		return "measuring"
	}
	return report.Flows(s.latest, len(s.shown), "a")
}

// footer says what keys do, or what is being typed.
func (s *screen) footer() string {
	text := s.watch.Selection.Text
	switch {
	case s.typing:
		return printable.Fit("filter: "+text+"▏ (enter: keep, esc: none)", s.width)
	case text != "":
		return printable.Fit("filter: "+text+"  (/: change, esc: none, enter: explain, q: quit)", s.width)
	}
	return faint.Render(printable.Fit("enter explain  / filter  a idle  by: r rate t RTT x resent p process  q quit", s.width))
}

// column is one of the table.
type column struct {
	title string
	width int
	right bool // aligned
	cell  func(*flow.Flow) string
}

// columns are as many as the terminal's width has room for: 80 hold what matters.
func (s *screen) columns() []column {
	// from gives the last width for which the terminal is wide enough.
	from := func(widths ...int) int {
		fits := 0
		for i := 0; i < len(widths); i += 2 {
			if s.width >= widths[i] {
				fits = widths[i+1]
			}
		}
		return fits
	}
	far, spark := from(0, 20, 72, 23, 150, 32), from(80, 6, 110, 16)
	all := []column{
		{"PROCESS", from(0, 8, 72, 10, 100, 18), false, report.Process},
		{"  FAR END", far, false, func(f *flow.Flow) string { return toOrFrom(f, far) }},
		{"RATE", 9, true, func(f *flow.Flow) string { return f.Goodput.String() }},
		{"", spark, false, func(f *flow.Flow) string {
			rates := s.rates[f.ID]
			return strings.Repeat(" ", max(0, spark-len(rates))) + printable.Sparkline(rates[max(0, len(rates)-spark):])
		}},
		{"RTT", from(72, 8), true, report.RTT},
		{"RESENT", from(90, 7), true, func(f *flow.Flow) string { return fmt.Sprintf("%.2g %%", 100*f.Lost) }},
		{"HERE", from(130, 22), false, func(f *flow.Flow) string { return short(report.Endpoint(f.Local), 22) }},
		{"LIMIT", 18, false, report.Limit},
		{"", from(170, s.width), false, func(f *flow.Flow) string { return printable.Line(f.Limit.Says) }},
	}
	return slices.DeleteFunc(all, func(c column) bool { return c.width == 0 })
}

// toOrFrom is where a flow's data goes to, or comes from.
func toOrFrom(f *flow.Flow, width int) string {
	way := "← "
	if f.Sends {
		way = "→ "
	}
	return way + short(report.Endpoint(f.Remote), width-2)
}

// short cuts an endpoint to a width, but not its port.
func short(endpoint string, width int) string {
	port := strings.LastIndex(endpoint, ":")
	if printable.Width(endpoint) <= width || port < 0 {
		return endpoint
	}
	return printable.Fit(endpoint[:port], width-len(endpoint[port:])) + endpoint[port:]
}

func titles(columns []column) string {
	var b strings.Builder
	for _, c := range columns {
		b.WriteString(pad(c.title, c.width, c.right) + " ")
	}
	return strings.TrimRight(b.String(), " ")
}

func cells(columns []column, f *flow.Flow) string {
	var b strings.Builder
	for _, c := range columns {
		b.WriteString(pad(c.cell(f), c.width, c.right) + " ")
	}
	return strings.TrimRight(b.String(), " ")
}

// pad gives text exactly width columns.
func pad(text string, width int, right bool) string {
	text = printable.Fit(text, width)
	space := strings.Repeat(" ", max(0, width-printable.Width(text)))
	if right {
		return space + text
	}
	return text + space
}
