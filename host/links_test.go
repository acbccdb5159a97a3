package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestLinksSince(t *testing.T) {
	before := Links{
		"lo":    {Index: 1},
		"eth0":  {Index: 2, Counters: LinkCounters{RxBytes: 100, CRC: 7}},
		"eth1":  {Index: 3, Counters: LinkCounters{TxBytes: 1, RxErrors: 900}},
		"bond0": {Index: 4, Counters: LinkCounters{TxBytes: 5}},
		"gone":  {Index: 5},
		"again": {Index: 6},
	}
	after := Links{
		"lo":    {Index: 1, Counters: LinkCounters{RxBytes: 9000}},
		"eth0":  {Index: 2, Used: true, Counters: LinkCounters{RxBytes: 150, CRC: 9}},
		"eth1":  {Index: 3, Counters: LinkCounters{TxBytes: 41, RxErrors: 2}}, // its driver was loaded anew
		"bond0": {Index: 4, Used: true, Counters: LinkCounters{TxBytes: 5}},
		"new":   {Index: 7, Counters: LinkCounters{TxBytes: 5}},
		"again": {Index: 8, Counters: LinkCounters{TxBytes: 5}},
	}
	want := []LinkDelta{
		{Name: "eth0", Used: true, LinkCounters: LinkCounters{RxBytes: 50, CRC: 2}},
		{Name: "bond0", Used: true},
		{Name: "lo", LinkCounters: LinkCounters{RxBytes: 9000}},
		{Name: "eth1", LinkCounters: LinkCounters{TxBytes: 40}},
	}
	if diff := cmp.Diff(want, after.Since(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(after.Since(nil)) != 0 || len(Links(nil).Since(before)) != 0 {
		t.Error("without a reading there is a difference")
	}
}

// Whatever the readings, what is told of them is what another host believes.
func TestLinksSinceIsBelieved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		readings := [2]Links{{}, {}}
		for i := range rapid.IntRange(0, 2*MaxLinks).Draw(t, "interfaces") {
			for _, l := range readings {
				var one Link
				one.Used = rapid.Bool().Draw(t, "used")
				*rapid.SampledFrom(one.Counters.fields()).Draw(t, "field") = rapid.Int64Min(0).Draw(t, "n")
				l[fmt.Sprint("veth", i)] = one
			}
		}
		deltas := readings[1].Since(readings[0])
		if err := CheckLinks(deltas); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(deltas); i++ {
			if deltas[i].Used && !deltas[i-1].Used {
				t.Fatal("an interface that is used comes after one that is not")
			}
		}
	})
}

func TestCheckLinks(t *testing.T) {
	for name, c := range map[string]struct {
		deltas []LinkDelta
		says   string
	}{
		"nothing":  {nil, ""},
		"one":      {[]LinkDelta{{Name: "eth0"}}, ""},
		"too many": {make([]LinkDelta, MaxLinks+1), "65 interfaces"},
		"no name":  {[]LinkDelta{{}}, "name of 0 bytes"},
		"novel":    {[]LinkDelta{{Name: strings.Repeat("x", 300)}}, "name of 300 bytes"},
		"negative": {[]LinkDelta{{Name: "eth0", LinkCounters: LinkCounters{CRC: -1}}}, "negative counts"},
	} {
		err := CheckLinks(c.deltas)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
