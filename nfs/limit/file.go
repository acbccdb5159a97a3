package limit

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/unit"
)

// Measure looks at what a load comes to with a file, made by fullbore's own client. Path is
// the payload that the path carries; 0: not known.
func Measure(ctx context.Context, t nfs.Target, load nfs.Load, connections int, path unit.Rate, watch Watcher) (*Evidence, error) {
	e := &Evidence{Connections: connections, Depth: load.Depth, Path: path, ReadAhead: load.ReadAhead}
	if load.Op == nfs.Read || load.Op == nfs.Write {
		e.Size = unit.Size(load.Size)
	}
	if err := MeasureOn(ctx, &file{t, load}, e, watch); err != nil {
		return nil, err
	}
	return e, nil
}

// file is a file of a server, and the requests that fullbore's own client makes to it.
type file struct {
	target nfs.Target
	load   nfs.Load // its times, Depth and Span are not used
}

// Grant asks the server for so many slots.
func (f *file) Grant(ctx context.Context, depth int) (slots int, err error) {
	mount, err := nfs.Open(ctx, f.target, nfs.Options{Connections: 1, Depth: depth})
	if err != nil {
		return 0, err
	}
	if mount.Slots < depth {
		slots = mount.Slots
	}
	return slots, mount.Close()
}

// Look makes requests as the load says.
func (f *file) Look(ctx context.Context, connections, depth int) (Look, error) {
	return f.look(ctx, connections, depth, false)
}

// Alone makes one after the other.
func (f *file) Alone(ctx context.Context, again bool) (Look, error) { return f.look(ctx, 1, 1, again) }

func (f *file) look(ctx context.Context, connections, depth int, again bool) (l Look, err error) {
	mount, err := nfs.Open(ctx, f.target, nfs.Options{Connections: connections, Depth: depth})
	if err != nil {
		return l, err
	}
	defer func() { err = cmp.Or(err, mount.Close()) }() // after an error the server need not listen
	load := f.load
	load.Depth, load.Span, load.Omit, load.Duration = depth, 0, LookOmit, LookFor
	if again {
		load.Span = int64(load.Size)
	}
	got, err := mount.Run(ctx, load, nil)
	if err != nil {
		return l, err
	}
	if got.Requests == 0 {
		return l, fmt.Errorf("no request was answered within %v", load.Duration)
	}
	l.IOPS, l.Mean = got.Rate(), time.Duration(got.Latency.Mean()*float64(time.Microsecond))
	l.Median = time.Duration(got.Latency.ValueAtQuantile(50)) * time.Microsecond
	for _, c := range got.Connections {
		l.Wire += float64(c.Wire) / float64(got.Requests)
	}
	for _, c := range got.Connections {
		if c.TCP == nil {
			return l, nil
		}
		l.Window += c.Window(load.Op)
		if rtt := time.Duration(c.TCP.MinRTT) * time.Microsecond; l.RTT == 0 || rtt < l.RTT {
			l.RTT = rtt
		}
	}
	return l, nil
}

// Beside calls the server.
func (f *file) Beside(ctx context.Context, enough <-chan time.Time) (b Beside, err error) {
	mount, err := nfs.Open(ctx, f.target, nfs.Options{Connections: 1, Depth: 1, Within: callWithin})
	if err != nil {
		return b, err
	}
	defer func() { err = cmp.Or(err, mount.Close()) }() // after an error the server need not listen
	address := net.JoinHostPort(f.target.Host, strconv.Itoa(int(f.target.Port)))
	return Calls(ctx, address, enough, func(ctx context.Context) (time.Duration, error) { return mount.Call(ctx, nfs.Request{Op: nfs.Null}) })
}

// Calls measures a server's handshakes and calls that do nothing, in turns, until it is enough.
func Calls(ctx context.Context, address string, enough <-chan time.Time, call func(context.Context) (time.Duration, error)) (b Beside, err error) {
	var shakes, nulls []time.Duration
	for over := false; !over || len(nulls) < fewestCalls; {
		shake, err := handshake(ctx, address)
		if err != nil {
			return b, err
		}
		null, err := call(ctx)
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
func handshake(ctx context.Context, address string) (time.Duration, error) {
	began := time.Now()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
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
