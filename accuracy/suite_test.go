package main

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/nfs/limit"
)

// planted are the causes that the lab can plant: each half has all of them.
var planted = []string{
	diagnose.Healthy, diagnose.ReceiverBuffer, diagnose.WindowScale, diagnose.SenderBuffer, diagnose.SlowReceiver, diagnose.SlowSender,
	diagnose.RandomLoss, diagnose.ShallowQueue, diagnose.Policer, diagnose.CompetingTraffic, diagnose.Bufferbloat, diagnose.Reordering,
	diagnose.MTUBlackHole, diagnose.SmallMSS, diagnose.LinkErrors, diagnose.ReversePath, diagnose.PacingCap, diagnose.SenderCPU, diagnose.ReceiverCPU,
}

func suite(t *testing.T) []entry {
	t.Helper()
	files, err := builtin()
	if err != nil {
		t.Fatal(err)
	}
	all, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestSuiteCovers(t *testing.T) {
	all := suite(t)
	byHalf := map[string]map[string]int{tuning: {}, heldOut: {}}
	congestion := map[string]int{}
	for _, e := range all {
		byHalf[e.half][e.Expect.Cause]++
		congestion[e.Hosts.A.Congestion]++
	}
	if len(all) < 60 {
		t.Errorf("%d scenarios, want 60 or more", len(all))
	}
	if n := byHalf[tuning][diagnose.Healthy] + byHalf[heldOut][diagnose.Healthy]; n < 12 {
		t.Errorf("%d healthy scenarios, want 12 or more", n)
	}
	for half, causes := range byHalf {
		for _, cause := range planted {
			if causes[cause] == 0 {
				t.Errorf("%s has no scenario for %s", half, cause)
			}
		}
		if causes[diagnose.Healthy] < 6 {
			t.Errorf("%s has %d healthy scenarios, want 6 or more", half, causes[diagnose.Healthy])
		}
	}
	for _, name := range []string{"cubic", "bbr", "reno"} {
		if congestion[name] < 10 {
			t.Errorf("%d scenarios with %s, want 10 or more", congestion[name], name)
		}
	}
}

// TestNames: cause-rate-rtt-congestion, and what is particular; the same in the
// file's name.
func TestNames(t *testing.T) {
	files, err := builtin()
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^[0-9]+[mg]bit-[0-9]+[mu]s-(cubic|bbr|reno)(-[a-z0-9-]+)?$`)
	for _, e := range suite(t) {
		if _, err := files.Open(path.Join(e.half, e.Name+".yaml")); err != nil {
			t.Errorf("the file of %s has another name", e.Name)
		}
		rest, ok := strings.CutPrefix(e.Name, e.Expect.Cause+"-")
		if !ok || !form.MatchString(rest) || !strings.Contains(e.Name, "-"+e.Hosts.A.Congestion) {
			t.Errorf("%s: not cause-rate-rtt-congestion", e.Name)
		}
		if e.About == "" {
			t.Errorf("%s does not say what is planted", e.Name)
		}
	}
}

// TestHalvesAreDisjoint: no path with its hosts is in both halves, nor a cause
// with the same rate, RTT and congestion control.
func TestHalvesAreDisjoint(t *testing.T) {
	seen := map[string]entry{}
	for _, e := range suite(t) {
		for _, key := range []string{
			parameters(t, e.Scenario),
			strings.Join([]string{e.Expect.Cause, e.Path.AToB.Rate.String(), e.Path.RTT().String(), e.Hosts.A.Congestion}, " "),
		} {
			if other, ok := seen[key]; ok && other.half != e.half {
				t.Errorf("%s of %s is like %s of %s", e.Name, e.half, other.Name, other.half)
			}
			seen[key] = e
		}
	}
}

// parameters are all of a scenario but its name and its chances' course.
func parameters(t *testing.T, s *lab.Scenario) string {
	t.Helper()
	bare, back := *s, *s.Path.BToA
	bare.Name, bare.About, bare.Expect = "", "", lab.Expect{}
	bare.Path.AToB.Seed, back.Seed = 0, 0
	bare.Path.BToA = &back
	text, err := json.Marshal(bare)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocuments: what is written again with other seeds is the same scenario.
func TestDocuments(t *testing.T) {
	dir := t.TempDir()
	for _, e := range suite(t) {
		changed := e.document.clone()
		changed.reseed(2)
		file, err := changed.write(dir, e.Name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := lab.Load(file)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		if want := e.Path.AToB.Seed + 2000; got.Path.AToB.Seed != want {
			t.Errorf("%s: seed %d, want %d", e.Name, got.Path.AToB.Seed, want)
		}
		if parameters(t, got) != parameters(t, e.Scenario) {
			t.Errorf("%s: became another scenario:\n%s\n%s", e.Name, parameters(t, got), parameters(t, e.Scenario))
		}
		if e.document.at("path", "a_to_b")["seed"] == changed.at("path", "a_to_b")["seed"] {
			t.Errorf("%s: the original was changed too", e.Name)
		}
	}
}

// TestCauses: a scenario may expect what a diagnosis may find, and nothing else.
func TestCauses(t *testing.T) {
	var known []string
	for _, c := range diagnose.Causes {
		known = append(known, c.ID)
	}
	known = append(known, limit.Causes...)
	slices.Sort(known)
	if diff := cmp.Diff(known, slices.Sorted(slices.Values(lab.Causes))); diff != "" {
		t.Errorf("-diagnose.Causes and limit.Causes +lab.Causes:\n%s", diff)
	}
}
