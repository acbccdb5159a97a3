package html

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/figure"
	"github.com/fullbore/fullbore/record"
)

// Picture is a figure of a report as an SVG file.
type Picture struct {
	Name string // of the file
	SVG  string
}

// Pictures gives all figures of runs as files, for slides, papers and manuals.
func Pictures(runs []*record.Run) ([]Picture, error) {
	if err := check(runs); err != nil {
		return nil, err
	}
	var all []Picture
	for i, run := range runs {
		for _, g := range galleries(run, figure.Columns) {
			for _, p := range g.Pictures {
				name := fmt.Sprintf("%02d-%s.svg", len(all)+1, fileName(p.Title))
				if len(runs) > 1 {
					name = fmt.Sprintf("run%d-%s", i+1, name)
				}
				all = append(all, Picture{name, figure.Figure{SVG: string(p.SVG)}.File()})
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there is nothing to draw: no transfer of it was kept")
	}
	return all, nil
}

// fileName makes a title fit for a file on any system: lower case letters, digits and
// hyphens, not too many of them.
func fileName(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	name := strings.Join(words, "-")
	return strings.Trim(name[:min(len(name), 60)], "-")
}
