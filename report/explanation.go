package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/printable"
)

// Explanation writes the physics of a cause for a terminal of 80 columns.
func Explanation(w io.Writer, e *diagnose.Explanation, style Style) {
	explain(&manual{w: w, style: style}, e)
}

// ExplanationMarkdown writes the same as a chapter of a document.
func ExplanationMarkdown(w io.Writer, e *diagnose.Explanation) { explain(&markdown{w: w}, e) }

// Causes writes the list of all causes.
func Causes(w io.Writer) {
	for _, c := range diagnose.Causes {
		for i, line := range printable.Wrap(c.Means, columns-20) {
			fmt.Fprintf(w, "%-20s%s\n", first(i, c.ID), line)
		}
	}
}

// A page is what an explanation is written on.
type page interface {
	title(name, says string)
	heading(text string)
	paragraph(text string)
	verbatim(text string)
	list()                           // follows a paragraph
	item(term, says string)          // of a list; says may be empty
	command(run, where, says string) // where may be empty
}

func explain(p page, e *diagnose.Explanation) {
	p.title(e.Cause, e.Means)
	p.paragraph(e.Happens)
	p.heading("The formula")
	p.verbatim(e.Formula)
	p.heading("In numbers")
	p.paragraph(e.Example)
	p.heading("How fullbore recognises it")
	p.paragraph(e.Recognised)
	p.list()
	for _, q := range e.Trials {
		p.item(trials[q.Kind], q.Says)
	}
	if len(e.Mistaken) > 0 {
		p.heading("Easily mistaken for")
		for _, m := range e.Mistaken {
			p.item(m.Cause, m.Says)
		}
	}
	p.heading("What to do")
	for _, do := range e.Do {
		p.item(do, "")
	}
	p.heading("See it yourself")
	for _, s := range e.See {
		p.command(s.Run, s.Where, s.Says)
	}
	p.heading("Sources")
	for _, s := range e.Sources {
		p.item(s, "")
	}
}

// trials names kinds of trials for people.
var trials = map[diagnose.TrialKind]string{
	diagnose.TrialPaced:      "trial, paced below the capacity",
	diagnose.TrialStreams:    "trial with several connections",
	diagnose.TrialCongestion: "trial with another congestion control",
	diagnose.TrialSegment:    "trial with small segments",
	diagnose.TrialAgain:      "trial of the same again",
	diagnose.TrialLonger:     "trial that lasts longer",
	diagnose.TrialDepth:      "trial that fills the queue",
}

// manual is a page on a terminal.
type manual struct {
	w     io.Writer
	style Style
}

func (m *manual) title(name, says string) {
	m.lines("", name+": "+says, m.style.bold)
	fmt.Fprintln(m.w)
}

func (m *manual) heading(text string) {
	fmt.Fprintf(m.w, "\n%s\n", m.style.bold(text))
}

func (m *manual) paragraph(text string) { m.lines("  ", text, nil) }

func (m *manual) verbatim(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(m.w, strings.TrimRight("  "+line, "\n"))
	}
}

func (m *manual) list() {}

func (m *manual) item(term, says string) {
	if says != "" {
		term += ": " + says
	}
	m.lines("  - ", term, nil)
}

func (m *manual) command(run, where, says string) {
	if where != "" {
		where = m.style.faint("    " + where)
	}
	fmt.Fprintf(m.w, "  %s%s\n", run, where)
	m.lines("    ", says, nil)
}

// lines writes a paragraph behind what it begins with, which mark leaves as it is.
func (m *manual) lines(begin, text string, mark func(string) string) {
	for _, line := range printable.Hang(begin, text, columns) {
		if mark != nil {
			line = begin + mark(line[len(begin):]) // begin is blank then
		}
		fmt.Fprintln(m.w, line)
	}
}

// markdown is a page in a document.
type markdown struct{ w io.Writer }

func (m *markdown) title(name, says string) { fmt.Fprintf(m.w, "## %s\n\n%s\n\n", name, escaped(says)) }
func (m *markdown) heading(text string)     { fmt.Fprintf(m.w, "\n**%s**\n\n", text) }
func (m *markdown) paragraph(text string)   { fmt.Fprintf(m.w, "%s\n", escaped(text)) }
func (m *markdown) verbatim(text string)    { fmt.Fprintf(m.w, "```\n%s```\n", text) }

func (m *markdown) list() { fmt.Fprintln(m.w) }

func (m *markdown) item(term, says string) {
	if says == "" {
		fmt.Fprintf(m.w, "- %s\n", escaped(term))
		return
	}
	fmt.Fprintf(m.w, "- %s: %s\n", escaped(term), escaped(says))
}

func (m *markdown) command(run, where, says string) {
	if where != "" {
		where = " (" + where + ")"
	}
	fmt.Fprintf(m.w, "- `%s`%s: %s\n", run, where, escaped(says))
}

// escaped keeps Markdown from taking signs of formulas for its own.
func escaped(text string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;").Replace(text)
}
