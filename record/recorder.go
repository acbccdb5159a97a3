package record

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// beat is the time between two signs of life of a run.
const beat = 5 * time.Second

// sink takes the messages of one run, after its first.
type sink interface {
	write(ctx context.Context, m Message) error
	beat(ctx context.Context) error
	close() error
}

// Recorder keeps one run while it goes on. It writes beside the measurement, and
// nothing that goes wrong with it holds that up: [Recorder.End] tells.
type Recorder struct {
	id       string
	began    time.Time
	messages chan Message

	mu      sync.Mutex
	ended   bool
	lost    int       // messages for which there was no room
	watched *watching // nil: nobody watches

	begun chan struct{} // closed once the run is in the store
	done  chan struct{}
	err   error // of writing, once done is closed
}

// waiting is how many messages may wait for a slow store.
const waiting = 1024

// Start begins to keep a run in the store at a place. The header's identifier,
// state and time are set here.
func Start(place string, h Header) *Recorder {
	now := time.Now()
	h.Schema, h.ID, h.State, h.Started = Schema, NewID(), Running, now.UTC()
	r := &Recorder{id: h.ID, began: now, messages: make(chan Message, waiting), begun: make(chan struct{}), done: make(chan struct{})}
	if strings.HasPrefix(place, watched) {
		r.watched = &watching{}
	}
	go func() {
		defer close(r.done)
		r.err = r.work(place, h)
		for range r.messages { // what comes after a failure
		}
	}()
	return r
}

// openSink begins a run at a place.
func openSink(ctx context.Context, place string, h Header) (sink, error) {
	if isRelay(place) {
		return dialRelay(ctx, place, h)
	}
	store, err := Open(ctx, place)
	if err != nil {
		return nil, err
	}
	w, err := store.begin(ctx, h)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return w, nil
}

// work writes what comes, until the end. It does not end with the command's
// context: an interrupted run is written too.
func (r *Recorder) work(place string, h Header) (err error) {
	ctx := context.Background()
	to, err := openSink(ctx, place, h)
	if err != nil {
		return err
	}
	close(r.begun)
	defer func() { err = errors.Join(err, to.close()) }()
	alive := time.NewTicker(beat)
	defer alive.Stop()
	for {
		select {
		case m, more := <-r.messages:
			if !more {
				return nil
			}
			if err := to.write(ctx, m); err != nil {
				return err
			}
		case <-alive.C:
			if err := to.beat(ctx); err != nil {
				return err
			}
		}
	}
}

// add queues a message.
func (r *Recorder) add(m Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	select {
	case r.messages <- m:
	default:
		r.lost++
	}
}

// Event adds a step of the run, or what came of it.
func (r *Recorder) Event(kind EventKind, text string) {
	r.add(Message{Event: &Event{At: time.Since(r.began), Kind: kind, Text: text}})
}

// Transfer adds a transfer that began at a time. It must not change any more.
func (r *Recorder) Transfer(began time.Time, t Transfer) {
	t.At = began.Sub(r.began)
	r.add(Message{Transfer: &t})
}

// Host adds what is known of a host now.
func (r *Recorder) Host(h Host) {
	h.At = time.Now().UTC()
	r.add(Message{Host: &h})
}

// Progress tells those who watch how far the running transfer is. It does nothing where
// nobody does, and where messages wait: points are what can best be spared.
func (r *Recorder) Progress(p bulk.Progress) {
	if r.watched == nil {
		return
	}
	r.mu.Lock()
	now, ok := r.watched.look(p, time.Since(r.began))
	r.mu.Unlock()
	if ok && len(r.messages) <= waiting/2 {
		r.add(Message{Progress: &now})
	}
}

// patience is how long the end of a run waits for its store.
const patience = 15 * time.Second

// Begun waits until the run is in the store, for what may only be measured where it is kept. The error says
// why it is not.
func (r *Recorder) Begun(ctx context.Context) error {
	select {
	case <-r.begun:
		return nil
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ID is the identifier of the run.
func (r *Recorder) ID() string { return r.id }

// End writes the outcome, and waits until all is written. The error says why the
// run is not kept, or not all of it.
func (r *Recorder) End(o Outcome) error { return r.EndWithin(o, patience) }

// EndWithin is End with so much patience: a process that goes on can wait until a server is there again.
func (r *Recorder) EndWithin(o Outcome, patience time.Duration) error {
	o.Ended = time.Now().UTC()
	r.add(Message{End: &o})
	r.mu.Lock()
	if !r.ended {
		r.ended = true
		close(r.messages)
	}
	lost := r.lost
	r.mu.Unlock()
	select {
	case <-r.done:
	case <-time.After(patience):
		return fmt.Errorf("it took longer than %v to write", patience)
	}
	if r.err == nil && lost > 0 {
		return fmt.Errorf("%d parts of it are missing: the store is too slow", lost)
	}
	return r.err
}
