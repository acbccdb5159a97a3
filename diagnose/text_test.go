package diagnose

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// What people read, for one scene of each kind.
func TestWriteText(t *testing.T) {
	golden := map[string]string{
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
		file, ok := golden[c.name]
		if !ok {
			continue
		}
		var text bytes.Buffer
		if err := WriteText(&text, Diagnose(c.scene.evidence())); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("testdata", file)
		if *update {
			if err := os.WriteFile(name, text.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), text.String()); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
		delete(golden, c.name)
	}
	for name := range golden {
		t.Errorf("no scene is called %q", name)
	}
}
