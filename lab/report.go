package lab

import (
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/unit"
)

// Report is what the path of a lab did so far.
type Report struct {
	Scenario string              `json:"scenario"`
	AToB     wire.DirectionStats `json:"a_to_b"`
	BToA     wire.DirectionStats `json:"b_to_a"`
	// Packets that the hosts' TUN devices dropped because this machine did not
	// take them in time: losses of the lab, not of the path.
	RingDropsA uint64 `json:"ring_drops_a"`
	RingDropsB uint64 `json:"ring_drops_b"`
	// Hosts that do not answer, mostly because they were killed.
	Ended []string `json:"ended,omitempty"`
}

// Invalid is an error that wraps [ErrInvalid] if the lab itself lost packets or
// a host.
func (r Report) Invalid() error {
	var lost []string
	for _, d := range []struct {
		name  string
		stats wire.DirectionStats
		ring  uint64
	}{{"a to b", r.AToB, r.RingDropsA}, {"b to a", r.BToA, r.RingDropsB}} {
		faults := d.stats.Faults()
		if d.ring > 0 {
			faults = append(faults, fmt.Sprintf("%d dropped by the TUN ring", d.ring))
		}
		for _, fault := range faults {
			lost = append(lost, d.name+" "+fault)
		}
	}
	for _, name := range r.Ended {
		lost = append(lost, "host "+name+" does not answer")
	}
	if lost == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrInvalid, strings.Join(lost, ", "))
}

// String is one line for people.
func (r Report) String() string {
	line := fmt.Sprintf("lab %s: a to b %s; b to a %s", r.Scenario, direction(r.AToB), direction(r.BToA))
	if err := r.Invalid(); err != nil {
		line += "; " + err.Error()
	}
	return line
}

func direction(s wire.DirectionStats) string {
	parts := []string{fmt.Sprintf("%s late p50 %s p99 %s", unit.Size(s.BytesOut), unit.Milliseconds(s.Lateness.P50), unit.Milliseconds(s.Lateness.P99))}
	return strings.Join(append(parts, s.Events()...), ", ")
}
