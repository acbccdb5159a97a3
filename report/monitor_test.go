package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// A log gets lines; who wants quiet, nothing.
func TestMonitor(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		var out bytes.Buffer
		m := NewMonitor(&out, quiet)
		m.Phase("try it")
		m.Progress(bulk.Progress{Rate: unit.Mbps, At: time.Second}) // within two seconds of the phase
		m.Result("it helps")
		m.End()
		want := ".. try it\n   it helps\n"
		if quiet {
			want = ""
		}
		if out.String() != want {
			t.Errorf("quiet %v: %q, want %q", quiet, &out, want)
		}
	}
}

// What is shown is the mean of the latest rates: bytes are acknowledged in bursts.
func TestMonitorSmooths(t *testing.T) {
	var out bytes.Buffer
	m := &logged{w: &out}
	m.Phase("move")
	for range 20 {
		m.now.add(900 * unit.Mbps) // long over
	}
	for i := range smoothOver {
		m.now.add(unit.Rate(i%3) * 100 * unit.Mbps)
	}
	if got := m.now.rate(); got != 100*unit.Mbps {
		t.Errorf("the rate is %v, want 100 Mb/s", got)
	}
	m.last = time.Now().Add(-3 * time.Second)
	m.Progress(bulk.Progress{Rate: 0, At: 4 * time.Second})
	if !strings.HasSuffix(out.String(), "   100 Mb/s after 4 s\n") {
		t.Errorf("%q", &out)
	}
	if none := (smoothed{}); none.rate() != 0 {
		t.Error("nothing has a rate")
	}
}
