package task

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// What a command writes is shown as its last lines, however it was cut into pieces on the way, without
// anything that a terminal would act on.
func TestLastLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.Just(byte('\n')), rapid.ByteRange('a', 'z')), 0, 4000).Draw(t, "text")
		var whole, pieces tail
		whole.add(text)
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces.add(rest[:n])
			rest = rest[n:]
		}
		if !slices.Equal(whole.last(), pieces.last()) {
			t.Fatalf("%q\n%q", whole.last(), pieces.last())
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if want := min(mostLines, len(lines)); len(text) > 0 && len(whole.last()) != want {
			t.Fatalf("%d lines of %d", len(whole.last()), len(lines))
		}
		for _, line := range whole.last() {
			if len([]rune(line)) > longestLine || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("%q", line)
			}
		}
	})
}

// A command that writes without end fills no disk and no memory, and its last lines are there.
func TestEndlessLog(t *testing.T) {
	log, err := newLog()
	if err != nil {
		t.Fatal(err)
	}
	defer log.close()
	largest := int64(0)
	for i := range 300 {
		if _, err := log.file.WriteString(strings.Repeat("x", 1e4) + fmt.Sprintf("\nline %d\n", i)); err != nil {
			t.Fatal(err)
		}
		if !log.read() {
			t.Fatal("nothing was read")
		}
		about, err := log.file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, about.Size())
		if last := log.last(); last[len(last)-1] != fmt.Sprintf("line %d", i) || len(last) > mostLines {
			t.Fatalf("%d: %d lines, last %.40q", i, len(last), last[len(last)-1])
		}
	}
	if largest > mostLog {
		t.Errorf("%d bytes on disk", largest)
	}
	if _, err := os.Stat(log.dir); err == nil {
		t.Error("it has a name that stays if this process is killed")
	}
}
