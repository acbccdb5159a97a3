package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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

	// Of a network; then what is above of a and b is empty.
	Links     []LinkReport      `json:"links,omitempty"`
	RingDrops map[string]uint64 `json:"ring_drops,omitempty"` // of hosts, where there were any
}

// LinkReport is what one link of a network did.
type LinkReport struct {
	Name string `json:"name"` // "client1 to lan"
	wire.DirectionStats
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
	for _, link := range r.Links {
		for _, fault := range link.Faults() {
			lost = append(lost, link.Name+" "+fault)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.RingDrops)) {
		lost = append(lost, fmt.Sprintf("host %s %d dropped by the TUN ring", name, r.RingDrops[name]))
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
	if r.Links != nil {
		line = fmt.Sprintf("lab %s: %s", r.Scenario, strings.Join(r.links(), "; "))
	}
	if err := r.Invalid(); err != nil {
		line += "; " + err.Error()
	}
	return line
}

// links are those with something to tell, after what all of them came to.
func (r Report) links() []string {
	var late time.Duration
	var parts []string
	for _, link := range r.Links {
		late = max(late, link.Lateness.P99)
		if events := link.Events(); len(events) > 0 {
			parts = append(parts, fmt.Sprintf("%s %s, %s", link.Name, unit.Size(link.BytesOut), strings.Join(events, ", ")))
		}
	}
	return append([]string{fmt.Sprintf("%s, late p99 %s at most", unit.Count(len(r.Links), "link"), unit.Milliseconds(late))}, parts...)
}

func direction(s wire.DirectionStats) string {
	parts := []string{fmt.Sprintf("%s late p50 %s p99 %s", unit.Size(s.BytesOut), unit.Milliseconds(s.Lateness.P50), unit.Milliseconds(s.Lateness.P99))}
	return strings.Join(append(parts, s.Events()...), ", ")
}
