package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/fullbore/fullbore/diagnose"
)

// Evidence of one run each of some scenarios of the tuning half, as the suite
// recorded it on Linux 6.18 (-record), without what tells one machine from
// another: each still gets the verdict that was planted, and every cause that the
// suite plants is among them.
func TestRecorded(t *testing.T) {
	const dir = "testdata/recorded"
	all := suite(t)
	outcomes, err := replay(dir, all, &progress{out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i := range outcomes {
		o := &outcomes[i]
		seen[o.Expect] = true
		if !o.right() || o.Confidence < diagnose.Doubtful {
			t.Errorf("%s: %s was planted, the verdict is %s (%v)", o.Scenario, o.Expect, o.Cause, o.Confidence)
		}
		if o.Half != tuning {
			t.Errorf("%s: thresholds are not to be tested on the %s half, or it would not stay so", o.Scenario, o.Half)
		}
	}
	for i := range all {
		if cause := fold(all[i].Expect.Cause); all[i].half == tuning && !seen[cause] {
			seen[cause] = true
			t.Errorf("no recording of %s", cause)
		}
	}
	if files, err := filepath.Glob(dir + "/*"); err != nil || len(files) != len(outcomes) {
		t.Errorf("%d files, %d of them are of scenarios (%v)", len(files), len(outcomes), err)
	}
}
