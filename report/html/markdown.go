package html

import (
	"fmt"
	"io"
	"strings"

	"github.com/fullbore/fullbore/record"
)

// ticket bounds what a ticket shows of a run.
var ticket = limits{list: 12, text: 400}

// Markdown writes runs for a ticket: what the first screen of the page has, and no
// figures.
func Markdown(w io.Writer, runs []*record.Run) error {
	if err := check(runs); err != nil {
		return err
	}
	m := &markdown{}
	if c := newComparison(runs, ticket); c != nil {
		m.comparison(c)
	}
	for i, run := range runs {
		number := ""
		if len(runs) > 1 {
			number = fmt.Sprintf("Run %d: ", i+1)
		}
		m.run(number, summarise(run, ticket), newProvenance(run, ticket))
	}
	_, err := io.WriteString(w, strings.TrimLeft(m.b.String(), "\n"))
	return err
}

type markdown struct{ b strings.Builder }

func (m *markdown) comparison(c *comparison) {
	m.line("\n## fullbore: %s\n", inline(c.Headline))
	rows := [][]string{{"", "from → to", c.Of, "95 % interval", "against run 1", "verdict", "started"}}
	for _, r := range c.Runs {
		rows = append(rows, []string{fmt.Sprint(r.Number), r.Way, r.Goodput, r.Interval, r.Against, r.Kind + ": " + r.Verdict, r.Started})
	}
	m.table(rows)
	if len(c.Differs) > 0 {
		rows = [][]string{append([]string{"what else differs", ""}, c.Numbers...)}
		for _, d := range c.Differs {
			rows = append(rows, append([]string{d.Host, d.Tunable}, d.Values...))
		}
		m.table(rows)
	}
}

func (m *markdown) run(number string, s *summary, p *provenance) {
	m.line("\n## %sfullbore %s, %s → %s: %s\n", number, inline(s.Kind), inline(s.From), inline(s.To), inline(s.Headline))
	if s.Says != "" {
		m.line("%s\n", inline(s.Says))
	}
	for _, warning := range s.Warnings {
		m.line("> %s\n", inline(warning))
	}
	if s.Before != "" {
		line := "**" + inline(s.Before) + "**"
		if s.After != "" {
			line += " → **" + inline(s.After) + "**"
		}
		if s.Gain != "" {
			line += ", " + inline(s.Gain)
		}
		m.line("%s\n", line)
	}
	if s.Note != "" {
		m.line("%s\n", inline(s.Note))
	}
	if len(s.Kept) > 0 {
		m.line("### %s\n", s.KeptWord)
		rows := [][]string{{"host", "tunable", "from", "to", "effect", "why"}}
		for _, o := range s.Kept {
			rows = append(rows, []string{o.Host, o.Tunable, o.From, o.To, o.Effect, o.Why})
		}
		m.table(rows)
	}
	for i, u := range s.Undo {
		if i == 0 {
			m.line("### How to undo it\n")
		}
		m.line("- on %s (%s): %s", inline(u.Host), u.Note, code(u.Line))
	}
	if len(s.Undo) > 0 {
		m.line("")
	}
	if s.Action != "" {
		m.line("### What to do\n\n%s\n", inline(s.Action))
	}
	if len(s.Limits) > 0 {
		m.line("### What holds its requests back\n")
		rows := [][]string{{"cause", "share", "how that is known", "without it", "to do"}}
		for _, f := range s.Limits {
			rows = append(rows, []string{f.Cause, f.Share, f.Says, f.Without, f.Action})
		}
		m.table(rows)
	}
	for i, a := range s.Advice {
		if i == 0 {
			m.line("### What tuning cannot fix, or did not\n")
		}
		host := ""
		if a.Host != "" {
			host = "on " + inline(a.Host) + ": "
		}
		m.line("- %s%s", host, inline(a.Says))
		for _, c := range a.Commands {
			m.line("  %s", code(c))
		}
	}
	if len(s.Advice) > 0 {
		m.line("")
	}
	if p := s.Predicted; p != nil {
		m.line("### What its twin predicted\n\n%s\n", inline(p.Says))
		rows := [][]string{{"", "in the twin", "here", ""}}
		for _, r := range p.Rows {
			rows = append(rows, []string{r.What, r.Twin, r.Came, r.Agree})
		}
		m.table(rows)
	}
	m.line("### What it rests on, and where it comes from\n")
	for _, f := range append(append([]fact{}, s.Facts...), p.Facts...) {
		m.line("- %s: %s", inline(f.Label), inline(f.Value))
	}
	for _, h := range p.Hosts {
		var parts []string
		for _, f := range h.Facts[:min(len(h.Facts), 4)] {
			parts = append(parts, f.Value)
		}
		m.line("- %s: %s", inline(h.Name), inline(strings.Join(parts, ", ")))
	}
	for _, c := range p.Changed {
		m.line("- changed on %s: %s %s", inline(c.Host), inline(c.Tunable), inline(strings.Join(c.Values, " → ")))
	}
}

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(&m.b, format+"\n", args...) }

func (m *markdown) table(rows [][]string) {
	for i, row := range rows {
		for j := range row {
			row[j] = strings.ReplaceAll(inline(row[j]), "|", `\|`)
		}
		m.line("| %s |", strings.Join(row, " | "))
		if i == 0 {
			m.line("|%s", strings.Repeat(" --- |", len(row)))
		}
	}
	m.line("")
}

// markup are the characters that Markdown and the HTML in it act on.
var markup = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "#", `\#`, "~", `\~`, "@", "&#64;")

// inline is text from elsewhere as plain text in Markdown: it links to nobody and
// notifies nobody.
func inline(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(markup.Replace(text), "://", ":&#47;/"), "www.", "www&#46;")
}

// code is a command, in a fence of its own length.
func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}
