package wire

import (
	"fmt"
	"reflect"
	"sync/atomic"
	"time"
)

// Stats is what passed through a wire since it was started.
type Stats struct {
	AToB DirectionStats `json:"a_to_b"`
	BToA DirectionStats `json:"b_to_a"`
}

// DirectionStats is what was read of a direction's counters and its lateness. It
// is read without stopping the wire; apart from what happens meanwhile,
//
//	SegmentsIn + Duplicated = SegmentsOut + Drops.Total() + WriteErrors + Waiting
type DirectionStats struct {
	Counts[uint64]
	Lateness Lateness `json:"lateness"`
}

// Counts are the counters of one direction, in wire segments and IP bytes: atomic
// ones, to which one thread adds, or what was read of them. This is the one place
// that names a counter. The tag says is how a report has it, and fault the same
// where it is the lab that failed and not the path.
type Counts[N any] struct {
	SegmentsIn  N `json:"segments_in"`
	BytesIn     N `json:"bytes_in"`
	SegmentsOut N `json:"segments_out"`
	BytesOut    N `json:"bytes_out"`
	Waiting     N `json:"waiting"` // segments queued or on their way now

	Drops       Drops[N] `json:"drops"`
	Marked      N        `json:"marked" says:"marked"` // with Congestion Experienced
	Duplicated  N        `json:"duplicated" says:"duplicated"`
	Reordered   N        `json:"reordered" says:"reordered"`
	Corrupted   N        `json:"corrupted" says:"corrupted"`
	Rewritten   N        `json:"rewritten" says:"SYNs rewritten"` // clamped or stripped
	WriteErrors N        `json:"write_errors" fault:"refused by the TUN device"`

	PeakQueueBytes   N `json:"peak_queue_bytes"`
	PeakQueuePackets N `json:"peak_queue_packets"`

	Reads  N `json:"reads"`  // packets and super-packets taken from the near TUN device
	Writes N `json:"writes"` // and given to the far one
}

// Drops counts segments that were not delivered, by reason.
type Drops[N any] struct {
	Queue     N `json:"queue" says:"dropped by the queue"`
	Loss      N `json:"loss" says:"lost"`
	Policer   N `json:"policer" says:"dropped by the policer"`
	BlackHole N `json:"black_hole" says:"in the black hole"`
	Outage    N `json:"outage" says:"dropped in an outage"`
	Malformed N `json:"malformed" fault:"could not be cut"`           // super-packets that do not say how
	Overrun   N `json:"overrun" fault:"above what the path can hold"` // more than MaxInFlight
}

// Total is the number of segments dropped for any reason.
func (d *Drops[N]) Total() (total uint64) {
	v := reflect.ValueOf(d).Elem()
	for _, count := range v.Fields() {
		total += count.Uint()
	}
	return total
}

// read gives the counters as they stand.
func (c *Counts[N]) read() (now Counts[uint64]) {
	read(reflect.ValueOf(c).Elem(), reflect.ValueOf(&now).Elem())
	return now
}

func read(counters, into reflect.Value) {
	for i := range counters.NumField() {
		if counter, ok := reflect.TypeAssert[*atomic.Uint64](counters.Field(i).Addr()); ok {
			into.Field(i).SetUint(counter.Load())
		} else {
			read(counters.Field(i), into.Field(i))
		}
	}
}

// Events are what happened to segments, as a report says it: "12 lost".
func (s *DirectionStats) Events() []string { return nonZero(reflect.ValueOf(s.Counts), "says") }

// Faults are what the lab itself did wrong: results got over this path are void.
func (s *DirectionStats) Faults() []string { return nonZero(reflect.ValueOf(s.Counts), "fault") }

// nonZero writes the counters above 0 that have the tag.
func nonZero(counters reflect.Value, tag string) (all []string) {
	for i := range counters.NumField() {
		counter := counters.Field(i)
		if counter.Kind() == reflect.Struct {
			all = append(all, nonZero(counter, tag)...)
		} else if says := counters.Type().Field(i).Tag.Get(tag); says != "" && counter.Uint() > 0 {
			all = append(all, fmt.Sprintf("%d %s", counter.Uint(), says))
		}
	}
	return all
}

// Lateness is how much later than due segments were delivered: the error of the
// path's delay that comes from this machine's scheduling. Segments delivered
// together are due with the last of them, up to a [Quantum] after the first. What
// a late wake-up adds before the wire sees a segment come is not in it.
type Lateness struct {
	P50 time.Duration `json:"p50_ns"`
	P99 time.Duration `json:"p99_ns"`
	Max time.Duration `json:"max_ns"`
}
