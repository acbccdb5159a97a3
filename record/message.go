package record

import (
	"encoding/json"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Message is one piece of a run, in the order in which they come. Exactly one
// field is set: Begin first, End last. Only those who watch are told Progress.
type Message struct {
	Begin    *Header   `json:"begin,omitempty"`
	Event    *Event    `json:"event,omitempty"`
	Transfer *Transfer `json:"transfer,omitempty"`
	Host     *Host     `json:"host,omitempty"`
	Progress *Progress `json:"progress,omitempty"`
	End      *Outcome  `json:"end,omitempty"`
}

// Outcome is what a run came to.
type Outcome struct {
	State    State           `json:"state"`
	Ended    time.Time       `json:"ended"`
	Goodput  unit.Rate       `json:"goodput_bps"`
	IOPS     float64         `json:"iops,omitempty"`
	Verdict  string          `json:"verdict,omitempty"`
	Error    string          `json:"error,omitempty"`
	From     string          `json:"from,omitempty"` // as in Header, if they are known by now
	To       string          `json:"to,omitempty"`
	Document json.RawMessage `json:"document,omitempty"`
	Changes  []Change        `json:"changes,omitempty"` // that were kept
}

// Change is a setting of a host that is another one since a run.
type Change struct {
	Host    string `json:"host"`
	Tunable string `json:"tunable"` // of the catalogue, or SystemVersion
	From    string `json:"from"`
	To      string `json:"to"`
	Who     Who    `json:"who"`
}

// SystemVersion is the name that a Change has for the version of the system.
const SystemVersion = "version"

// Who made a change.
type Who string

// A change is fullbore's, or was found when the next run looked.
const (
	ByTune    Who = "tune"
	BySomeone Who = "someone"
)
