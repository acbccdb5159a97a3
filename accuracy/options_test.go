package main

import (
	"io"
	"strings"
	"testing"
)

// TestBadOptions: each says what is wrong.
func TestBadOptions(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-half best", `-half "best": use tuning, held-out or both`},
		{"-only (", "-only: error parsing regexp"},
		{"-only nothing-like-it", "no scenario of"},
		{"-seeds -1", "use 0 to 100 runs"},
		{"-jobs 99", "-jobs 99: use 1 to 16"},
		{"-record a -replay b", "both -record and -replay"},
		{"-twins -1", "-twins: use 1 or more"},
		{"-again", "-again only with it"},
		{"-twins 30 -gain", "use it without -replay and -gain"},
		{"-replay /nonexistent", "no evidence of these scenarios in /nonexistent"},
		{"tuning", `unexpected "tuning"`},
		{"-suite /nonexistent", "no scenario of 0 matches"},
	} {
		err := run(t.Context(), strings.Fields(c.args), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.args, err, c.want)
		}
	}
}
