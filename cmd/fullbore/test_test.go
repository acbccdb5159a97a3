package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

func TestTestSpec(t *testing.T) {
	usual := testCmd{Time: 10, Parallel: 1, Interval: 1}
	for name, test := range map[string]struct {
		change func(*testCmd)
		says   string // "": it is good
	}{
		"usual":             {func(*testCmd) {}, ""},
		"bytes":             {func(c *testCmd) { c.Bytes = "1" }, ""},
		"no reports":        {func(c *testCmd) { c.Interval = 0 }, ""},
		"nothing to send":   {func(c *testCmd) { c.Bytes = "0" }, "--bytes"},
		"no time":           {func(c *testCmd) { c.Time = 0 }, "neither"},
		"endless":           {func(c *testCmd) { c.Time = 1e300 }, "--time"},
		"no number":         {func(c *testCmd) { c.Time = math.NaN() }, "--time"},
		"negative omit":     {func(c *testCmd) { c.Omit = -1 }, "--omit"},
		"too many reports":  {func(c *testCmd) { c.Interval = 0.01 }, "--interval"},
		"no such interval":  {func(c *testCmd) { c.Interval = math.NaN() }, "--interval"},
		"two directions":    {func(c *testCmd) { c.Reverse, c.Bidir = true, true }, "--bidir"},
		"large reads":       {func(c *testCmd) { c.Length = "2M" }, "length"},
		"no streams":        {func(c *testCmd) { c.Parallel = 0 }, "streams"},
		"too large buffers": {func(c *testCmd) { c.Window = "5G" }, "buffers"},
	} {
		t.Run(name, func(t *testing.T) {
			command := usual
			test.change(&command)
			_, err := command.spec()
			switch {
			case test.says == "" && err != nil:
				t.Error(err)
			case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)):
				t.Errorf("got %v, want an error about %s", err, test.says)
			}
		})
	}
}

// What is printed is the rate of the whole interval, not of its last sample.
func TestTestIntervals(t *testing.T) {
	var out bytes.Buffer
	watch := (&testCmd{Interval: 0.3}).intervals(&app{stderr: &out})
	for i, rate := range []unit.Rate{3, 0, 0, 6, 6, 0} {
		watch(bulk.Progress{At: time.Duration(i+1) * 100 * time.Millisecond, Rate: rate * unit.Mbps})
	}
	if got, want := strings.Fields(out.String()), "0.3 s 1 Mb/s 0.6 s 4 Mb/s"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
