package host

import (
	"cmp"
	"fmt"
	"slices"
)

// LinkCounters are what one network interface has carried and lost. All but
// bytes and packets stay at zero on a healthy link that is not overrun. Where
// the kernel and the driver count the same, it is the larger of the two.
type LinkCounters struct {
	RxBytes   int64 `json:"rx_bytes"`
	TxBytes   int64 `json:"tx_bytes"`
	RxPackets int64 `json:"rx_packets"` // as the driver counts them: one for a super-packet, or one for each frame
	TxPackets int64 `json:"tx_packets"`

	RxErrors       int64 `json:"rx_errors,omitempty"`       // frames received and thrown away as damaged, of any kind
	TxErrors       int64 `json:"tx_errors,omitempty"`       // packets that could not be sent, of any kind
	RxDropped      int64 `json:"rx_dropped,omitempty"`      // good packets that the host had no use or no room for
	TxDropped      int64 `json:"tx_dropped,omitempty"`      // packets that the interface did not take
	RxMissed       int64 `json:"rx_missed,omitempty"`       // frames that found the card's queue or ring full
	CRC            int64 `json:"crc,omitempty"`             // frames whose checksum (FCS) was wrong
	Frame          int64 `json:"frame,omitempty"`           // frames that did not end on a byte (alignment)
	Length         int64 `json:"length,omitempty"`          // frames too short or too long
	Symbol         int64 `json:"symbol,omitempty"`          // codes on the wire that mean nothing
	Jabber         int64 `json:"jabber,omitempty"`          // frames too long, with a wrong checksum
	Collisions     int64 `json:"collisions,omitempty"`      // normal on a half-duplex side
	LateCollisions int64 `json:"late_collisions,omitempty"` // after the first 64 bytes: normal nowhere
	Aborted        int64 `json:"aborted,omitempty"`         // packets given up after 16 collisions
	CarrierErrors  int64 `json:"carrier_errors,omitempty"`  // packets during which the carrier was lost
	CarrierChanges int64 `json:"carrier_changes,omitempty"` // times the link went down or came up
}

// fields are all counters, for what is done to each of them alike.
func (c *LinkCounters) fields() []*int64 {
	return []*int64{
		&c.RxBytes, &c.TxBytes, &c.RxPackets, &c.TxPackets,
		&c.RxErrors, &c.TxErrors, &c.RxDropped, &c.TxDropped, &c.RxMissed,
		&c.CRC, &c.Frame, &c.Length, &c.Symbol, &c.Jabber,
		&c.Collisions, &c.LateCollisions, &c.Aborted, &c.CarrierErrors, &c.CarrierChanges,
	}
}

// Damaged is how many frames came in with an error of the wire: these counters
// overlap, and no driver has them all.
func (c *LinkCounters) Damaged() int64 {
	return max(c.CRC, c.Frame, c.Symbol, c.Jabber)
}

// LinkDelta is what one interface carried and lost from one instant to another.
type LinkDelta struct {
	Name string `json:"name"`
	Used bool   `json:"used,omitempty"` // packets to the other end leave by it, or by what is stacked upon it

	// Route says that the route to the other end names this interface: of a stack
	// the uppermost, such as a bond and not its ports.
	Route bool `json:"route,omitempty"`
	LinkCounters
}

// Links are the counters of a network namespace's interfaces at one instant, by
// name.
type Links map[string]Link

// Link is one interface in a reading.
type Link struct {
	Index    int // tells it from another one that had its name before
	Used     bool
	Route    bool
	Counters LinkCounters
}

// MaxLinks is how many interfaces Since reports at most.
const MaxLinks = 64

// Since is what changed from before to l: first the interfaces that are used,
// then those that carried most. What carried nothing and is not used is left
// out, as is what only one of the readings has. A counter that was reset in
// between counts as unchanged.
func (l Links) Since(before Links) []LinkDelta {
	var deltas []LinkDelta
	for name, now := range l {
		was, ok := before[name]
		if !ok || was.Index != now.Index {
			continue
		}
		d := LinkDelta{Name: name, Used: now.Used || was.Used, Route: now.Route || was.Route, LinkCounters: now.Counters}
		changed := false
		past := was.Counters.fields()
		for i, field := range d.fields() {
			*field = max(0, *field-*past[i])
			changed = changed || *field > 0
		}
		if changed || d.Used {
			deltas = append(deltas, d)
		}
	}
	slices.SortFunc(deltas, func(a, b LinkDelta) int {
		switch {
		case a.Used != b.Used && a.Used:
			return -1
		case a.Used != b.Used:
			return 1
		}
		return cmp.Or(cmp.Compare(b.RxBytes+b.TxBytes, a.RxBytes+a.TxBytes), cmp.Compare(a.Name, b.Name))
	})
	return deltas[:min(len(deltas), MaxLinks)]
}

// maxLinkName is longer than any system's names of interfaces (Linux: IFNAMSIZ,
// 16; Windows: 256).
const maxLinkName = 256

// CheckLinks says whether what another host reports of its interfaces can be the
// result of Since there.
func CheckLinks(deltas []LinkDelta) error {
	if len(deltas) > MaxLinks {
		return fmt.Errorf("%d interfaces, want at most %d", len(deltas), MaxLinks)
	}
	for i, d := range deltas {
		if d.Name == "" || len(d.Name) > maxLinkName {
			return fmt.Errorf("interface %d has a name of %d bytes", i+1, len(d.Name))
		}
		for _, field := range d.fields() {
			if *field < 0 {
				return fmt.Errorf("interface %.40q has negative counts", d.Name)
			}
		}
	}
	return nil
}
