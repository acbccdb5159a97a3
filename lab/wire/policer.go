package wire

import (
	"errors"
	"fmt"

	"github.com/fullbore/fullbore/unit"
)

// Policer is a token bucket that drops what exceeds it and queues nothing.
type Policer struct {
	Rate  unit.Rate `yaml:"rate" json:"rate_bps" range:"1kbit 10000gbit"`
	Burst unit.Size `yaml:"burst" json:"burst_bytes"` // depth of the bucket, at least one MTU
}

// Says is how a drawing of the path has it.
func (p Policer) Says() string { return fmt.Sprintf("policed to %s, bursts of %s", p.Rate, p.Burst) }

func (p Policer) conflict(s site) error {
	switch {
	case p.Rate == 0 || p.Burst == 0:
		return errors.New("policer needs both rate and burst")
	case p.Burst < unit.Size(s.mtu):
		return fmt.Errorf("policer burst %d is below the MTU %d: nothing of that size would ever pass", p.Burst, s.mtu)
	}
	return nil
}

func (p Policer) install(l *lane, _ site) { l.gate(newBucket(p), &l.count.Drops.Policer) }

// bucket is a token bucket, full at first.
type bucket struct {
	perNano float64 // bytes a ns
	burst   float64
	tokens  float64
	last    int64
}

func newBucket(p Policer) *bucket {
	return &bucket{perNano: float64(p.Rate) / 8e9, burst: float64(p.Burst), tokens: float64(p.Burst)}
}

// pass takes size bytes out of the bucket, or nothing if they are not in it.
func (b *bucket) pass(now int64, size int) bool {
	b.tokens = min(b.burst, b.tokens+float64(now-b.last)*b.perNano)
	b.last = now
	if b.tokens < float64(size) {
		return false
	}
	b.tokens -= float64(size)
	return true
}
