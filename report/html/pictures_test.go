package html

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/record"
)

// Every figure of the page is there as a file, under a name that any system takes.
func TestPictures(t *testing.T) {
	run := tuned(t)
	pictures, err := Pictures([]*record.Run{run})
	if err != nil {
		t.Fatal(err)
	}
	titles := titles(run)
	if len(pictures) != len(titles) {
		t.Fatalf("%d files, the page has %d figures", len(pictures), len(titles))
	}
	for i, p := range pictures {
		title := titles[i][strings.LastIndex(titles[i], ": ")+1:]
		if want := fmt.Sprintf("%02d-%s.svg", i+1, fileName(title)); p.Name != want {
			t.Errorf("%s: want %s", p.Name, want)
		}
		if !strings.HasPrefix(p.SVG, "<svg ") || !strings.Contains(p.SVG, "<style>") {
			t.Errorf("%s: %.200s", p.Name, p.SVG)
		}
	}
	both, err := Pictures([]*record.Run{run, run})
	if err != nil || len(both) != 2*len(pictures) || !strings.HasPrefix(both[0].Name, "run1-01-") || !strings.HasPrefix(both[len(both)-1].Name, "run2-") {
		t.Errorf("of two runs %d files, %v", len(both), err)
	}
	if _, err := Pictures([]*record.Run{{}}); err == nil || !strings.Contains(err.Error(), "nothing to draw") {
		t.Errorf("of a run without transfers: %v", err)
	}
	for title, want := range map[string]string{"../../etc/passwd": "etc-passwd", "Goodput over buffers.a\x00": "goodput-over-buffers-a", strings.Repeat("x", 300): strings.Repeat("x", 60)} {
		if got := fileName(title); got != want {
			t.Errorf("%q becomes %q, want %q", title, got, want)
		}
	}
}
