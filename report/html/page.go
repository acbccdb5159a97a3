package html

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"slices"

	"github.com/fullbore/fullbore/figure"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

//go:embed page.css
var pageStyle string

//go:embed page.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what the template is filled with.
type page struct {
	Title    string
	Policy   string        // content security policy: nothing is loaded, nothing runs
	Style    template.HTML // the one style element that it lets through
	Compared *comparison
	Runs     []runSection
	Notes    []string
	Embedded template.HTML // see embed: base64 only
}

// runSection is one run.
type runSection struct {
	Number int // 0: the only one
	*summary
	Galleries  []gallery
	Transfers  []transferRow
	More       int // transfers that are not listed
	Points     *pointTable
	Provenance *provenance
}

// transferRow is one transfer of the run.
type transferRow struct {
	At, Phase, Goodput, Again, Latency, Error string
}

// Style is the CSS of what Sections gives.
func Style() string { return "\n" + pageStyle + figure.Style }

func newPage(runs []*record.Run, l limits, embedded embedding) *page {
	style := Style()
	sum := sha256.Sum256([]byte(style))
	p := &page{
		Policy:   "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'",
		Style:    template.HTML("<style>" + style + "</style>"), // ours
		Compared: newComparison(runs, l),
		Embedded: template.HTML(embedded.elements),
	}
	for i, run := range runs {
		if i >= l.runs {
			p.Notes = append(p.Notes, fmt.Sprintf("%d runs are in the tables only, to keep this file small.", len(runs)-i))
			break
		}
		s := runSection{summary: summarise(run, l), Provenance: newProvenance(run, l)}
		if len(runs) > 1 {
			s.Number = i + 1
		}
		if i < l.figures {
			s.Galleries = galleries(run, l.columns)
		}
		s.Transfers, s.More = transferRows(run, l)
		if docs := read(run); docs.sweep != nil {
			if s.Points = newPointTable(docs.sweep, l); s.Points != nil {
				s.More += s.Points.Left
			}
		}
		p.Runs = append(p.Runs, s)
	}
	if l.figures < min(len(runs), l.runs) {
		p.Notes = append(p.Notes, "Figures of some runs were left out, to keep this file small.")
	}
	if embedded.note != "" {
		p.Notes = append(p.Notes, embedded.note)
	}
	p.Title = "fullbore: comparison"
	if len(p.Runs) == 1 && len(runs) == 1 {
		p.Title = fmt.Sprintf("fullbore %s: %s → %s", p.Runs[0].Kind, p.Runs[0].From, p.Runs[0].To)
	}
	return p
}

func transferRows(run *record.Run, l limits) (rows []transferRow, more int) {
	if len(run.Transfers) < 2 {
		return nil, 0
	}
	shown, more := first(run.Transfers, 3*l.list)
	for _, t := range shown {
		row := transferRow{At: fmt.Sprintf("%.1f s", min(t.At.Seconds(), 1e7)), Phase: clean(t.Phase, l.text), Error: clean(t.Error, l.text)}
		if t.Result != nil {
			row.Goodput = goodputOf(t.Result).String()
			if directions := t.Result.Spec.Directions(); len(directions) > 0 {
				f := t.Result.Figures(directions[0])
				if f.Repeated != nil && f.Repeated.Share != nil {
					row.Again = unit.Percent(*f.Repeated.Share)
				}
				if f.LoadedRTT != nil {
					row.Latency = unit.Milliseconds(f.LoadedRTT.Median)
				}
			}
		}
		rows = append(rows, row)
	}
	return rows, more
}

// LeftOut says that lists were cut, empty if none was.
func (s runSection) LeftOut() string {
	if n := s.Left + s.Provenance.Left + s.More; n > 0 {
		return fmt.Sprintf("Not shown, to keep this file small: %d more entries of the lists above.", n)
	}
	return ""
}

// Errors says whether a transfer failed: the column is left out otherwise.
func (s runSection) Errors() bool {
	return slices.ContainsFunc(s.Transfers, func(t transferRow) bool { return t.Error != "" })
}

// Heading is that of a part of the run's section, or of one below it: the levels follow
// that of the headline, so that none is skipped.
func (s runSection) Heading(depth int, text string) template.HTML {
	level, class := 3+depth, ""
	if s.Number == 0 {
		level, class = 2+depth, ` class="part"`
	}
	return template.HTML(fmt.Sprintf("<h%d%s>%s</h%d>", level, class, template.HTMLEscapeString(text), level))
}
