package peer

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/peer/intake"
)

// What an answer can be at most. A member of an object is some 6 bytes of text at
// the least and 60 in memory; of what is in lists, a sample has 352, most has less.
var (
	smallAnswer = intake.Bounds{Bytes: 64 << 10, Elements: 1000, Members: 100}
	// Of each train there are some 300 bytes of text, and a client sends some hundreds.
	// An outcome has two members a point; the document of a task has lists, of which nothing is made.
	jobAnswer   = intake.Bounds{Bytes: 1 << 20, Elements: 100_000, Members: 4 * job.MostPoints}
	probeAnswer = intake.Bounds{Bytes: 1 << 20, Elements: 10_000, Members: 100}
	// Package collector takes 4096 interfaces and 65536 tunables. A host has some
	// addresses and queues of an interface.
	factsAnswer = intake.Bounds{Bytes: 8 << 20, Elements: 1 << 17, Members: 1 << 17}
	// A change set has some 2 KB of text, and as many elements as values.
	setsAnswer = intake.Bounds{Bytes: 4 << 20, Elements: 20_000, Members: 100}
)

// resultAnswer is what a transfer's result can be at most: by its spec there are
// so many streams with so many samples.
func resultAnswer(spec bulk.Spec) intake.Bounds {
	streams := int64(connections(spec))
	samples := streams * int64(mostSamples(spec))
	return intake.Bounds{
		Bytes:    samples*maxSampleText + streams*maxStreamText + maxEndText,
		Elements: samples + 4*streams + maxCores + host.MaxLinks,
		Members:  maxCounters,
	}
}

// The longest that parts of a result can be, in bytes of JSON; see
// TestHonestResultsFit.
const (
	maxSampleText = 2200
	maxStreamText = 4 << 10
	maxEndText    = 1 << 20 // cores, kernel counters, interfaces
	maxCores      = 8192    // CONFIG_NR_CPUS of Linux
	maxCounters   = 4096    // kernel counters: Linux has some 400
)

// mostSamples is how many samples of a stream the far end can have made.
func mostSamples(spec bulk.Spec) int {
	most := bulk.MostSamples(connections(spec))
	if spec.Timed() {
		interval := max(spec.Interval, time.Millisecond)
		if spec.Interval == 0 {
			interval = bulk.DefaultInterval // or longer: see Limits.fit
		}
		// The first and the last one lie beside those of the ticks.
		most = min(most, int((spec.Omit+spec.Duration+windUp)/interval)+2)
	}
	return most
}
