package wire

import (
	"fmt"
	"iter"
	"reflect"
	"time"

	"github.com/fullbore/fullbore/lab/schema"
	"github.com/fullbore/fullbore/unit"
)

// Direction is one way of the path: a link of a rate with a queue before it, a
// delay after it, and what may happen to packets on the way. A zero field means
// unlimited, or none. It is what a scenario says, key by key: nothing stands
// between the two.
//
// A segment meets the impairments in the order of the fields: black hole, outage,
// policer, loss, queue (with ECN), rate, delay with jitter, and on the way
// reordering, duplication and corruption. Whatever is dropped before the queue
// therefore takes nothing of the rate, as with netem; a duplicate arises behind the
// bottleneck.
//
// Delays end at 10 s: four times to the Moon, and longer than any queue that was
// ever measured.
type Direction struct {
	Rate   unit.Rate     `yaml:"rate" json:"rate_bps" range:"1kbit 10000gbit" example:"1gbit"` // of the bottleneck, counting IP bytes
	Delay  time.Duration `yaml:"delay" json:"delay_ns" range:"0s 10s" example:"75ms"`          // propagation, after the bottleneck
	Jitter time.Duration `yaml:"jitter" json:"jitter_ns,omitempty" range:"0s 10s" example:"1ms"`
	Queue  Queue         `yaml:"queue" json:"queue,omitzero" example:"256KB"` // before the bottleneck; without a Rate there is none

	BlackHoleAbove BlackHole `yaml:"black_hole_above" json:"black_hole_above,omitempty" range:"68 65535" example:"1400"`
	Outage         Outage    `yaml:"outage" json:"outage,omitzero" example:"{every: 30s, for: 200ms}"`
	Policer        Policer   `yaml:"policer" json:"policer,omitzero" example:"{rate: 100mbit, burst: 64KB}"`
	Loss           Loss      `yaml:"loss" json:"loss,omitzero" example:"0.01%"`
	ECN            ECN       `yaml:"ecn" json:"ecn,omitzero" example:"{above: 50p}"`
	Reorder        Reorder   `yaml:"reorder" json:"reorder,omitzero" example:"{share: 2%, by: 5ms}"`
	Duplicate      Duplicate `yaml:"duplicate" json:"duplicate,omitempty" range:"0% 100%" example:"0.1%"`
	Corrupt        Corrupt   `yaml:"corrupt" json:"corrupt,omitempty" range:"0% 100%" example:"0.01%"`
	MSSClamp       MSSClamp  `yaml:"mss_clamp" json:"mss_clamp,omitempty" range:"88 65535" example:"1360"`
	Strip          Strip     `yaml:"strip" json:"strip,omitempty" of:"wscale sack timestamps" example:"[wscale, sack, timestamps]"`

	Seed uint64 `yaml:"seed" json:"seed,omitempty" example:"7"` // of everything random in this direction
}

// Impairment is what a direction does to packets beside carrying them. It is
// declared in one place: the field of [Direction] that has its key, with the type
// that has these methods, and what it counts in [Counts].
type Impairment interface {
	// Says is how a drawing has it: "duplicates 0.1%".
	Says() string
	// conflict is what is wrong with it although each of its keys is in its range.
	conflict(s site) error
	// install puts it to work in a lane.
	install(l *lane, s site)
}

// site is where an impairment is to work.
type site struct {
	*Direction
	rtt time.Duration // of the path
	mtu int
}

// Impairments are those that the direction has, with their keys.
func (d *Direction) Impairments() iter.Seq2[string, Impairment] {
	return func(yield func(string, Impairment) bool) {
		v := reflect.ValueOf(d).Elem()
		for key, field := range schema.Keys(v.Type()) {
			impairment, ok := reflect.TypeAssert[Impairment](v.FieldByIndex(field.Index))
			if ok && !v.FieldByIndex(field.Index).IsZero() && !yield(key, impairment) {
				return
			}
		}
	}
}

// Faults says which keys of the direction are out of their ranges, and which do not
// go together on a path of that round-trip time and MTU.
func (d *Direction) Faults(rtt time.Duration, mtu int) []schema.Fault {
	return append(schema.Check(d), d.Conflicts(rtt, mtu)...)
}

// Conflicts says which keys do not go together.
func (d *Direction) Conflicts(rtt time.Duration, mtu int) (found []schema.Fault) {
	if d.Jitter > max(0, d.Delay) {
		found = append(found, schema.Fault{Key: "jitter", Err: fmt.Errorf("jitter %s is above the delay %s: it would deliver before it was sent", d.Jitter, d.Delay)})
	}
	if err := d.Queue.conflict(d.Rate, rtt, mtu); err != nil {
		found = append(found, schema.Fault{Key: "queue", Err: err})
	}
	for key, impairment := range d.Impairments() {
		if err := impairment.conflict(site{d, rtt, mtu}); err != nil {
			found = append(found, schema.Fault{Key: key, Err: err})
		}
	}
	return found
}
