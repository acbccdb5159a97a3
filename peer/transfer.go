package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// Phase is where a transfer stands at the far end.
type Phase string

// The phases of a transfer.
const (
	Attaching Phase = "attaching" // its streams are arriving
	Running   Phase = "running"
	Done      Phase = "done" // the result can be fetched, for a while
)

const (
	// windUp is what a transfer may take beyond its own time: to empty the
	// queues of the path and of the sender.
	windUp = 15 * time.Second
	// keepResult is how long a result waits to be fetched.
	keepResult = time.Minute
)

// transfer is one transfer at the far end. The id is known only to the client
// that created it, over TLS; the cookie also travels in the clear, in front of
// each stream, and is good for nothing else.
type transfer struct {
	id, cookie string
	spec       bulk.Spec
	client     netip.AddrPort
	longest    time.Duration // it may run
	patience   timing
	created    time.Time
	cancel     context.CancelCauseFunc

	attached chan struct{} // closed when the last stream is there
	started  chan struct{} // closed when the client says go
	running  chan struct{} // closed when bulk runs
	done     chan struct{} // closed when end is final and the place is free

	alive atomic.Int64 // when data or the client was last seen, Unix ns
	moved atomic.Int64 // bytes so far

	mu    sync.Mutex
	phase Phase
	conns []bulk.Conn
	end   bulk.End // once done

	expiry *time.Timer // of the result
}

func newTransfer(spec bulk.Spec, client netip.AddrPort, longest time.Duration, patience timing) *transfer {
	t := &transfer{
		id: randomName(), cookie: randomName(), spec: spec, client: client, longest: longest, patience: patience,
		created: time.Now(), phase: Attaching,
		attached: make(chan struct{}), started: make(chan struct{}), running: make(chan struct{}), done: make(chan struct{}),
	}
	t.touch()
	return t
}

// connections is how many streams have to arrive.
func connections(spec bulk.Spec) int {
	if spec.Direction == bulk.Both {
		return 2 * spec.Streams
	}
	return spec.Streams
}

// dialerSends says which end sends on a stream: of a transfer in both
// directions the first half is the dialling end's.
func dialerSends(spec bulk.Spec, stream int) bool {
	return spec.Direction == bulk.Forward || spec.Direction == bulk.Both && stream <= spec.Streams
}

func (t *transfer) touch() { t.alive.Store(time.Now().UnixNano()) }

// silent is how long neither data nor the client was seen.
func (t *transfer) silent() time.Duration { return time.Since(time.Unix(0, t.alive.Load())) }

// attach takes a connection as one of the streams. Options that matter before
// the handshake, the receive buffer above all (it bounds the window scale), can
// here only be set after it; the kernel lets the window grow to them all the
// same unless that needs a larger scale than the listening socket agreed to.
func (t *transfer) attach(c *net.TCPConn, stream int) error {
	sender := !dialerSends(t.spec, stream)
	if err := bulk.Prepare(c, t.spec, sender); err != nil {
		t.cancel(err)
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.phase != Attaching {
		return fmt.Errorf("stream %d came when the transfer was %s", stream, t.phase)
	}
	if stream > connections(t.spec) {
		return fmt.Errorf("stream %d of %d", stream, connections(t.spec))
	}
	for _, have := range t.conns {
		if have.ID == stream {
			return fmt.Errorf("stream %d came twice", stream)
		}
	}
	t.conns = append(t.conns, bulk.Conn{ID: stream, Sender: sender, Server: true, TCP: c})
	if len(t.conns) == connections(t.spec) {
		close(t.attached)
	}
	t.touch()
	return nil
}

// start lets the transfer run as soon as its streams are there, and waits for
// that.
func (t *transfer) start(ctx context.Context) error {
	t.touch()
	t.mu.Lock()
	select {
	case <-t.started: // asked again: the answer may have been lost
	default:
		close(t.started)
	}
	t.mu.Unlock()
	select {
	case <-t.running:
		return nil
	case <-t.done:
		end := t.result()
		return errors.New(end.Error)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run sees the transfer through all its phases. It returns when its sockets are
// closed and its end is final; done is closed by who gives its place free.
func (t *transfer) run(ctx context.Context) {
	defer t.cancel(nil)
	err := t.gather(ctx)
	var end bulk.End
	if err == nil {
		end, err = t.move(ctx)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		end.Error = err.Error()
	}
	t.mu.Lock()
	t.phase, t.end = Done, end
	for _, c := range t.conns {
		_ = c.TCP.Close()
	}
	t.conns = nil
	t.mu.Unlock()
}

// gather waits for the streams and for the client's go.
func (t *transfer) gather(ctx context.Context) error {
	late := time.NewTimer(t.patience.attach)
	defer late.Stop()
	for _, arrived := range []chan struct{}{t.attached, t.started} {
		select {
		case <-arrived:
		case <-late.C:
			t.mu.Lock()
			defer t.mu.Unlock()
			return fmt.Errorf("%d of %d streams and no start came within %v", len(t.conns), connections(t.spec), t.patience.attach)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// move runs the transfer proper under its two watches: of the time it may take,
// and of signs of life.
func (t *transfer) move(ctx context.Context) (bulk.End, error) {
	longest := t.length() + windUp
	ctx, stop := context.WithTimeoutCause(ctx, longest, fmt.Errorf("transfer took more than %v", longest))
	defer stop()
	ctx, abandon := context.WithCancelCause(ctx)
	defer abandon(nil)

	t.mu.Lock()
	t.phase = Running
	conns := t.conns
	t.mu.Unlock()
	t.touch()

	go func() {
		for sleep(ctx, 250*time.Millisecond) {
			if t.silent() > t.patience.silent {
				abandon(fmt.Errorf("client vanished: neither data nor a heartbeat for %v", t.patience.silent))
			}
		}
	}()
	close(t.running)
	end, err := bulk.Run(ctx, t.spec, conns, func(p bulk.Progress) {
		if n := moved(p); n != t.moved.Swap(n) {
			t.touch()
		}
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return end, err
}

// samples is how many a finished transfer holds in memory.
func (t *transfer) samples() int {
	n := 0
	for _, s := range t.result().Streams {
		n += len(s.Samples)
	}
	return n
}

func (t *transfer) result() bulk.End {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end
}

// length is how long it may move data: a number of bytes may take all the time
// there is.
func (t *transfer) length() time.Duration {
	if !t.spec.Timed() {
		return t.longest
	}
	return t.spec.Duration + t.spec.Omit
}
