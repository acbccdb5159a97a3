// Package task starts measurements for those who have no terminal. A task is this same
// program with a verb, as a process of its own: what an interrupt, a crash or an undo
// does is what the command line does. One task runs at a time, as two that measure
// would disturb each other; a few more wait for their turn.
package task

import (
	"context"
	"errors"
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
	ErrFull    = errors.New("too many tasks wait already: try again when one has ended")
	ErrUnknown = errors.New("there is no such task (any more)")
	ErrClosed  = errors.New("the page ends: nothing new is started")
)

// Options of all tasks.
type Options struct {
	Program string                                               // to start; "": this one
	Env     []string                                             // added to this process's environment
	Place   string                                               // where runs are kept, as record.Place gives it
	Observe func(task string) func(run string, m record.Message) // of each task's relay: live.Hub's Observer; nil: nobody
	Changed func(Task)                                           // called one at a time whenever a task is another than before; nil: nobody
}

// Tasks are those of one page. It is safe for concurrent use.
type Tasks struct{}

// New starts nothing yet.
func New(o Options) *Tasks { panic("follows") }

// Start begins a task, or lets it wait. Errors are [Invalid], ErrFull or ErrClosed.
func (t *Tasks) Start(r Request) (Task, error) { panic("follows") }

// List gives those that run or wait, and the latest that have ended; the latest first.
func (t *Tasks) List() []Task { panic("follows") }

// Get gives one; or ErrUnknown.
func (t *Tasks) Get(id string) (Task, error) { panic("follows") }

// OfRun gives the task that a run belongs to; or ErrUnknown.
func (t *Tasks) OfRun(run string) (Task, error) { panic("follows") }

// Stop asks one to end as Ctrl-C does, and does not wait for that. One that has not
// ended after Patience is killed: what it changed reverts by itself. Stopping one that
// has ended does nothing.
func (t *Tasks) Stop(id string) error { panic("follows") }

// Patience is how long a task may take to put back what it changed.
const Patience = time.Minute

// Wait waits until a task has ended, or ctx.
func (t *Tasks) Wait(ctx context.Context, id string) (Task, error) { panic("follows") }

// Close stops all tasks and waits until they have ended; ended tells of each that is
// awaited. Nothing is started afterwards.
func (t *Tasks) Close(awaits func(Task)) { panic("follows") }
