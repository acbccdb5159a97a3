package limit

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
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
	lookOmit = 300 * time.Millisecond
	lookFor  = time.Second
	callsFor = 500 * time.Millisecond
)

// Measure looks at a file as the evidence needs it: at single calls and requests, then at
// what the load asks for, and at twice as many in flight. Path is the payload that the path
// carries; 0: not known.
func Measure(ctx context.Context, t nfs.Target, load nfs.Load, connections int, path unit.Rate, watch Watcher) (*Evidence, error) {
	e := &Evidence{Connections: connections, Depth: load.Depth, Path: path, ReadAhead: load.ReadAhead}
	if load.Op == nfs.Read || load.Op == nfs.Write {
		e.Size = unit.Size(load.Size)
	}
	m := &measuring{Evidence: e, target: t, load: load, watch: watch}
	if err := m.grant(ctx); err != nil {
		return nil, err
	}
	for _, look := range []func(context.Context) error{m.idle, m.single, m.now, m.more} {
		if err := look(ctx); err != nil {
			return nil, err
		}
	}
	return e, nil
}

type measuring struct {
	*Evidence
	target nfs.Target
	load   nfs.Load
	watch  Watcher
}

// grant asks whether the server grants twice as many requests in flight.
func (m *measuring) grant(ctx context.Context) error {
	asked := min(2*m.Depth, nfs.MaxDepth)
	mount, err := nfs.Open(ctx, m.target, nfs.Options{Connections: 1, Depth: asked})
	if err != nil {
		return err
	}
	if mount.Slots < asked {
		m.Slots = mount.Slots
	}
	return mount.Close()
}

func (m *measuring) idle(ctx context.Context) (err error) {
	m.watch.Phase("call the server, with nothing else going on")
	if m.Idle, err = m.beside(ctx, time.After(callsFor)); err == nil {
		m.watch.Result(fmt.Sprintf("a handshake takes %s, a call that does nothing %s", unit.Milliseconds(m.Idle.Handshake), unit.Milliseconds(m.Idle.Null)))
	}
	return err
}

// single asks for one block again and again, and for one after the other as the load does.
func (m *measuring) single(ctx context.Context) (err error) {
	m.watch.Phase("one request in flight: for the same block each time, and for others")
	if m.Again, err = m.look(ctx, 1, 1, int64(m.load.Size)); err != nil {
		return err
	}
	if m.Alone, err = m.look(ctx, 1, 1, 0); err != nil {
		return err
	}
	m.watch.Result(fmt.Sprintf("%s and %s", unit.Milliseconds(m.Again.Mean), unit.Milliseconds(m.Alone.Mean)))
	return nil
}

func (m *measuring) now(ctx context.Context) (err error) {
	m.watch.Phase(fmt.Sprintf("%s in flight over %s", unit.Count(m.Depth, "request"), unit.Count(m.Connections, "connection")))
	m.Now, m.Loaded, err = m.loaded(ctx, m.Depth)
	return err
}

func (m *measuring) more(ctx context.Context) (err error) {
	more := min(2*m.Depth, nfs.MaxDepth)
	if m.Slots > 0 {
		more = min(more, m.Slots)
	}
	if more < 2*m.Depth {
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
	calling.Go(func() { b, failed = m.beside(ctx, time.After(lookOmit+lookFor)) })
	l, err = m.look(ctx, m.Connections, depth, 0)
	calling.Wait()
	if err = cmp.Or(err, failed); err == nil {
		m.watch.Result(fmt.Sprintf("%.0f a second, %s each; a call that does nothing takes %s", l.IOPS, unit.Milliseconds(l.Mean), unit.Milliseconds(b.Null)))
	}
	return l, b, err
}

// look runs requests within so many bytes of the file; 0: all of it.
func (m *measuring) look(ctx context.Context, connections, depth int, span int64) (l Look, err error) {
	mount, err := nfs.Open(ctx, m.target, nfs.Options{Connections: connections, Depth: depth})
	if err != nil {
		return l, err
	}
	defer func() { err = cmp.Or(err, mount.Close()) }() // after an error the server need not listen
	load := m.load
	load.Depth, load.Span, load.Omit, load.Duration = depth, span, lookOmit, lookFor
	f, err := mount.Run(ctx, load, nil)
	if err != nil {
		return l, err
	}
	if f.Requests == 0 {
		return l, fmt.Errorf("no request was answered within %v", load.Duration)
	}
	l.IOPS, l.Mean = f.Rate(), time.Duration(f.Latency.Mean()*float64(time.Microsecond))
	for _, c := range f.Connections {
		l.Wire += float64(c.Wire) / float64(f.Requests)
	}
	for _, c := range f.Connections {
		if c.TCP == nil {
			return l, nil
		}
		l.Window += c.Window(m.load.Op)
		if rtt := time.Duration(c.TCP.MinRTT) * time.Microsecond; l.RTT == 0 || rtt < l.RTT {
			l.RTT = rtt
		}
	}
	return l, nil
}

// beside calls the server, one call at a time over connections of their own, until it is
// enough.
func (m *measuring) beside(ctx context.Context, enough <-chan time.Time) (b Beside, err error) {
	mount, err := nfs.Open(ctx, m.target, nfs.Options{Connections: 1, Depth: 1, Within: callWithin})
	if err != nil {
		return b, err
	}
	defer func() { err = cmp.Or(err, mount.Close()) }() // after an error the server need not listen
	var shakes, nulls []time.Duration
	for over := false; !over || len(nulls) < fewestCalls; {
		shake, err := m.handshake(ctx)
		if err != nil {
			return b, err
		}
		null, err := mount.Call(ctx, nfs.Request{Op: nfs.Null})
		if err != nil {
			return b, err
		}
		shakes, nulls = append(shakes, shake), append(nulls, null)
		select {
		case <-enough:
			over = true
		case <-time.After(null / 4): // so that it is no load
		}
	}
	return Beside{Handshake: middle(shakes), Null: middle(nulls)}, nil
}

const (
	// fewestCalls are needed for a median that one stray call does not move.
	fewestCalls = 5
	// callWithin is how long one may take.
	callWithin = 10 * time.Second
)

// handshake is how long TCP takes to connect: the network alone.
func (m *measuring) handshake(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(m.target.Host, strconv.Itoa(int(m.target.Port))))
	if err != nil {
		return 0, err
	}
	took := time.Since(began)
	return took, c.Close()
}

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
