package exposition

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/internal/golden"
)

// Samples of one metric stand together behind its help and type, whenever they were
// added; what is there twice is there once.
func TestText(t *testing.T) {
	m := New("fullbore_x_", "target", "a\"b\\c\nd\xff")
	m.Gauge("rtt_seconds", "Round-trip time.", 0.15, "end", "near")
	m.Counter("tests_total", "Tests.", 3)
	m.Gauge("rtt_seconds", "Round-trip time.", 0.25, "end", "far")
	m.Gauge("rtt_seconds", "Round-trip time.", 0.35, "end", "near")
	m.Gauge("rtt_seconds", "Round-trip time.", 1e-7, "end", strings.Repeat("é", 200))
	golden.Check(t, "text.prom", m.String())
	if empty := New("fullbore_").String(); empty != "" {
		t.Errorf("no metrics are %q", empty)
	}
}

// Whatever a host is called, a label's value is valid, bounded, on one line, and read
// back as it was; only what is too long or is no text is another one.
func TestAnyLabel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`["\\\n\x00-\xffa…é]{0,400}`), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "name")
		value := Value(name)
		if !utf8.ValidString(value) || len(value) > LongestValue {
			t.Fatalf("%q has %d bytes", value, len(value))
		}
		if utf8.ValidString(name) && len(name) <= LongestValue && value != name {
			t.Fatalf("%q was made %q", name, value)
		}
		written := escape(value)
		if strings.Contains(written, "\n") {
			t.Fatalf("%q is more than a line", written)
		}
		var read strings.Builder
		for i := 0; i < len(written); i++ {
			if written[i] == '"' {
				t.Fatalf("%q ends early", written)
			}
			if written[i] == '\\' {
				i++
				read.WriteByte(map[byte]byte{'n': '\n', '"': '"', '\\': '\\'}[written[i]])
				continue
			}
			read.WriteByte(written[i])
		}
		if read.String() != value {
			t.Fatalf("%q is read as %q", value, &read)
		}
	})
}
