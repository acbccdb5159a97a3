package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/record"
)

// What moved to another level is listed with what became different on its hosts at that time, and with nothing else.
func TestFleetShifts(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "record.db")
	store, err := record.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, buffer := range []string{"6 MiB", "6 MiB", "208 KiB\x1b[2J"} {
		r := record.Start(place, record.Header{Kind: record.Fleet, Tags: []string{"mesh", "daily"}})
		for _, name := range []string{"store1", "node1"} {
			r.Host(record.Host{Side: record.Member, When: record.Before, Is: &host.Facts{Name: name, Tunables: map[string]string{"net.ipv4.tcp_wmem": buffer}}})
		}
		if err := r.End(record.Outcome{State: record.Done}); err != nil {
			t.Fatal(err)
		}
	}
	if out, stderr, code := keeping(t, place, "fleet", "shifts", "mesh"); out != "Nothing moved to another level.\n" || code != exitDone {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}
	if out, stderr, code := keeping(t, place, "fleet", "shifts", "mesh", "--json"); !strings.Contains(out, `"shifts": []`) || code != exitDone {
		t.Errorf("exit code %d: %s%s", code, out, stderr)
	}

	last, err := store.List(t.Context(), record.Filter{Most: 1})
	if err != nil || len(last) != 1 {
		t.Fatal(last, err)
	}
	shift := record.Shift{Experiment: "mesh", Kind: record.ShiftSends, From: "store1", Since: last[0].Started, Run: last[0].ID, Found: time.Now(), Before: 940e6, After: 420e6}
	if err := store.KeepShifts(t.Context(), []record.Shift{shift}); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := keeping(t, place, "fleet", "shifts", "mesh")
	want := regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d  what store1 sends: 420 Mb/s instead of 940 Mb/s since \S+ \S+ UTC
                  store1: net.ipv4.tcp_wmem is 208 KiB \[2J instead of 6 MiB
$`)
	if !want.MatchString(out) || strings.Contains(out, "\x1b") || code != exitDone {
		t.Errorf("exit code %d: %q%s", code, out, stderr)
	}
	out, stderr, code = keeping(t, place, "fleet", "shifts", "mesh", "-J")
	var document shiftsDocument
	if err := json.Unmarshal([]byte(out), &document); err != nil || code != exitDone || document.Schema != "fullbore/shifts/1" || len(document.Shifts) != 1 ||
		document.Shifts[0].From != "store1" || len(document.Shifts[0].Changes) != 1 || document.Shifts[0].Changes[0].Host != "store1" {
		t.Errorf("exit code %d, %v: %s%s", code, err, out, stderr)
	}
}
