package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// Run is what is known of a run that is running, or has just ended.
type Run struct {
	Task      string            `json:"task"`
	Header    record.Header     `json:"header"` // its State says whether it is running
	Steps     []record.Event    `json:"steps"`
	Transfers []Transfer        `json:"transfers"`
	Points    []record.Progress `json:"points"` // the latest
	Cursor    string            `json:"cursor"` // what to read on after
}

// Row is a run in the list.
type Row struct {
	Task   string        `json:"task"`
	Header record.Header `json:"header"`
	Doing  string        `json:"doing,omitempty"` // its latest phase
}

// Transfer is a transfer that has ended, without its samples.
type Transfer struct {
	At          time.Duration  `json:"at_ns"` // when it began, since the run started
	Phase       string         `json:"phase,omitempty"`
	Error       string         `json:"error,omitempty"`
	Direction   bulk.Direction `json:"direction,omitempty"`
	Streams     int            `json:"streams,omitempty"`
	Elapsed     time.Duration  `json:"elapsed_ns,omitempty"`  // measured time
	Forward     unit.Rate      `json:"forward_bps,omitempty"` // goodput to the far end
	Reverse     unit.Rate      `json:"reverse_bps,omitempty"` // goodput from the far end
	Retransmits int64          `json:"retransmits,omitempty"` // of all senders that tell
	RTT         time.Duration  `json:"rtt_ns,omitempty"`      // mean under load, of the sender whose mean is largest
}

// End is what a run came to.
type End struct {
	State   record.State    `json:"state"`
	Goodput unit.Rate       `json:"goodput_bps"`
	Verdict string          `json:"verdict,omitempty"`
	Error   string          `json:"error,omitempty"`
	Changes []record.Change `json:"changes,omitempty"` // that were kept
}

// run is what the hub keeps of one.
type run struct {
	task   string
	header record.Header
	doing  string
	begin  entry
	steps  []entry // events, transfers, and the end
	points []entry
}

// tell takes one message of a run.
func (h *Hub) tell(task, id string, m record.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.runs[id]
	if m.Begin != nil && r == nil {
		r = &run{task: task, header: *m.Begin}
		h.runs[id] = r
		h.order = append(h.order, id)
		r.begin = h.entry(id, "begin", struct {
			Task   string         `json:"task"`
			Header *record.Header `json:"header"`
		}{task, m.Begin}, m.Begin)
		h.list()
		return
	}
	if r == nil || r.header.State != record.Running {
		return
	}
	switch {
	case m.Event != nil:
		e := *m.Event
		e.Text = short(e.Text)
		h.step(r, h.entry(id, "step", e, e))
		if e.Kind == record.Phase {
			r.doing = e.Text
			h.list()
		}
	case m.Transfer != nil:
		t := transferOf(m.Transfer)
		h.step(r, h.entry(id, "transfer", t, t))
	case m.Progress != nil:
		r.points = append(r.points, h.entry(id, "progress", m.Progress, *m.Progress))
		if len(r.points) == 2*h.bounds.points {
			r.points = slices.Clone(r.points[h.bounds.points:])
		}
	case m.End != nil:
		end := End{m.End.State, m.End.Goodput, m.End.Verdict, short(m.End.Error), m.End.Changes}
		r.header.State, r.header.Ended, r.header.Goodput, r.header.Verdict, r.header.Error = end.State, m.End.Ended, end.Goodput, end.Verdict, end.Error
		h.step(r, h.entry(id, "end", end, end))
		h.forget()
		h.list()
	}
}

// step keeps an entry among the bounded number of them.
func (h *Hub) step(r *run, e entry) {
	r.steps = append(r.steps, e)
	if len(r.steps) > h.bounds.steps {
		r.steps = r.steps[1:] // append makes room where there is none
	}
}

// latestPoints are those that are kept.
func (h *Hub) latestPoints(r *run) []entry {
	return r.points[max(0, len(r.points)-h.bounds.points):]
}

// forget drops the run that ended first where too many have.
func (h *Hub) forget() {
	ended := 0
	for _, id := range slices.Backward(h.order) {
		if h.runs[id].header.State == record.Running {
			continue
		}
		if ended++; ended > MostEnded {
			delete(h.runs, id)
			h.order = slices.DeleteFunc(h.order, func(other string) bool { return other == id })
		}
	}
}

// entry encodes an event, and wakes those who wait for one.
func (h *Hub) entry(id, kind string, data, value any) entry {
	text, err := json.Marshal(data)
	if err != nil { // a figure that is no number: the page says so instead
		text, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	name, _ := json.Marshal(id)
	h.last++
	var b strings.Builder
	fmt.Fprintf(&b, "id: %s\nevent: %s\ndata: {\"run\":%s,%s\n\n", h.cursor(h.last), kind, name, strings.TrimPrefix(string(text), "{"))
	h.wake()
	return entry{h.last, value, []byte(b.String())}
}

// wake lets all look who wait for something new.
func (h *Hub) wake() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// list publishes which runs are running.
func (h *Hub) list() {
	h.publish(Runs, h.rows())
}

func (h *Hub) rows() []Row {
	rows := []Row{}
	for _, id := range slices.Backward(h.order) {
		if r := h.runs[id]; r.header.State == record.Running {
			rows = append(rows, Row{r.task, r.header, r.doing})
		}
	}
	return rows
}

// Running gives the running runs, the latest first.
func (h *Hub) Running() []Row {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rows()
}

// Run gives one that is running or has just ended; false: nothing is known of it here.
func (h *Hub) Run(id string) (Run, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.runs[id]
	if r == nil {
		return Run{}, false
	}
	all := Run{Task: r.task, Header: r.header, Steps: []record.Event{}, Transfers: []Transfer{}, Points: []record.Progress{}, Cursor: h.cursor(h.last)}
	for _, e := range r.steps {
		switch v := e.value.(type) {
		case record.Event:
			all.Steps = append(all.Steps, v)
		case Transfer:
			all.Transfers = append(all.Transfers, v)
		}
	}
	for _, e := range h.latestPoints(r) {
		all.Points = append(all.Points, e.value.(record.Progress))
	}
	return all, true
}

// longest text of a step, in bytes.
const longest = 4 << 10

func short(text string) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + " …"
}

// transferOf leaves out what only the record needs.
func transferOf(t *record.Transfer) Transfer {
	row := Transfer{At: t.At, Phase: short(t.Phase), Error: short(t.Error)}
	r := t.Result
	if r == nil {
		return row
	}
	row.Direction, row.Streams = r.Spec.Direction, r.Spec.Streams
	for _, d := range r.Spec.Directions() {
		if d == bulk.Forward {
			row.Forward = r.Goodput(d)
		} else {
			row.Reverse = r.Goodput(d)
		}
		for _, s := range r.Receivers(d) {
			row.Elapsed = max(row.Elapsed, s.Elapsed)
		}
		for _, s := range r.Senders(d) {
			row.Retransmits += max(0, s.Retransmits)
			row.RTT = max(row.RTT, time.Duration(s.Peaks.MeanRTT)*time.Microsecond)
		}
	}
	return row
}
