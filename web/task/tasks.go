// Package task starts measurements for those who have no terminal. A task is this same
// program with a verb, as a process of its own: what an interrupt, a crash or an undo
// does is what the command line does. One task runs at a time, as two that measure
// would disturb each other; a few more wait for their turn.
package task

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fullbore/fullbore/record"
)

// State is how far a task is.
type State string

// A task waits, runs, and ends in one of three ways.
const (
	Waiting  State = "waiting" // for its turn
	Running  State = "running"
	Stopping State = "stopping" // it was asked to end, and puts back what it changed
	Done     State = "done"     // exit code 0, or 4: measured, but below what was asked
	Failed   State = "failed"
	Stopped  State = "stopped" // somebody wanted that, or the page ended
)

// Ended says that a state is a last one.
func (s State) Ended() bool { return s == Done || s == Failed || s == Stopped }

// Task is one that was asked for.
type Task struct {
	ID      string    `json:"id"`
	Request Request   `json:"request"` // without its token
	Command []string  `json:"command"` // the same on the command line, without the program's name
	State   State     `json:"state"`
	Place   int       `json:"place,omitempty"` // of one that waits: 1 is next
	Run     string    `json:"run,omitempty"`   // identifier of its run, once that has begun
	Asked   time.Time `json:"asked"`
	Began   time.Time `json:"began,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Exit    *int      `json:"exit,omitempty"`  // exit code, once it has ended by itself
	Says    string    `json:"says,omitempty"`  // how it ended, in a sentence
	Lines   []string  `json:"lines,omitempty"` // the last ones that it wrote for people, safe to show
}

// What Start, Get, Stop and Wait may say.
var (
	ErrFixed   = errors.New("that may change this host's tunables, which is not allowed here: start the far end with --allow-changes, or run it in the lab")
	ErrFull    = errors.New("too many tasks wait already: try again when one has ended")
	ErrUnknown = errors.New("there is no such task (any more)")
	ErrClosed  = errors.New("the page ends: nothing new is started")
)

// Bounds of what is kept.
const (
	MostWaiting = 8  // tasks that wait for their turn
	MostEnded   = 50 // tasks that have ended
)

// Options of all tasks. Functions that are nil are not called.
type Options struct {
	Program string                                               // to start; "": this one
	Env     []string                                             // added to this process's environment
	Place   string                                               // where runs are kept, as record.Place gives it; "": nowhere
	Fixed   bool                                                 // nothing may be started that changes this host's tunables
	Observe func(task string) func(run string, m record.Message) // of each task's relay: live.Hub's Observer
	Changed func(Task)                                           // called one at a time whenever a task is another than before; it must not start or stop any
	Gone    func(id string)                                      // called when a task that ended long ago is forgotten; it must not start or stop any
}

// Tasks are those of one page. It is safe for concurrent use.
type Tasks struct {
	o        Options
	patience time.Duration // Patience, except in tests
	telling  sync.Mutex    // held while Changed is called; taken before mu

	mu     sync.Mutex
	all    []*task // as they were asked for
	closed bool
}

// task is one with what nobody else needs to see.
type task struct {
	Task
	token string
	ended chan struct{}
	child *child // nil unless it runs
}

// New starts nothing yet.
func New(o Options) *Tasks { return &Tasks{o: o, patience: Patience} }

// Start begins a task, or lets it wait. Errors are [Invalid], ErrFull or ErrClosed.
func (t *Tasks) Start(r Request) (Task, error) {
	if err := r.Check(); err != nil {
		return Task{}, err
	}
	if t.o.Fixed && r.changes() {
		return Task{}, &Invalid{"verb", ErrFixed}
	}
	x := &task{token: r.Token, ended: make(chan struct{})}
	r.Token = ""
	r.Tags = slices.Clone(r.Tags)
	x.Task = Task{ID: record.NewID(), Request: r, Command: r.Args(), State: Waiting, Asked: time.Now().UTC()}
	t.mu.Lock()
	switch {
	case t.closed:
		t.mu.Unlock()
		return Task{}, ErrClosed
	case t.waiting() == MostWaiting:
		t.mu.Unlock()
		return Task{}, ErrFull
	}
	t.all = append(t.all, x)
	t.next()
	t.mu.Unlock()
	return t.tell(x), nil
}

// waiting is how many wait.
func (t *Tasks) waiting() int {
	n := 0
	for _, x := range t.all {
		if x.State == Waiting {
			n++
		}
	}
	return n
}

// next lets the one run whose turn it is, if none runs.
func (t *Tasks) next() {
	var first *task
	for _, x := range t.all {
		switch {
		case x.State == Running || x.State == Stopping:
			return
		case x.State == Waiting && first == nil:
			first = x
		}
	}
	if first != nil {
		first.State, first.Began = Running, time.Now().UTC()
		first.child = newChild()
		go t.run(first)
	}
}

// view is a task as others see it.
func (t *Tasks) view(x *task) Task {
	v := x.Task
	v.Command, v.Lines, v.Request.Tags = slices.Clone(v.Command), slices.Clone(v.Lines), slices.Clone(v.Request.Tags)
	if v.State != Waiting {
		return v
	}
	for _, other := range t.all {
		if other.State == Waiting {
			v.Place++
		}
		if other == x {
			break
		}
	}
	return v
}

// tell calls Changed, and gives what it was told.
func (t *Tasks) tell(x *task) Task {
	t.telling.Lock()
	defer t.telling.Unlock()
	t.mu.Lock()
	v := t.view(x)
	t.mu.Unlock()
	if t.o.Changed != nil {
		t.o.Changed(v)
	}
	return v
}

// List gives those that run or wait, and the latest that have ended; the latest first.
func (t *Tasks) List() []Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := []Task{}
	for _, x := range slices.Backward(t.all) {
		all = append(all, t.view(x))
	}
	return all
}

// Get gives one; or ErrUnknown.
func (t *Tasks) Get(id string) (Task, error) {
	return t.where(func(x *task) bool { return x.ID == id })
}

// OfRun gives the task that a run belongs to; or ErrUnknown.
func (t *Tasks) OfRun(run string) (Task, error) {
	return t.where(func(x *task) bool { return x.Run != "" && x.Run == run })
}

func (t *Tasks) where(is func(*task) bool) (Task, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.find(is); x != nil {
		return t.view(x), nil
	}
	return Task{}, ErrUnknown
}

func (t *Tasks) find(is func(*task) bool) *task {
	if i := slices.IndexFunc(t.all, is); i >= 0 {
		return t.all[i]
	}
	return nil
}

// Wait waits until a task has ended, or ctx.
func (t *Tasks) Wait(ctx context.Context, id string) (Task, error) {
	t.mu.Lock()
	x := t.find(func(x *task) bool { return x.ID == id })
	t.mu.Unlock()
	if x == nil {
		return Task{}, ErrUnknown
	}
	select {
	case <-x.ended:
	case <-ctx.Done():
		return Task{}, ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view(x), nil
}
