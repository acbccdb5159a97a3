package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/internal/golden"
)

// The words that people read, for one scene of each kind.
func TestWords(t *testing.T) {
	files := map[string]string{
		"california to uk: receiver's maximum of Linux 2.4": "receiver-buffer.txt",
		"the sender's buffer on a long path":                "sender-buffer.txt",
		"a firewall strips the window scale":                "window-scale.txt",
		"one packet in ten thousand is lost on a long path": "random-loss.txt",
		"full: 1 Gb/s of packets is 965 Mb/s of payload":    "healthy.txt",
		"full by its queue, capacity not known":             "path-capacity.txt",
		"CUBIC left slow start early and grows slowly":      "short-transfer.txt",
		"below capacity, and no sign of why":                "unknown.txt",
	}
	for _, c := range scenes {
		file, ok := files[c.name]
		if !ok {
			continue
		}
		golden.Check(t, file, words(Diagnose(c.scene.evidence())))
		delete(files, c.name)
	}
	for name := range files {
		t.Errorf("no scene is called %q", name)
	}
}

// words is a verdict as text.
func words(d Diagnosis) string {
	var text strings.Builder
	v := d.Verdict
	fmt.Fprintf(&text, "%s (%.0f %% sure)\n%s\n", v.Cause, 100*v.Confidence, v.Says)
	for _, e := range v.Evidence {
		fmt.Fprintf(&text, "- %s\n", e.Says)
	}
	fmt.Fprintf(&text, "Do: %s.\n", v.Action)
	if v.Gain > 1 {
		fmt.Fprintf(&text, "Then: %v, %.3g times as much.\n", v.Predicted, v.Gain)
	}
	for _, f := range d.Findings {
		fmt.Fprintf(&text, "Found: %s (%.0f %% sure)\n", f.Cause, 100*f.Confidence)
	}
	return text.String()
}
