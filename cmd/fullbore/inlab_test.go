package main

import (
	"strings"
	"testing"
)

// TestIntegrationFarEndFails: what a far end in the lab says as it ends is in
// the error.
func TestIntegrationFarEndFails(t *testing.T) {
	t.Parallel()
	w := newTwo(t, "clean-lan")
	_, err := serveOn(t.Context(), w.lab.Host("b"), self(t), "--no-such-flag")
	if err == nil || !strings.Contains(err.Error(), "unknown flag --no-such-flag") {
		t.Errorf("got %v", err)
	}
}
