package printable

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 10, ""},
		{"  one   two\nthree ", 9, "one two|three"},
		{"it makes 965 Mb/s", 13, "it makes|965 Mb/s"},
		{"in 1997, and", 8, "in 1997,|and"},
		{"unbreakably-long x", 5, "unbreakably-long|x"},
		{"größer", 6, "größer"},
	} {
		if got := strings.Join(Wrap(test.text, test.width), "|"); got != test.want {
			t.Errorf("Wrap(%q, %d) = %q, want %q", test.text, test.width, got, test.want)
		}
	}
}
