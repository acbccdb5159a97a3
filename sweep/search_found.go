package sweep

import (
	"fmt"
)

// enough is what the search found, once it is over.
func (s *search) enough() (value float64, sure bool) {
	sure = true
	for _, d := range s.decided {
		sure = sure && d.Sure
	}
	return s.value(s.low), sure
}

// why says what the search rests on. text writes a value.
func (s *search) why(text func(float64) string) string {
	var up, down *step
	found, _ := s.enough()
	for i := range s.decided {
		d := &s.decided[i]
		if d.From == found && !d.Failed {
			up = d
		}
		if d.Gains && !d.Failed && d.From < found && (down == nil || d.From >= down.From) {
			down = d
		}
	}
	says := ""
	switch {
	case down != nil:
		says = fmt.Sprintf("%s carries %s what %s does (95 %%: %s)", text(down.To), share(down.Gain.Gain), text(down.From), between(down.Gain))
	case found <= s.value(s.least):
		says = "it is the smallest that was tried"
	default:
		says = "nothing smaller does as well"
	}
	switch last := s.decided[len(s.decided)-1]; {
	case up != nil:
		says += fmt.Sprintf("; %s carries %s that (95 %%: %s)", text(up.To), share(up.Gain.Gain), between(up.Gain))
	case s.broken > 0 && found == s.value(s.broken-1):
		says += fmt.Sprintf("; %s could not be set", text(s.value(s.broken)))
	case found == s.value(s.most):
		says += "; it is the largest that was to be tried, so more might be faster still"
	case last.Failed:
		says += fmt.Sprintf("; %s could not be measured", text(last.From))
	}
	return says
}
