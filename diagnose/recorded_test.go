package diagnose

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Real transfers between Linux 6.18 hosts in the lab, as both ends recorded
// them, from the last omitted sample on. Each is named after its scenario;
// small-send-buffer is california-uk with a large receive buffer and a send
// buffer of at most 1 MiB.
func TestRecorded(t *testing.T) {
	want := map[string]string{
		"california-uk":     ReceiverBuffer,
		"nfs-10g":           ReceiverBuffer,
		"small-send-buffer": SenderBuffer,
		"small-sender":      SenderBuffer,
		"no-window-scale":   WindowScale,
		"lossy-wan":         RandomLoss,
		"clean-lan":         Healthy,
	}
	files, err := filepath.Glob("testdata/recorded/*.json")
	if err != nil || len(files) != len(want) {
		t.Fatalf("%d recordings, want %d (%v)", len(files), len(want), err)
	}
	var all findings
	for _, file := range files {
		name := filepath.Base(file[:len(file)-len(".json")])
		d := Diagnose(read(t, file))
		all.add(name, d, true)
		t.Run(name, func(t *testing.T) {
			if d.Verdict.Cause != want[name] || d.Verdict.Confidence < 0.75 {
				t.Errorf("want %s:\n%s", want[name], words(d))
			}
		})
	}
	all.check(t)
}

// read gives the evidence in a file.
func read(t *testing.T, file string) *Evidence {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var e Evidence
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	return &e
}
