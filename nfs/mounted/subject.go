package mounted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/unit"
)

// Load is how programs read a file in a mount.
type Load struct {
	Size   int  // bytes that a program asks for at once
	Random bool // at offsets by chance, each request past this host's memory; else in order, through it
}

// subject measures what programs that read through a mount come to.
type subject struct {
	*Place
	load Load
}

// Measure says what readers at once come to, each of them one program.
func Measure(ctx context.Context, p *Place, load Load, readers int, watch limit.Watcher) (*limit.Evidence, error) {
	s := &subject{p, load}
	e := &limit.Evidence{Connections: p.Connections, Depth: readers, Size: unit.Size(s.request())}
	if !load.Random {
		e.ReadAhead = p.ReadAhead
	}
	if err := limit.MeasureOn(ctx, s, e, watch); err != nil {
		return nil, err
	}
	return e, nil
}

// request is what the client asks the server for at once, in bytes.
func (s *subject) request() int {
	l := nfs.Load{Size: s.load.Size}
	if s.ReadSize > 0 {
		l.Size = min(l.Size, s.ReadSize)
	}
	if !s.load.Random && s.ReadAhead != nil {
		l.Size = cmp.Or(s.ReadSize, l.Size)
		l.ReadsAhead(*s.ReadAhead)
	}
	return l.Size
}

// Grant is what the mount's session has; readers are not requests where the client reads ahead.
func (s *subject) Grant(_ context.Context, readers int) (int, error) {
	if slots := s.Slots(); slots > 0 && slots < readers {
		return slots, nil
	}
	return 0, nil
}

// Beside calls the server.
func (s *subject) Beside(ctx context.Context, enough <-chan time.Time) (limit.Beside, error) {
	c, err := nfs.NewCaller(ctx, s.Server.Addr().String(), s.Server.Port(), s.Version, within)
	if err != nil {
		return limit.Beside{}, err
	}
	b, err := limit.Calls(ctx, s.Server.String(), enough, c.Call)
	return b, cmp.Or(err, c.Close())
}

// within is how long a call, or a read, may take.
const within = 30 * time.Second

// Look reads as programs do.
func (s *subject) Look(ctx context.Context, _, readers int) (limit.Look, error) {
	return s.look(ctx, s.load, readers, false)
}

// Alone makes the client's own requests, past this host's memory.
func (s *subject) Alone(ctx context.Context, again bool) (limit.Look, error) {
	return s.look(ctx, Load{Size: s.request(), Random: true}, 1, again)
}

func (s *subject) look(ctx context.Context, load Load, readers int, again bool) (l limit.Look, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, readers)
	var reading sync.WaitGroup
	for i := range readers {
		reading.Go(func() {
			r := &reader{
				load: load, again: again, size: s.Size, place: int64(i) * (s.Size / int64(readers)),
				open: func(direct bool) (*os.File, error) { return open(s.File, direct) },
			}
			failed <- r.run(ctx)
		})
	}
	before, err := s.after(ctx, limit.LookOmit, failed)
	if err != nil {
		return l, err
	}
	began := time.Now()
	after, err := s.after(ctx, limit.LookFor, failed)
	if err != nil {
		return l, err
	}
	took := time.Since(began)
	sockets, _ := flow.Sockets(ctx, s.Server) // where the kernel does not tell of them, their windows are not known
	stop()
	if err := ended(&reading, failed); err != nil {
		return l, err
	}
	return figures(before, after, took, sockets)
}

// after looks at the mount's counts when so much time has gone by, unless a reader fails.
func (s *subject) after(ctx context.Context, wait time.Duration, failed <-chan error) (Mount, error) {
	select {
	case err := <-failed:
		return Mount{}, cmp.Or(err, errors.New("a reader ended by itself"))
	case <-ctx.Done():
		return Mount{}, context.Cause(ctx)
	case <-time.After(wait):
	}
	mounts, err := Read("/proc")
	if err != nil {
		return Mount{}, err
	}
	return At(mounts, s.File)
}

// ended waits for the readers to stop. A read of a server that does not answer ends with this
// process at the latest.
func ended(reading *sync.WaitGroup, failed chan error) error {
	done := make(chan struct{})
	go func() { reading.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(within):
		return fmt.Errorf("the server did not answer a read within %v", within)
	}
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// reader is a program that reads.
type reader struct {
	load  Load
	again bool
	size  int64 // of the file
	place int64 // where it begins to read in order

	open func(direct bool) (*os.File, error) // the file: direct, past this host's memory
	read func(n int, took time.Duration)     // is told of each read; nil: nobody is
}

func (r *reader) run(ctx context.Context) (err error) {
	f, err := r.open(r.load.Random)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	part := make([]byte, r.load.Size)
	blocks := max(1, r.size/int64(len(part)))
	if !r.load.Random {
		if err := r.rewind(f); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		n, began := 0, time.Now()
		switch {
		case r.again:
			n, err = f.ReadAt(part, 0)
		case r.load.Random:
			n, err = f.ReadAt(part, rand.Int64N(blocks)*int64(len(part)))
		default:
			if n, err = f.Read(part); errors.Is(err, io.EOF) {
				r.place, err = 0, r.rewind(f)
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if r.read != nil {
			r.read(n, time.Since(began))
		}
	}
	return nil
}

// rewind goes to the reader's place, with nothing of the file in this host's memory.
func (r *reader) rewind(f *os.File) error {
	if err := forget(f); err != nil {
		return err
	}
	_, err := f.Seek(r.place, io.SeekStart)
	return err
}

// figures are what the mount's counts and its sockets come to.
func figures(before, after Mount, took time.Duration, sockets []flow.Socket) (l limit.Look, err error) {
	a, err := Between(before, after, "READ", took)
	if err != nil {
		return l, err
	}
	if a.Requests == 0 { // version 4.2 may have it
		if a, err = Between(before, after, "READ_PLUS", took); err != nil {
			return l, err
		}
	}
	if a.Requests == 0 {
		return l, fmt.Errorf("%s: no read was answered within %v", after.Point, took.Round(time.Millisecond))
	}
	l = limit.Look{
		IOPS: a.Rate, Mean: a.Execute, InFlight: a.Open, Wire: a.Received, Size: unit.Size(float64(after.Read-before.Read) / float64(a.Requests)),
	}
	// The kernel does not say which of a host's connections to a server are a mount's (the ports
	// in its counts are 0 mostly): they are those that have received most.
	slices.SortFunc(sockets, func(a, b flow.Socket) int { return cmp.Compare(b.TCP.BytesReceived, a.TCP.BytesReceived) })
	for _, c := range sockets[:min(len(sockets), after.Connections)] {
		l.Window += unit.Size(c.TCP.ReceiveWindow())
		if rtt := time.Duration(c.TCP.MinRTT) * time.Microsecond; l.RTT == 0 || rtt < l.RTT {
			l.RTT = rtt
		}
	}
	return l, nil
}
