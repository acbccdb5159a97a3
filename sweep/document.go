package sweep

import (
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// Document is the JSON contract of sweep (docs/json.md).
type Document struct {
	Schema     string        `json:"schema"` // "fullbore/sweep/1"
	Experiment string        `json:"experiment"`
	About      string        `json:"about,omitempty"`
	Scenario   string        `json:"scenario,omitempty"` // of the lab
	Plan       Plan          `json:"plan"`
	Factors    Factors       `json:"factors"`
	Blocks     int           `json:"blocks"`
	Seed       uint64        `json:"seed"`
	Smallest   float64       `json:"smallest_difference"`
	Also       []string      `json:"also"`    // what the experiment wants shown beside goodput and CPUs
	Cost       Cost          `json:"cost"`    // as said before it started
	Spent      Spent         `json:"spent"`   // all runs of it together
	CPUsOf     string        `json:"cpus_of"` // whose work cpus_used is: "host", or "process" where both ends share a machine
	Points     []PointResult `json:"points"`
	Steps      []Step        `json:"steps,omitempty"` // of a search
	Enough     *Enough       `json:"enough"`          // null: no factor whose value one would choose
	Law        *Law          `json:"law"`             // null: the experiment names none
	Says       string        `json:"says"`
	Error      string        `json:"error,omitempty"` // why it ended early; what was measured until then stands
}

// Spent is what the transfers took.
type Spent struct {
	Transfers int     `json:"transfers"`
	Resumed   int     `json:"resumed"` // of those, how many an earlier start had measured
	Failed    int     `json:"failed"`
	Seconds   float64 `json:"seconds"` // from setting a point to having its result
	Bytes     int64   `json:"bytes"`
}

// PointResult is what was measured of one point.
type PointResult struct {
	Factors  map[string]Value  `json:"factors"` // as asked for
	Taken    map[string]Value  `json:"taken"`   // as it was in effect
	Present  bool              `json:"present"` // the setting that was found
	Runs     int               `json:"runs"`
	Failed   int               `json:"failed,omitempty"`
	Goodput  unit.Rate         `json:"goodput_bps"`    // geometric mean
	IOPS     float64           `json:"iops,omitempty"` // requests a second, of those to a file: geometric mean
	CI95     *[2]float64       `json:"ci95"`           // of goodput; null: of fewer than two runs
	Each     []float64         `json:"each_bps"`       // run by run
	Blocks   []int             `json:"blocks"`         // that they were in
	Gain     *stat.Effect      `json:"gain,omitempty"` // against the present setting, block by block; absent: of another path, or too few runs
	CPUs     CPUs              `json:"cpus_used"`
	Process  CPUs              `json:"cpus_process"`
	Host     CPUs              `json:"cpus_host"`
	RTT      float64           `json:"rtt_s,omitempty"` // least that the sender's kernel saw, median of the runs
	Loaded   *float64          `json:"loaded_rtt_s,omitempty"`
	Repeated *float64          `json:"repeated_share,omitempty"`
	PerACK   *float64          `json:"data_per_ack,omitempty"`
	Series   [][]bulk.ACKPoint `json:"acks,omitempty"` // of each run, second by second
	Law      *unit.Rate        `json:"law_bps,omitempty"`
	Notes    []string          `json:"notes,omitempty"` // settings that did not take effect; failures

	point   Point
	rtt     time.Duration
	loss    float64 // below 0: not known
	mss     float64
	streams int
	window  unit.Size
}

// CPUs is how many CPUs each end used, mean of the runs; null: it does not tell.
type CPUs struct {
	Sender   *float64 `json:"sender"`
	Receiver *float64 `json:"receiver"`
}

// Step is a decision of a search.
type Step struct {
	From   Value       `json:"from"`
	To     Value       `json:"to"`
	Gain   stat.Effect `json:"gain"` // of the second against the first
	Pairs  int         `json:"pairs"`
	Gains  bool        `json:"gains"`            // by what matters
	Sure   bool        `json:"sure"`             // the interval shows it
	Failed bool        `json:"failed,omitempty"` // one of the two could not be measured
}
