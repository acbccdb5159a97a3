// Package live passes what running runs tell on to the browsers that watch them. A
// [Hub] keeps of each run what somebody who comes late needs, once for all, and every
// browser reads on from where it is: a slow one costs no more than a fast one, and
// misses only points that are too old to be drawn.
//
// # What a browser is sent
//
// One stream of server-sent events for all that a page shows: its query says what.
//
//	?run=ID     a run that is running or has just ended; up to 8 of them
//	?task=ID    a task, and its run as soon as it has begun
//	?runs       the list of running runs
//	?tasks      the list of tasks
//	?flows      this host's flows
//	?after=ID   only what came after [Run.Cursor]: the page shows what was before
//
// Each event's data is one JSON object or list, by its name:
//
//	begin       {run, task, header}       record.Header
//	step        {run, at_ns, kind, text}  record.Event
//	transfer    {run, ...}                Transfer
//	progress    {run, ...}                record.Progress, some four a second
//	end         {run, ...}                End; what the run came to is in the record now, or soon
//	gone        {run}                     nothing is known of it here (any more): ask the record
//	runs        [...]                     Row of each running run
//	task, tasks, flows                    what was published there
//	reset       {}                        forget all: everything comes anew
//
// Events of a run carry an identifier, with which a browser that lost its connection
// goes on where it was. Lists, tasks and flows come whole each time. A browser that keeps the
// latest MostPoints points and MostSteps steps of a run has the same in the end, however slow it was.
//
// Where too many browsers watch, the answer is 503. An EventSource does not try again then: the page's
// script does.
package live

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/fullbore/fullbore/record"
)

// Bounds of what is kept.
const (
	MostPoints    = 600       // of progress, of each run: two and a half minutes
	MostSteps     = 10_000    // events and transfers of each run; the earliest go first
	MostEnded     = 4         // runs that have ended
	MostReaders   = 1000      // browsers at a time
	batch         = 256 << 10 // bytes that are written at once, unless one entry is larger
	mostPublished = 1 << 20   // bytes of JSON of one topic
)

// Topic is something of which only the latest state matters.
type Topic string

// The topics that a page asks for by name. Tasks have one each, too: [OfTask].
const (
	Runs  Topic = "runs"
	Tasks Topic = "tasks"
	Flows Topic = "flows"
)

// OfTask is the topic of one task.
func OfTask(id string) Topic { return Topic("task " + id) }

// Hub keeps what is live. It is safe for concurrent use, and nothing that it is told
// waits for a browser.
type Hub struct {
	epoch  string // of this process: identifiers of another are not ours
	bounds bounds
	times  times

	mu       sync.Mutex
	last     uint64        // number of the latest entry
	changed  chan struct{} // closed at the next entry
	joined   chan struct{} // closed when the next browser comes
	runs     map[string]*run
	order    []string // of the runs, as they began
	latest   map[Topic]entry
	watched  map[Topic]int // by so many browsers
	readers  int
	finished chan struct{}
	closed   bool
}

// bounds and times are those of the constants, except in tests.
type (
	bounds struct{ points, steps, readers, batch int }
	times  struct{ heartbeat, writeWithin, pace time.Duration }
)

// NewHub has nothing yet.
func NewHub() *Hub {
	return &Hub{
		epoch: rand.Text()[:8], bounds: bounds{MostPoints, MostSteps, MostReaders, batch}, times: times{heartbeat, writeWithin, pace},
		changed: make(chan struct{}), joined: make(chan struct{}), finished: make(chan struct{}),
		runs: map[string]*run{}, latest: map[Topic]entry{}, watched: map[Topic]int{},
	}
}

// Close ends all streams: a server that shuts down waits for them.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.closed = true
		close(h.finished)
	}
}

// entry is one event, encoded once for all who read it.
type entry struct {
	number uint64
	value  any
	text   []byte
}

// Observer gives the function that a task's relay calls with each message: see
// [record.NewRelay].
func (h *Hub) Observer(task string) func(run string, m record.Message) {
	return func(id string, m record.Message) { h.tell(task, id, m) }
}
