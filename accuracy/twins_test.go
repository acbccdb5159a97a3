package main

import (
	"strings"
	"testing"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/unit"
)

// The scenarios whose twins are made are drawn: always the same ones, as many as asked
// for, none twice, and every cause of the suite before any has a second or third.
func TestTwinsAreDrawn(t *testing.T) {
	all := suite(t)
	const n = 30
	picked, again := chosen(all, n), chosen(all, n)
	of, seen := map[string]int{}, map[string]bool{}
	for i, e := range picked {
		if e.Name != again[i].Name {
			t.Fatalf("drawn twice, the %dth is %s and %s", i+1, e.Name, again[i].Name)
		}
		if seen[e.Name] {
			t.Errorf("%s is drawn twice", e.Name)
		}
		seen[e.Name] = true
		of[fold(e.Expect.Cause)]++
	}
	if len(picked) != n {
		t.Fatalf("%d drawn, want %d", len(picked), n)
	}
	for _, e := range all {
		if c := of[fold(e.Expect.Cause)]; c < 1 || c > 2 {
			t.Errorf("%s is there %d times, want once or twice", e.Expect.Cause, c)
		}
	}
	if got := len(chosen(all, 1000)); got != len(all) {
		t.Errorf("%d of %d drawn where all were asked for", got, len(all))
	}
}

// A twin is alike if its verdict is the same, and goodput before and after are within
// 10 %: where nothing arrives, if nothing arrives in the twin either. Where chance decides,
// goodput before is that of longer transfers.
func TestTwinsAlike(t *testing.T) {
	made := func(cause string, before, after unit.Rate) (r tuned) {
		r.Verdict.Cause, r.Before.Goodput, r.After.Goodput = cause, before*unit.Mbps, after*unit.Mbps
		return r
	}
	over := func(original, twin []unit.Rate) *long { return &long{Original: original, Twin: twin} }
	all := []twinned{
		{Scenario: "one", Original: made("policer", 10, 20), Twin: made("policer", 10.9, 18.1)},
		{Scenario: "two", Original: made("path-capacity", 10, 10), Twin: made("healthy", 10, 10)},
		{Scenario: "three", Original: made("policer", 10, 20), Twin: made("random-loss", 10, 20)},
		{Scenario: "four", Original: made("policer", 10, 20), Twin: made("policer", 10, 23)},
		{Scenario: "five", Original: made("mtu-black-hole", 0, 0), Twin: made("mtu-black-hole", 0.001, 0)},
		{Scenario: "six", Original: made("mtu-black-hole", 0, 0), Twin: made("mtu-black-hole", 5, 5)},
		{Scenario: "seven", Original: made("policer", 10, 20), Problem: "no such key"},
		{Scenario: "eight", Original: made("random-loss", 10, 20), Twin: made("random-loss", 13, 20), Long: over([]unit.Rate{9, 11, 10}, []unit.Rate{10, 11, 9})},
		{Scenario: "nine", Original: made("random-loss", 10, 20), Twin: made("random-loss", 10, 20), Long: over([]unit.Rate{9, 11, 10}, []unit.Rate{13, 12, 14})},
		{Scenario: "ten", Original: made("link-errors", 10, 10), Twin: made("link-errors", 13, 13), Long: over([]unit.Rate{9, 11, 10}, []unit.Rate{10, 11, 9})},
		{Scenario: "eleven", Original: made("random-loss", 10, 20), Twin: made("random-loss", 10, 25), Long: over([]unit.Rate{9, 11, 10}, []unit.Rate{10, 11, 9})},
	}
	var out strings.Builder
	if err := writeTwins(&out, all, markdown); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| one | policer | policer | 10 Mb/s → 20 Mb/s | 10.9 Mb/s → 18.1 Mb/s | 1.09, 0.91 |  | alike |",
		"| two | path-capacity | healthy |", "1.00, 1.00 |  | other verdict |", "1.00, 1.15 |  | other goodput |",
		"both nothing, both nothing |  | alike |", "from nothing, from nothing |  | other goodput |", "| no such key |",
		"| 1.30, 1.00 | 1.00 (0.", "| 1.00, 1.00 | 1.30 (", "| 1.30, 1.30 | 1.00 (0.", "| 1.00, 1.25 | 1.00 (0.",
		"The same verdict in 9 of 11, goodput before and after within 10 % in 6 of 11.",
		"Of 4, where chance decides, goodput before tuning is that over 2m30s; by the transfers of the tunings alone it is 5 of 11.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// Chance decides where packets are lost, damaged or held back at random, and where a host
// has a quota of a processor; nowhere else.
func TestByChance(t *testing.T) {
	all := suite(t)
	for i := range all {
		switch cause := fold(all[i].Expect.Cause); cause {
		case diagnose.RandomLoss, diagnose.LinkErrors, diagnose.Reordering, diagnose.SenderCPU, diagnose.ReceiverCPU:
			if !byChance(&all[i]) {
				t.Errorf("%s: no chance", all[i].Name)
			}
		case diagnose.ReceiverBuffer, diagnose.SenderBuffer, diagnose.Policer, diagnose.ShallowQueue, diagnose.Bufferbloat, diagnose.CompetingTraffic:
			if second := strings.Contains(all[i].Name, "-and-"); byChance(&all[i]) && !second {
				t.Errorf("%s: chance", all[i].Name)
			}
		}
	}
}
