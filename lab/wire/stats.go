package wire

import "time"

// Stats is what passed through a wire since it was started.
type Stats struct {
	AToB DirectionStats `json:"a_to_b"`
	BToA DirectionStats `json:"b_to_a"`
}

// DirectionStats counts one direction in wire segments and IP bytes. It is read
// without stopping the wire; but for what happens meanwhile,
//
//	SegmentsIn + Duplicated = SegmentsOut + Drops.Total() + WriteErrors + Waiting
type DirectionStats struct {
	SegmentsIn  uint64 `json:"segments_in"`
	BytesIn     uint64 `json:"bytes_in"`
	SegmentsOut uint64 `json:"segments_out"`
	BytesOut    uint64 `json:"bytes_out"`
	Waiting     uint64 `json:"waiting"` // segments queued or on their way now

	Drops       Drops  `json:"drops"`
	Marked      uint64 `json:"marked"` // with Congestion Experienced
	Duplicated  uint64 `json:"duplicated"`
	Reordered   uint64 `json:"reordered"`
	Corrupted   uint64 `json:"corrupted"`
	Rewritten   uint64 `json:"rewritten"`    // SYNs clamped or stripped
	WriteErrors uint64 `json:"write_errors"` // segments that the far TUN device refused: a fault of the lab, not of the path

	PeakQueueBytes   uint64 `json:"peak_queue_bytes"`
	PeakQueuePackets uint64 `json:"peak_queue_packets"`

	Reads    uint64   `json:"reads"`  // packets and super-packets taken from the near TUN device
	Writes   uint64   `json:"writes"` // and given to the far one
	Lateness Lateness `json:"lateness"`
}

// Drops counts segments that were not delivered, by reason.
type Drops struct {
	Queue     uint64 `json:"queue"`
	Loss      uint64 `json:"loss"`
	Policer   uint64 `json:"policer"`
	BlackHole uint64 `json:"black_hole"`
	Malformed uint64 `json:"malformed"` // super-packets that cannot be cut: a fault of the lab
	Overrun   uint64 `json:"overrun"`   // more was on its way than MaxInFlight: a fault of the lab
}

// Total is the number of segments dropped for any reason.
func (d Drops) Total() uint64 {
	return d.Queue + d.Loss + d.Policer + d.BlackHole + d.Malformed + d.Overrun
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
