package printable

import (
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"eth0: 1 Gb/s, größer": "eth0: 1 Gb/s, größer",
		"a\x1b[2Jb":            "a [2Jb",
		"key = 1\nother = 2":   "key = 1 other = 2",
		"right\u202eleft":      "right left", // would turn the direction of writing round
		"bad \xff byte":        "bad \ufffd byte",
	} {
		if got := Line(text); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
}

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

func TestHang(t *testing.T) {
	for _, test := range []struct{ begin, text, want string }{
		{"- ", "one two three", "- one two|  three"},
		{"", "one two\x1b three", "one two|three"},
		{"größer: ", "one two", "größer: one|        two"},
		{"- ", "", ""},
	} {
		if got := strings.Join(Hang(test.begin, test.text, 10), "|"); got != test.want {
			t.Errorf("Hang(%q, %q) = %q, want %q", test.begin, test.text, got, test.want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"short", 10, "short"}, {"exact", 5, "exact"}, {"too long", 5, "too …"}, {"größer", 5, "größ…"}, {"任务管理器", 5, "任务…"}, {"as it is", 0, "as it is"}, {"as it is", -1, "as it is"}, {"x", 1, "x"}, {"xy", 1, "…"},
	} {
		if got := Fit(test.text, test.width); got != test.want || test.width > 0 && Width(got) > test.width {
			t.Errorf("Fit(%q, %d) = %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

func TestSparkline(t *testing.T) {
	for want, figures := range map[string][]float64{"": nil, "▁▁": {0, 0}, "▁▄█": {0, 50, 100}, "▁█": {-5, 3}} {
		if got := Sparkline(figures); got != want {
			t.Errorf("Sparkline(%v) = %q, want %q", figures, got, want)
		}
	}
}
