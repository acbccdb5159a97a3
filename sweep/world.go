package sweep

import (
	"context"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/unit"
)

// World is what an experiment sets and measures in. Its calls come one at a time.
type World interface {
	// About says what is known beforehand.
	About() About
	// Set brings both ends and the path to what the point asks for, and puts back
	// everything else that Set had changed. What is a socket's own ([Point.Spec]) is not
	// its to set.
	Set(ctx context.Context, p Point) error
	// Transfer runs one transfer.
	Transfer(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error)
	// Taken reads back what Set has set: what is really in effect, by factor.
	Taken(ctx context.Context, p Point) (map[string]Value, error)
	// PutBack puts everything back as it was found. It is called once, however the
	// experiment ends, with a context of its own.
	PutBack(ctx context.Context) error
}

// About is what a world knows before anything is measured.
type About struct {
	CPUs     int       // that both ends have, the fewer of the two; 0: not known
	Capacity unit.Rate // what the path carries as goodput; 0: not known
	Share    float64   // of its rate that is, without headers; 0: not known
	Scenario string    // of the lab
	Shared   bool      // both ends are on one machine, so that a host's CPU time is that of both
	Kernels  Kernels
}

// Store keeps what was measured, so that an experiment which was killed goes on where
// it was.
type Store interface {
	// Kept are the points that are there already, in the order in which they were kept.
	Kept() []Measured
	// Keep adds one; it is there even if the process is killed right afterwards.
	Keep(m Measured) error
}

// Measured is one transfer of an experiment.
type Measured struct {
	Block int              `json:"block"`
	Key   string           `json:"point"`
	Began time.Time        `json:"began"`
	Took  time.Duration    `json:"took_ns"` // with its settings and set-up
	Bytes int64            `json:"bytes"`
	Run   *experiment.Run  `json:"run,omitempty"` // nil: it failed
	Taken map[string]Value `json:"taken,omitempty"`
	Notes []string         `json:"notes,omitempty"`
	ACKs  []bulk.ACKPoint  `json:"acks,omitempty"`
	IOPS  float64          `json:"iops,omitempty"`  // of requests to a file
	Error string           `json:"error,omitempty"` // why it failed
}

// Watch is notified of progress. Calls come one at a time.
type Watch interface {
	examine.Watcher
	// Starts says what the experiment costs, and how much of it is there already.
	Starts(cost Cost, kept int)
	// Kept gives each transfer when it has been measured and kept; result is nil of one
	// that failed.
	Kept(m Measured, result *bulk.Result, left Left)
}

// Left is what remains of an experiment.
type Left struct {
	Transfers int // at most, of a search
	Time      time.Duration
}
