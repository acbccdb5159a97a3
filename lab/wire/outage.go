package wire

import (
	"errors"
	"fmt"
	"time"
)

// Outage is a path that leads nowhere for a while, again and again, as while
// routes are changed: segments that arrive at the link during an outage are
// dropped. What was queued or on its way by then still arrives. The first outage
// begins Every after the wire was started, the next one Every after that.
//
// Outages shorter than a millisecond are bursts of loss, which [Loss] has; a lab
// does not last more than a day.
type Outage struct {
	Every time.Duration `yaml:"every" json:"every_ns" range:"1ms 24h"`
	For   time.Duration `yaml:"for" json:"for_ns" range:"1ms 24h"`
}

// Says is how a drawing of the path has it.
func (o Outage) Says() string {
	return fmt.Sprintf("carries nothing for %s every %s", o.For, o.Every)
}

func (o Outage) conflict(site) error {
	switch {
	case o.Every == 0 || o.For == 0:
		return errors.New("outage needs both every and for")
	case o.For >= o.Every:
		return fmt.Errorf("outage for %s every %s never ends", o.For, o.Every)
	}
	return nil
}

func (o Outage) install(l *lane, _ site) { l.gate(o, &l.count.Drops.Outage) }

// pass says whether there is no outage now.
func (o Outage) pass(now int64, _ int) bool {
	return now < int64(o.Every) || now%int64(o.Every) >= int64(o.For)
}

// BlackHole drops IP packets larger than this many bytes, without an ICMP error.
type BlackHole int

// Says is how a drawing of the path has it.
func (b BlackHole) Says() string { return fmt.Sprintf("packets above %d bytes vanish", int(b)) }

func (BlackHole) conflict(site) error { return nil }

func (b BlackHole) install(l *lane, _ site) { l.gate(b, &l.count.Drops.BlackHole) }

func (b BlackHole) pass(_ int64, size int) bool { return size <= int(b) }
