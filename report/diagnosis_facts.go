package report

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// predicted is the fact that says what the action brings: it has a line of its
// own.
const predicted = "predicted_goodput"

// facts are the evidence as a table: what, how much, and what that means.
func (s *sheet) facts(facts []diagnose.Fact) {
	type row struct{ name, value, says string }
	var rows []row
	names, values := 0, 0
	for _, f := range facts {
		if f.Name == predicted || strings.HasPrefix(f.Name, "trial_") { // these stand with the trials
			continue
		}
		r := row{name: printable.Line(f.Name)}
		r.value, r.says = meaning(f)
		rows = append(rows, r)
		names, values = max(names, utf8.RuneCountInString(r.name)), max(values, utf8.RuneCountInString(r.value))
	}
	if len(rows) == 0 {
		return
	}
	s.gap()
	for i, r := range rows {
		head := fmt.Sprintf("%-*s  %*s  ", names, r.name, values, r.value)
		says := printable.Wrap(r.says, max(20, columns-labels-utf8.RuneCountInString(head)))
		for j, line := range says {
			if j > 0 {
				head = strings.Repeat(" ", utf8.RuneCountInString(head))
			}
			s.line(first(i+j, "evidence"), head+line)
		}
		if len(says) == 0 {
			s.line(first(i, "evidence"), head)
		}
	}
}

// meaning takes a fact apart: its value with the unit, and what it means without
// saying the value again.
func meaning(f diagnose.Fact) (value, says string) {
	value, says = amount(f), printable.Line(f.Says)
	if exact := fmt.Sprintf("%.0f bytes", f.Value); strings.Contains(says, exact) {
		value = exact // sizes of packets: nobody knows them in KiB
	}
	for _, form := range []struct{ with, without string }{
		{"^" + value + " ", "^"}, {" of " + value + " ", " "}, {": " + value + " (", " ("}, {": " + value + ", ", ", "},
		{": " + value + "$", "$"}, {" is " + value + "$", "$"}, {" of " + value + "$", "$"},
	} {
		if without := strings.Replace("^"+says+"$", form.with, form.without, 1); without != "^"+says+"$" {
			return value, without[1 : len(without)-1]
		}
	}
	return value, says
}

// amount is the value of a fact as people read it.
func amount(f diagnose.Fact) string {
	switch f.Unit {
	case "b/s":
		return unit.Rate(f.Value).String()
	case "B", "bytes":
		return unit.Size(f.Value).String()
	case "ms":
		return unit.Milliseconds(time.Duration(f.Value * float64(time.Millisecond)))
	case "%":
		return fmt.Sprintf("%.3g %%", f.Value)
	case "per packet":
		if f.Value > 0 {
			return fmt.Sprintf("1 in %.0f", math.Round(1/f.Value))
		}
		return "none"
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", f.Value, printable.Line(f.Unit)))
}
