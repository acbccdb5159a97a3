package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fullbore/fullbore/host"
)

// transfer is one end of a transfer while it runs: of one that ends by itself
// ([Run]), or of one that the caller ends ([Start]).
type transfer struct {
	spec     Spec
	length   int // bytes a read or write
	patience time.Duration
	start    time.Time
	payload  *payload // what every sender writes; nil: there is none
	reader   *throttle
	writer   *throttle
	streams  []*stream
	sampler  *sampler
	ended    chan *stream // its thread has ended
	readings *Readings
	cpu      host.CPUTimes
	end      End

	sent, received window // of the streams that this end sends, and receives, on
	caller         caller // decides the end, if it is not the transfer itself

	driving context.Context
	stop    context.CancelFunc // ends all threads

	clock              chan struct{} // gets one when a window's clock starts
	sending, receiving bool          // it is measured time

	mu  sync.Mutex
	err error // the first failure
}

// open takes conns over; where that fails, it closes them.
func open(ctx context.Context, spec Spec, conns []Conn, patience time.Duration) (*transfer, error) {
	t := &transfer{
		spec: spec, length: cmp.Or(spec.Length, DefaultLength), patience: patience + spec.pause(),
		end: newEnd(), ended: make(chan *stream, len(conns)),
	}
	t.clock = make(chan struct{}, 2)
	t.sent.omit, t.received.omit = spec.Omit, spec.Omit
	t.sent.runs, t.received.runs = t.clock, t.clock
	if err := t.take(conns, patience); err != nil {
		for _, s := range t.streams {
			s.close()
			s.sock.reset()
		}
		t.payload.close()
		for _, conn := range conns[len(t.streams):] {
			conn.TCP.Close()
		}
		return nil, err
	}
	t.sampler = newSampler(t.streams)
	t.driving, t.stop = context.WithCancel(ctx)
	t.cpu, _ = host.ReadCPU()
	t.start = time.Now()
	return t, nil
}

func newEnd() End {
	end := End{Streams: []Stream{}}
	end.Host, _ = os.Hostname()
	return end
}

func (t *transfer) take(conns []Conn, patience time.Duration) (err error) {
	if err := t.spec.Check(); err != nil {
		return fmt.Errorf("check transfer: %w", err)
	}
	if len(conns) == 0 {
		return errors.New("start transfer: there are no connections")
	}
	if t.reader, err = newThrottle(EnvSlowReader); err != nil {
		return err
	}
	if t.writer, err = newThrottle(EnvSlowWriter); err != nil {
		return err
	}
	if slices.ContainsFunc(conns, func(c Conn) bool { return c.Sender }) {
		t.payload = newPayload(t.length)
	}
	shares := split(t.spec.Bytes, conns)
	for i, conn := range conns {
		s := &stream{Conn: conn, share: shares[i]}
		s.record = Stream{
			ID: conn.ID, Sender: conn.Sender, Retransmits: -1,
			Local: conn.TCP.LocalAddr().String(), Remote: conn.TCP.RemoteAddr().String(),
		}
		if s.record.CPUs, s.record.CPUNote, err = t.spec.Place(conn, i); err != nil {
			return fmt.Errorf("start stream %d: %w", conn.ID, err)
		}
		if s.sock, err = newSocket(conn.TCP, patience, conn.Sender); err != nil {
			return fmt.Errorf("start stream %d: %w", conn.ID, err)
		}
		t.streams = append(t.streams, s)
		if conn.Sender {
			s.meter.window = &t.sent
			s.pacer = newPacer(t.spec)
			s.out = newOutlet(t.spec.SendPath, s.sock, t.payload, &s.record)
		} else {
			s.meter.window = &t.received
			s.in = newInlet(t.spec.RecvPath, s.sock, t.reader.length(t.length), t.reader == nil, &s.record)
		}
	}
	return nil
}

// split divides bytes over the conns that send; the first ones take what does
// not divide evenly.
func split(bytes int64, conns []Conn) []int64 {
	var senders int64
	for _, c := range conns {
		if c.Sender {
			senders++
		}
	}
	shares := make([]int64, len(conns))
	var n int64
	for i, c := range conns {
		if c.Sender {
			shares[i] = bytes / senders
			if n < bytes%senders {
				shares[i]++
			}
			n++
		}
	}
	return shares
}

// run drives the streams and watches them until their threads have ended.
func (t *transfer) run(ctx context.Context, watch func(Progress)) {
	own, restore := ownProcessors(len(t.streams))
	defer restore()
	defer t.stop()
	defer t.payload.close()
	t.sampler.take(t.now())
	for _, s := range t.streams {
		s.sock.own = own
		go s.drive(t.driving, t)
	}

	ticker := time.NewTicker(cmp.Or(t.spec.Interval, DefaultInterval))
	defer ticker.Stop()
	look := func() {
		t.sampler.take(t.now())
		t.readings.look()
		if watch != nil {
			watch(t.sampler.progress)
		}
	}
	opens, ends := t.open(look), (<-chan time.Time)(nil)
	due, halt, gone := t.nextLook(), t.caller.halt, t.caller.gone(ctx)
	for live := len(t.streams); live > 0 || halt != nil; {
		select {
		case s := <-t.ended:
			live--
			t.part(ctx, s)
		case <-ticker.C:
			look()
		case <-t.clock:
			opens = t.open(look)
			ends = t.endsIn()
		case <-opens:
			opens = t.open(look)
			ends = t.endsIn()
		case <-ends:
			ends = nil
			t.endReceived()
		case <-due:
			due = t.nextLook()
		case <-t.caller.delivered:
			t.caller.senders--
			due = t.nextLook()
		case <-gone:
			gone = nil
			t.broke(fmt.Errorf("transfer stopped: %w", context.Cause(ctx)))
			t.caller.end()
		case <-halt:
			halt = nil
			ticker.Stop()
			opens = nil
			t.freeze()
		}
	}
}

// open begins the measured time in each direction for which the omitted time is
// over, and says when to call it again; nil: when a clock starts, or never.
//
// All streams are sampled then: counters of the measured time are counted from that
// sample, and so is what had arrived at a receiver before (Stream.leaveOutEarly).
func (t *transfer) open(look func()) <-chan time.Time {
	now := t.now()
	sending, receiving := t.sent.open(now), t.received.open(now)
	if sending != t.sending || receiving != t.receiving {
		if receiving && !t.receiving {
			for _, s := range t.streams {
				if !s.Sender && !s.done {
					opening := s.look(now)
					s.opening = &opening
				}
			}
		}
		if t.spec.Omit > 0 {
			look()
		}
		if !t.sending && !t.receiving {
			// The last readings are of the start: they are kept where it is nearer.
			if began := t.began(); now-began < began {
				t.cpu, _ = host.ReadCPU()
				t.readings.Begin()
			}
		}
	}
	t.sending, t.receiving = sending, receiving
	next := time.Duration(-1)
	for _, w := range []*window{&t.sent, &t.received} {
		if wait, known := w.opensIn(now); known && !w.isOpen(now) && (next < 0 || wait < next) {
			next = wait
		}
	}
	if next < 0 {
		return nil
	}
	return time.After(next)
}

// endsIn says when the measured time of the receivers is over, where time and
// not the caller ends it; nil: it is, or that is not known.
func (t *transfer) endsIn() <-chan time.Time {
	from := time.Duration(t.received.from.Load())
	if t.caller.decides || !t.spec.Timed() || from == 0 || t.received.over.Load() {
		return nil
	}
	return time.After(from + t.spec.Duration - t.now())
}

// endReceived ends the measured time of all receivers at one instant: one that
// went on for longer than the others would have the path to itself.
func (t *transfer) endReceived() {
	t.received.over.Store(true)
	var receivers []*stream
	for _, s := range t.streams {
		if !s.Sender && !s.done {
			receivers = append(receivers, s)
		}
	}
	t.sampler.last(t.now, receivers...)
	for _, s := range receivers {
		s.freeze(t.spec)
	}
}

// began is when the measured time began, in the first direction in which it has.
func (t *transfer) began() time.Duration {
	sent, received := t.sent.from.Load(), t.received.from.Load()
	if sent == 0 || received != 0 && received < sent {
		return time.Duration(received)
	}
	return time.Duration(sent)
}

// part deals with a stream whose thread has ended.
func (t *transfer) part(ctx context.Context, s *stream) {
	if s.err != nil && ctx.Err() != nil {
		s.err = fmt.Errorf("transfer stopped: %w", context.Cause(ctx))
	}
	if t.caller.decides {
		t.parted(s)
	} else {
		t.letGo(s)
	}
}

// fail notes the first failure.
func (t *transfer) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = cmp.Or(t.err, err)
}

func (t *transfer) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// spent is the processor time of the measured time until now. What a system
// does not count stays empty: the transfer itself is good.
func (t *transfer) spent() {
	if now, err := host.ReadCPU(); err == nil && !t.cpu.At.IsZero() {
		t.end.CPU = CPUSpent(t.cpu, now)
	}
}

// conclude puts together what this end recorded.
func (t *transfer) conclude() {
	for _, s := range t.streams {
		t.end.Streams = append(t.end.Streams, s.record)
	}
	if err := t.failed(); err != nil {
		t.end.Error = err.Error()
	}
}

// now is the time since the transfer's start.
func (t *transfer) now() time.Duration { return time.Since(t.start) }
