package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// compared is as much of the document as these tests look at.
type compared struct {
	Schema  string `json:"schema"`
	Order   string `json:"order"`
	Rounds  int    `json:"rounds"`
	Settled *bool  `json:"settled"`
	Goodput struct {
		Ratio    struct{ Gain, Low, High float64 } `json:"ratio"`
		Decision string                            `json:"decision"`
		Says     string                            `json:"says"`
	} `json:"goodput"`
	CPU  []struct{ End, Of, Says string } `json:"cpu"`
	Runs []struct {
		Variant string `json:"variant"`
		WarmUp  bool   `json:"warm_up"`
	} `json:"runs"`
}

func compareJSON(t *testing.T, wantCode int, args ...string) compared {
	t.Helper()
	stdout, stderr, code := fullbore(t, append([]string{"compare", "--json"}, args...)...)
	var doc compared
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != wantCode {
		t.Fatalf("exit code %d: %v\n%s\n%s", code, err, stdout, stderr)
	}
	return doc
}

// A rate that differs twentyfold is seen, in turns that are balanced.
func TestCompareRates(t *testing.T) {
	t.Parallel()
	at := farProcess(t)
	args := []string{at, "--ab", "-n 1M -b 400M", "-n 1M -b 20M", "--rounds", "4", "--seed", "7"}
	doc := compareJSON(t, exitDone, args...)
	if doc.Goodput.Decision != "less" || !strings.Contains(doc.Goodput.Says, "slower") || doc.Goodput.Ratio.High >= 1 {
		t.Errorf("%+v", doc.Goodput)
	}
	if doc.Schema != "fullbore/compare/1" || doc.Rounds != 4 || len(doc.Runs) != 10 || len(doc.CPU) == 0 {
		t.Errorf("%+v", doc)
	}
	for i, r := range doc.Runs {
		if r.WarmUp != (i < 2) {
			t.Errorf("run %d: warm-up %v", i, r.WarmUp)
		}
	}
	if len(doc.Order) != 8 {
		t.Fatalf("order %s", doc.Order)
	}
	for i := 0; i < len(doc.Order); i += 4 {
		if block := doc.Order[i : i+4]; block != "ABBA" && block != "BAAB" {
			t.Errorf("order %s: %s is not balanced", doc.Order, block)
		}
	}
	// Once more, as text: the same seed gives the same order.
	stdout, _, code := fullbore(t, append([]string{"compare"}, args...)...)
	if code != exitDone || !strings.Contains(stdout, "slower") || !strings.Contains(stdout, doc.Order+", seed 7") {
		t.Errorf("exit code %d, want the order %s:\n%s", code, doc.Order, stdout)
	}
}

// What is not known well enough says so by its exit code.
func TestCompareUntil(t *testing.T) {
	t.Parallel()
	at := farProcess(t)
	if doc := compareJSON(t, exitDone, at, "--ab", "-n 512K -b 20M", "-n 512K -b 20M", "--until-ci", "90%"); doc.Settled == nil || !*doc.Settled || doc.Rounds < 3 {
		t.Errorf("%+v", doc)
	}
	doc := compareJSON(t, exitBelow, at, "--ab", "-n 64K", "-n 64K", "--until-ci", "0.1%")
	if doc.Settled == nil || *doc.Settled || doc.Rounds != 30 {
		t.Errorf("%d rounds, settled %v", doc.Rounds, doc.Settled)
	}
}
