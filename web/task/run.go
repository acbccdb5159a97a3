package task

import (
	"fmt"
	"slices"
	"time"

	"github.com/fullbore/fullbore/record"
)

// run carries out a task, and lets the next one begin.
func (t *Tasks) run(x *task) {
	t.tell(x)
	relay, err := t.relay(x)
	var how ending
	if err == nil {
		how, err = t.carryOut(x, relay.Place())
		closeRelay(relay)
	}
	t.mu.Lock()
	x.end(how, err)
	t.mu.Unlock()
	t.finish(x)
}

func (t *Tasks) carryOut(x *task, place string) (ending, error) {
	command, err := t.command(x, place)
	if err != nil {
		return ending{}, err
	}
	return x.child.run(command, func(lines []string) {
		t.mu.Lock()
		x.Lines = lines
		t.mu.Unlock()
		t.tell(x)
	})
}

// relay takes the run of a task, and lets others watch it.
func (t *Tasks) relay(x *task) (*record.Relay, error) {
	place := t.o.Place
	if place == "" {
		place = record.Nowhere
	}
	watch := func(string, record.Message) {}
	if t.o.Observe != nil {
		watch = t.o.Observe(x.ID)
	}
	return record.NewRelay(place, nil, func(run string, m record.Message) {
		watch(run, m)
		if m.Begin == nil {
			return
		}
		t.mu.Lock()
		x.Run = run
		t.mu.Unlock()
		t.tell(x)
	})
}

// writtenWithin is how long the end of a task waits for its record: as long as a command does.
const writtenWithin = 15 * time.Second

// closeRelay waits until all that was told is kept.
func closeRelay(relay *record.Relay) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = relay.Close() // what could not be kept, the command has said
	}()
	select {
	case <-closed:
	case <-time.After(writtenWithin): // it goes on beside what comes next
	}
}

// finish tells of a task that has ended, and begins the next.
func (t *Tasks) finish(x *task) {
	t.tell(x)
	t.mu.Lock()
	close(x.ended)
	if !t.closed {
		t.next()
	}
	var waiting []*task
	for _, other := range t.all {
		if other.State == Waiting {
			waiting = append(waiting, other) // each is one place further
		}
	}
	gone := t.forget()
	t.mu.Unlock()
	for _, other := range waiting {
		t.tell(other)
	}
	if t.o.Gone == nil {
		return
	}
	for _, id := range gone {
		t.telling.Lock()
		t.o.Gone(id)
		t.telling.Unlock()
	}
}

// forget drops those that ended first where too many have.
func (t *Tasks) forget() (gone []string) {
	ended := 0
	for _, x := range t.all {
		if x.State.Ended() {
			ended++
		}
	}
	t.all = slices.DeleteFunc(t.all, func(x *task) bool {
		if !x.State.Ended() || ended <= MostEnded {
			return false
		}
		ended--
		gone = append(gone, x.ID)
		return true
	})
	return gone
}

// Stop asks one to end as Ctrl-C does, and does not wait for that. One that has not
// ended after Patience is killed: what it changed reverts by itself. Stopping one that
// has ended does nothing.
func (t *Tasks) Stop(id string) error {
	t.mu.Lock()
	x := t.find(func(x *task) bool { return x.ID == id })
	if x == nil {
		t.mu.Unlock()
		return ErrUnknown
	}
	was := x.State
	switch was {
	case Waiting:
		x.State, x.Ended, x.Says = Stopped, time.Now().UTC(), "It was stopped before its turn came."
	case Running:
		x.State = Stopping
		x.child.stop(t.patience)
	}
	t.mu.Unlock()
	switch was {
	case Waiting:
		t.finish(x)
	case Running:
		t.tell(x)
	}
	return nil
}

// Patience is how long a task may take to put back what it changed.
const Patience = time.Minute

// Close stops all tasks and waits until they have ended; awaits, if it is not nil, is told of the one
// that is waited for. Nothing is started afterwards.
func (t *Tasks) Close(awaits func(Task)) {
	t.mu.Lock()
	t.closed = true
	all := slices.Clone(t.all)
	t.mu.Unlock()
	for _, x := range all {
		_ = t.Stop(x.ID) // it may just have been forgotten
	}
	for _, x := range all {
		t.mu.Lock()
		v := t.view(x)
		t.mu.Unlock()
		if awaits != nil && !v.State.Ended() {
			awaits(v)
		}
		<-x.ended
	}
}

// end notes how a task ended.
func (x *task) end(how ending, failed error) {
	stopped := x.State == Stopping
	x.Ended, x.child, x.token = time.Now().UTC(), nil, ""
	switch {
	case failed != nil:
		x.State, x.Says = Failed, fmt.Sprintf("It could not be started: %v.", failed)
		return
	case stopped && how.signal == "signal: interrupt": // else it would have heeded that
		x.State, x.Says = Stopped, "It was stopped before it did anything."
		return
	case how.killed:
		x.State, x.Says = Failed, "Its process was killed ("+how.signal+"): what it changed reverts by itself, which 'fullbore status' shows."
		if stopped {
			x.State = Stopped
		}
		return
	}
	x.Exit = &how.code
	x.State, x.Says = Failed, sentence(how.code, x.Lines)
	switch {
	case how.code == 0 || how.code == codeBelow:
		x.State = Done
	case stopped:
		x.State = Stopped
	}
}
