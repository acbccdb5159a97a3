package examine

import (
	"testing"

	"github.com/fullbore/fullbore/diagnose"
)

// TestSure: below 60 % a verdict says that it is not known, and what it would be most likely.
func TestSure(t *testing.T) {
	for _, c := range []struct {
		cause      string
		confidence float64
		want       string
	}{
		{diagnose.RandomLoss, 0.97, "random-loss (97 % sure)"},
		{diagnose.RandomLoss, 0.6, "random-loss (60 % sure)"},
		{diagnose.RandomLoss, 0.59, "unknown, most likely random-loss (59 %)"},
		{diagnose.Unknown, 0.3, "unknown"},
		{diagnose.Healthy, 0, "healthy"}, // of a version that did not say
	} {
		f := &diagnose.Finding{Cause: c.cause, Confidence: c.confidence}
		if got := Sure(f); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := Found(&diagnose.Finding{Cause: diagnose.SmallMSS, Confidence: 0.3}); got != "small-mss (30 % sure)" {
		t.Error(got)
	}
}
