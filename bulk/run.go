package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/fullbore/fullbore/host"
)

// Patience is how long nothing may come from the peer, or a receiver may keep
// its window shut, before it is taken for dead. A live path is never silent so
// long: Linux repeats a lost packet after 0.2 s + RTT, then twice as long, and
// so on, so that four losses in a row still fit (RFC 6298; TCP_RTO_MIN in
// include/net/tcp.h). And a person who waits for the result of a dead transfer
// has it within 5 s.
const Patience = 4 * time.Second

// Run drives one end of a transfer until it ends, and returns what this end
// recorded, also with an error: what was measured until then. It closes the
// connections.
//
// A transfer with Spec.Bytes ends when the receiver has read them all. Any
// other is ended by the receiver: its clock starts with the first byte on any
// stream, and after Omit and Duration it resets the connections, so that the
// sender stops at once and nothing buffered is waited for. A sender whose
// connection is reset earlier, or not within Patience after its time, fails;
// so does an end for which nothing moves for Patience. When ctx is done, Run
// returns within about 100 ms with its cause.
//
// watch, if not nil, is called every Spec.Interval from the goroutine of Run,
// which also takes the samples: it must not block. The counters of End are
// those of the network namespace of Run's thread.
func Run(ctx context.Context, spec Spec, conns []Conn, watch func(Progress)) (End, error) {
	return run(ctx, spec, conns, watch, Patience)
}

func run(ctx context.Context, spec Spec, conns []Conn, watch func(Progress), patience time.Duration) (End, error) {
	end := End{Streams: []Stream{}}
	end.Host, _ = os.Hostname()
	t := &transfer{
		spec: spec, length: cmp.Or(spec.Length, DefaultLength), patience: patience,
		ended: make(chan *stream, len(conns)),
	}
	t.sent.omit, t.received.omit = spec.Omit, spec.Omit
	err := t.open(conns)
	if err == nil {
		err = t.run(ctx, watch, &end)
	} else {
		t.abandon(conns)
	}
	if err != nil {
		end.Error = err.Error()
	}
	return end, err
}

// transfer is one end of a transfer while it runs.
type transfer struct {
	spec     Spec
	length   int // bytes a read or write
	patience time.Duration
	start    time.Time
	payload  []byte // what every sender writes
	reader   *throttle
	writer   *throttle
	streams  []*stream
	ended    chan *stream

	heard atomic.Int64 // when the peer last gave a sign of life on any stream: ns since start

	sent, received window // of the streams that this end sends, and receives, on
}

// open takes conns over.
func (t *transfer) open(conns []Conn) (err error) {
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
	shares := split(t.spec.Bytes, conns)
	for i, conn := range conns {
		s, err := t.newStream(conn, shares[i])
		if err != nil {
			return fmt.Errorf("start stream %d: %w", conn.ID, err)
		}
		t.streams = append(t.streams, s)
		if conn.Sender && t.payload == nil {
			t.payload = newPayload(t.length)
		}
	}
	return nil
}

func (t *transfer) newStream(conn Conn, share int64) (*stream, error) {
	s := &stream{Conn: conn, share: share}
	s.record = Stream{
		ID: conn.ID, Sender: conn.Sender,
		Local: conn.TCP.LocalAddr().String(), Remote: conn.TCP.RemoteAddr().String(),
	}
	s.meter.window = &t.received
	if conn.Sender {
		s.meter.window = &t.sent
	}
	var err error
	s.sock, err = newSocket(conn.TCP, t.patience, conn.Sender)
	return s, err
}

// abandon closes the connections of a transfer that cannot begin.
func (t *transfer) abandon(conns []Conn) {
	for _, s := range t.streams {
		s.sock.reset()
	}
	for _, conn := range conns[len(t.streams):] {
		conn.TCP.Close()
	}
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

func (t *transfer) run(ctx context.Context, watch func(Progress), end *End) error {
	driving, stop := context.WithCancel(ctx)
	defer stop()
	counters, countersErr := host.Counters()
	cpu, cpuErr := host.ReadCPU()

	t.start = time.Now()
	sampler := newSampler(t.streams)
	sampler.take(0)
	for _, s := range t.streams {
		go s.drive(driving, t)
	}

	var err error
	fail := func(cause error) {
		if err == nil {
			err = cause
		}
		stop()
	}
	ticker := time.NewTicker(cmp.Or(t.spec.Interval, DefaultInterval))
	defer ticker.Stop()
	settling := time.NewTicker(settleLook)
	defer settling.Stop()
	measuring := false
	for live := len(t.streams); live > 0; {
		select {
		case s := <-t.ended:
			live--
			sampler.last(s, t.now())
			s.finish(!t.timed() && s.err == nil)
			switch {
			case s.err != nil && ctx.Err() != nil:
				fail(fmt.Errorf("transfer stopped: %w", context.Cause(ctx)))
			case s.err != nil:
				fail(s.err)
			}
		case <-ticker.C:
			sampler.take(t.now())
			if watch != nil {
				watch(sampler.progress)
			}
		case <-settling.C:
			now := t.now()
			sending := t.sent.open(now, func() bool { return false })
			receiving := t.received.open(now, t.waiting)
			if !measuring && (sending || receiving) {
				measuring = true
				cpu, cpuErr = host.ReadCPU()
			}
			if sending && receiving || measuring && t.spec.Direction != Both {
				settling.Stop()
			}
		}
	}

	// What a system does not count stays empty: the transfer itself is good.
	if now, err := host.ReadCPU(); err == nil && cpuErr == nil {
		end.CPU = cpuSpent(cpu, now)
	}
	if now, err := host.Counters(); err == nil && countersErr == nil {
		end.Counters = host.Delta(counters, now)
	}
	for _, s := range t.streams {
		end.Streams = append(end.Streams, s.record)
	}
	if err == nil {
		err = t.complete()
	}
	return err
}

// waiting says whether data has come that waits behind a lost packet.
func (t *transfer) waiting() bool {
	for _, s := range t.streams {
		if s.Sender || s.done {
			continue
		}
		var now Sample
		s.sock.inspect(&now)
		if now.held() {
			return true
		}
	}
	return false
}

// complete checks that a receiver has got all bytes of a transfer of bytes.
func (t *transfer) complete() error {
	var received int64
	receivers := 0
	for _, s := range t.streams {
		if !s.Sender {
			receivers++
			received += s.meter.bytes.Load()
		}
	}
	if t.timed() || receivers == 0 || received == t.spec.Bytes {
		return nil
	}
	return fmt.Errorf("receive: %d of %d bytes came before the peer ended its data", received, t.spec.Bytes)
}

// hear notes a sign of life. Streams may note theirs out of order, by less than
// patience ever asks for.
func (t *transfer) hear(now time.Duration) { t.heard.Store(int64(now)) }

// timed says that time and not a number of bytes ends the transfer.
func (t *transfer) timed() bool { return t.spec.Bytes == 0 }

// now is the time since the transfer's start.
func (t *transfer) now() time.Duration { return time.Since(t.start) }

// due is the earliest time at which a sender may believe that the receiver is
// done. The receiver's clock starts after the sender's; that it may run a
// little faster is what the percent is for.
func (t *transfer) due() time.Duration { return (t.spec.Omit + t.spec.Duration) / 100 * 99 }
