// Package html writes kept runs as one HTML file to mail, or as Markdown for a
// ticket, and reads the runs in such a file back. The page needs no script and no
// network: its figures are SVG, its style is the only one that its content security
// policy lets through, and the runs themselves are embedded.
package html

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/fullbore/fullbore/record"
)

// Sizes of a report in bytes.
const (
	// Most is how large one is at most: mail servers take it everywhere.
	Most = 1_000_000
	// Comfortable is what samples are thinned for, as long as the figures of a report
	// that is read back keep every second of theirs.
	Comfortable = 300_000
)

// MostRuns is how many runs one report has at most.
const MostRuns = 100

// limits say how much of the runs a page shows. The first that fits is taken.
type limits struct {
	columns int // of a line in a figure
	figures int // runs with figures
	runs    int // runs with a section of their own
	list    int // entries of a list
	text    int // columns of a text from elsewhere
}

// sizes of pages, from all that is known down to a table of the runs.
func sizes(runs int) []limits {
	all := []limits{
		{400, runs, runs, 40, 400}, {200, runs, runs, 40, 400}, {100, min(runs, 8), runs, 30, 300},
		{60, min(runs, 3), runs, 20, 200}, {40, 1, min(runs, 10), 12, 160}, {0, 0, min(runs, 3), 8, 120}, {0, 0, 0, 4, 60},
	}
	return all
}

// Write writes a report of one run, or a comparison of several with the report of
// each behind it. The same runs make the same bytes, not more than Most.
func Write(w io.Writer, runs []*record.Run) error {
	if err := check(runs); err != nil {
		return err
	}
	for _, l := range sizes(len(runs)) {
		page, err := render(runs, l, embedding{})
		if err != nil {
			return err
		}
		if len(page) > Most*6/10 {
			continue
		}
		embedded, err := embed(runs, max(0, Comfortable-len(page)-2000), Most-len(page)-2000)
		if err != nil {
			return err
		}
		if page, err = render(runs, l, embedded); err != nil {
			return err
		}
		if len(page) > Most {
			continue
		}
		_, err = w.Write(page)
		return err
	}
	return fmt.Errorf("the report of %d runs would be larger than %d bytes: report fewer of them", len(runs), Most)
}

// Sections gives what Write would show of the runs as part of a page of someone else's
// that has Style: without its frame, and without the runs themselves.
func Sections(runs []*record.Run) (template.HTML, error) {
	if err := check(runs); err != nil {
		return "", err
	}
	for _, l := range sizes(len(runs)) {
		var out strings.Builder
		if err := pageTemplate.ExecuteTemplate(&out, "runs", newPage(runs, l, embedding{})); err != nil {
			return "", fmt.Errorf("write the runs: %w", err)
		}
		if out.Len() <= Most*6/10 {
			return template.HTML(out.String()), nil // of a template that escapes
		}
	}
	return "", fmt.Errorf("what is known of %d runs is too much for a page: look at fewer of them", len(runs))
}

// check says what is wrong with runs that come from a file or a database.
func check(runs []*record.Run) error {
	switch {
	case len(runs) == 0:
		return errors.New("no run to report")
	case len(runs) > MostRuns:
		return fmt.Errorf("%d runs: a report has at most %d", len(runs), MostRuns)
	}
	for i, run := range runs {
		if run == nil {
			return fmt.Errorf("run %d is missing", i+1)
		}
	}
	return nil
}

func render(runs []*record.Run, l limits, embedded embedding) ([]byte, error) {
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, newPage(runs, l, embedded)); err != nil {
		return nil, fmt.Errorf("write the page: %w", err)
	}
	return out.Bytes(), nil
}
