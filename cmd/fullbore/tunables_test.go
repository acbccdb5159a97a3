package main

import (
	"bytes"
	"testing"

	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/report"
	"github.com/fullbore/fullbore/tunable"
)

// The document's keys stay as they are (docs/json.md).
func TestTunablesJSON(t *testing.T) {
	value := "4"
	document := tunablesDocument{Schema: tunablesSchema, System: "linux", Title: "Linux", Version: "6.18", Tunables: []*report.Tunable{{
		Tunable: &tunable.Tunable{
			Name: "link.size", About: "A size.", Kind: tunable.Int, Unit: "bytes", Min: 1, Max: 9, Choices: []string{"a"},
			Defaults: []tunable.Default{{From: "2.4", Value: "4", Verified: true}}, Varies: "by memory",
			Scope: tunable.OfInterface, Effect: tunable.AtOnce, Also: "all of it", Since: "2.4", Until: "6.6", Obsolete: "it is gone",
			Rising: true, After: []string{"link.max"}, Within: "link.max", Bounces: true, Leave: "it only tells", Risk: "none", Way: "link",
			Steps:  tunable.Steps{Read: "get {instance}", Live: "set {instance} {value}", Persist: "keep {value}", Unset: "drop"},
			Home:   tunable.Home{Kind: tunable.InUdev, File: "/etc/rules", Line: "A={value}", Match: "B", Command: "keep", Kept: "show", People: "do"},
			Source: tunable.Source{Title: "A manual", URL: "https://example.org/", Verified: true},
		},
		Of: "linux", Version: "6.18", State: tunable.Obsolete, WhyNot: "it is gone", Default: &value,
		Present: []report.Present{{Name: "link.size@eth0", Value: "4", ReadOnly: true}}, Elsewhere: []string{"macos"},
	}}}
	var out bytes.Buffer
	if err := printJSON(&out, document); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "tunables.json", out.Bytes())
}
