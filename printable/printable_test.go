package printable

import "testing"

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
