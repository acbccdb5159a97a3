package limit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/unit"
)

// Watcher sees what is measured as it goes.
type Watcher interface {
	Phase(text string)
	Result(text string)
}

// How long each look takes, and what is left out before it.
const (
	LookOmit = 300 * time.Millisecond
	LookFor  = time.Second
	callsFor = 500 * time.Millisecond
)

// Subject is what requests go to, and how they are made.
type Subject interface {
	// Grant says how many of so many requests in flight the server lets a client have; 0: all.
	Grant(ctx context.Context, depth int) (slots int, err error)
	// Look makes requests for [LookFor], after [LookOmit]: over so many connections, so many in flight.
	Look(ctx context.Context, connections, depth int) (Look, error)
	// Alone makes one request after the other; again: all for the same block of the file.
	Alone(ctx context.Context, again bool) (Look, error)
	// Beside calls the server, one call at a time over connections of their own, until it is enough.
	Beside(ctx context.Context, enough <-chan time.Time) (Beside, error)
}

// MeasureOn looks at what e says (its Connections, Depth, Size, Path and what else is known
// beforehand) as a diagnosis needs it: at single calls and requests, then at as many in flight as
// that, and at twice as many.
func MeasureOn(ctx context.Context, s Subject, e *Evidence, watch Watcher) error {
	m := &measuring{Evidence: e, subject: s, depth: e.Depth, watch: watch}
	for _, look := range []func(context.Context) error{m.grant, m.idle, m.single, m.now, m.more} {
		if err := look(ctx); err != nil {
			return err
		}
	}
	return nil
}

type measuring struct {
	*Evidence
	subject Subject
	depth   int // that is asked for
	watch   Watcher
}

// grant asks whether the server grants twice as many requests in flight.
func (m *measuring) grant(ctx context.Context) (err error) {
	m.Slots, err = m.subject.Grant(ctx, min(2*m.depth, nfs.MaxDepth))
	return err
}

func (m *measuring) idle(ctx context.Context) (err error) {
	m.watch.Phase("call the server, with nothing else going on")
	if m.Idle, err = m.subject.Beside(ctx, time.After(callsFor)); err == nil {
		m.watch.Result(fmt.Sprintf("a handshake takes %s, a call that does nothing %s", unit.Milliseconds(m.Idle.Handshake), unit.Milliseconds(m.Idle.Null)))
	}
	return err
}

// single asks for one block again and again, and for one after the other as the load does.
func (m *measuring) single(ctx context.Context) (err error) {
	m.watch.Phase("one request in flight: for the same block each time, and for others")
	if m.Again, err = m.subject.Alone(ctx, true); err != nil {
		return err
	}
	if m.Alone, err = m.subject.Alone(ctx, false); err != nil {
		return err
	}
	m.watch.Result(fmt.Sprintf("%s and %s", unit.Milliseconds(m.Again.Mean), unit.Milliseconds(m.Alone.Mean)))
	return nil
}

// now looks at what is asked about. A client that makes requests of its own for a program's
// tells how many are in flight, and of which size.
func (m *measuring) now(ctx context.Context) (err error) {
	m.watch.Phase(fmt.Sprintf("%s in flight over %s", unit.Count(m.depth, "request"), unit.Count(m.Connections, "connection")))
	if m.Now, m.Loaded, err = m.loaded(ctx, m.depth); err != nil {
		return err
	}
	if m.Now.InFlight > 0 {
		m.Depth = max(1, int(math.Round(m.Now.InFlight)))
	}
	if m.Now.Size > 0 {
		m.Size = m.Now.Size
	}
	return nil
}

func (m *measuring) more(ctx context.Context) (err error) {
	more := min(2*m.depth, nfs.MaxDepth)
	if m.Slots > 0 {
		more = min(more, m.Slots)
	}
	if more < 2*m.depth {
		return nil
	}
	m.watch.Phase(fmt.Sprintf("%s in flight", unit.Count(more, "request")))
	m.More, m.MoreLoaded, err = m.loaded(ctx, more)
	return err
}

// loaded runs requests, and calls beside them.
func (m *measuring) loaded(ctx context.Context, depth int) (l Look, b Beside, err error) {
	var calling sync.WaitGroup
	var failed error
	calling.Go(func() { b, failed = m.subject.Beside(ctx, time.After(LookOmit+LookFor)) })
	l, err = m.subject.Look(ctx, m.Connections, depth)
	calling.Wait()
	if err = cmp.Or(err, failed); err == nil {
		m.watch.Result(fmt.Sprintf("%.0f a second, %s each; a call that does nothing takes %s", l.IOPS, unit.Milliseconds(l.Mean), unit.Milliseconds(b.Null)))
	}
	return l, b, err
}
