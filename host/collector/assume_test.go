package collector

import (
	"strings"
	"testing"

	"github.com/fullbore/fullbore/tunable"
)

func TestAssume(t *testing.T) {
	for _, tc := range []struct {
		name, os, version string
	}{
		{"linux2.6.32", "linux", "2.6.32"},
		{"linux6.18", "linux", "6.18"},
		{"Linux 6.1.0-18-amd64", "linux", "6.1.0"},
	} {
		f, err := Assume(tc.name, 8<<30)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if f.OS != tc.os || f.Version != tc.version || f.Memory != 8<<30 || !f.CanChange || f.Name == "" {
			t.Errorf("%s is %+v", tc.name, f)
		}
	}
}

// What is assumed is what the catalogue says, of tunables that the version has.
func TestAssumedTunablesAreTheVersionsOwn(t *testing.T) {
	for _, id := range tunable.Systems() {
		s, err := tunable.Of(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range versions(s) {
			f, err := Assume(id+version, 0)
			if err != nil {
				t.Errorf("%s %s: %v", id, version, err)
				continue
			}
			for name, value := range f.Tunables {
				known, ok := tunable.Lookup(id, name)
				if !ok || !known.Applies(f.Version) {
					t.Errorf("%s %s has %s", id, version, name)
					continue
				}
				if err := known.Check(value); err != nil {
					t.Errorf("%s %s: %v", id, version, err)
				}
			}
		}
	}
}

func TestAssumeNothingUnknown(t *testing.T) {
	for name, says := range map[string]string{
		"":                       `system "" is not known: there are `,
		"linx6":                  "there are linux",
		"linux1.0":               "not known",
		"linux99":                "not known",
		strings.Repeat("x", 100): "too long",
	} {
		if _, err := Assume(name, 0); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20q: %v, want %q", name, err, says)
		}
	}
	if _, err := Assume("linux", -1); err == nil {
		t.Error("assumed a host with less than no memory")
	}
}
