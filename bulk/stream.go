package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// tick is how long a read or write blocks at most: how soon a thread notices
// that its time is over, that nothing moves any more, or that it shall stop.
const tick = 50 * time.Millisecond

// errTick is returned by a read or write that moved nothing for a tick.
var errTick = errors.New("nothing moved")

// stream is one connection while it is driven.
type stream struct {
	Conn
	sock     *socket
	in       inlet  // of a receiver
	out      outlet // of a sender
	pacer    *pacer // nil: unlimited
	share    int64  // bytes to send, if the transfer has no duration
	low      lowWater
	meter    meter
	before   int64  // bytes of the connection that were read before this transfer, where its caller decides the end
	arrivals uint32 // packets that had come from the peer when it was last heard
	err      error  // set before the thread ends

	// The rest belongs to the sampler.
	record  Stream
	latest  Sample
	opening *Sample // of a receiver, when the measured time began; nil: it has not
	rtts    int64   // sum and number of those of the measured time
	looks   int64
	done    bool // it is recorded
}

// drive moves the stream's bytes in a thread of its own, as a bulk application
// would.
func (s *stream) drive(ctx context.Context, t *transfer) {
	err := OnThread(s.record.CPUs, func() error {
		if s.Sender {
			return s.send(ctx, t)
		}
		return s.receive(ctx, t)
	})
	if err != nil {
		s.err = fmt.Errorf("stream %d with %s: %w", s.ID, s.record.Remote, err)
	}
	if s.Sender {
		s.out.settle(&s.record)
	}
	if t.caller.decides {
		if s.Sender {
			t.caller.writing.Done()
		}
		if s.err == nil {
			s.discard(ctx)
		}
	}
	s.close()
	t.ended <- s
}

// receive reads until the measured time is over, or to the end of the data.
func (s *stream) receive(ctx context.Context, t *transfer) error {
	s.meter.hear(t.now())
	for ctx.Err() == nil {
		n, err := s.in.read()
		now := t.now()
		if n > 0 {
			s.meter.count(n, now)
			s.gather(n, now, t)
		} else {
			s.meter.tick(now)
		}
		switch {
		case t.caller.decides && (t.caller.halted.Load() || errors.Is(err, io.EOF)):
			return nil
		case !t.caller.decides && t.received.over.Load():
			return nil
		case err == nil && t.reader != nil:
			t.reader.pay(ctx, n)
			s.meter.hear(t.now())
		case err == nil:
		case errors.Is(err, errTick) && (t.caller.decides || s.silence(t, now) < t.patience):
		case errors.Is(err, errTick):
			return fmt.Errorf("receive: nothing came for %v", t.patience)
		case errors.Is(err, io.EOF) && !t.spec.Timed():
			return nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("receive: the peer ended its data early: %w", io.ErrUnexpectedEOF)
		default:
			return fmt.Errorf("receive: %w", err)
		}
	}
	return context.Cause(ctx)
}

// gather lets a fast stream's reads wait for more. The end of a number of bytes
// would wait a tick for what does not come.
func (s *stream) gather(n int, now time.Duration, t *transfer) {
	if !t.spec.Timed() {
		return
	}
	if mark, changed := s.low.read(n, now, s.sock.recvBuffer); changed {
		s.sock.gather(mark)
	}
}

// send writes until the receiver has had its time and resets the connection,
// until the stream's share of the bytes is written and acknowledged, or until
// the caller ends the transfer.
func (s *stream) send(ctx context.Context, t *transfer) error {
	began := t.now()
	s.meter.window.begin(began)
	s.meter.hear(began)
	length := t.writer.length(t.length)
	shared := !t.spec.Timed() && !t.caller.alone
	left := s.share
	for now := began; ctx.Err() == nil; {
		n := length
		if shared {
			if left == 0 && t.caller.decides {
				return s.deliver(ctx, t)
			}
			if left == 0 {
				return s.drain(ctx, t)
			}
			n = int(min(left, int64(n)))
		}
		n, wait := s.pacer.allow(n, now-began)
		var err error
		if wait > 0 {
			err = s.pause(wait)
		} else {
			n, err = s.out.write(n)
		}
		now = t.now()
		if n > 0 {
			s.pacer.wrote(n)
			if s.meter.count(n, now) || !t.caller.decides {
				left -= int64(n)
			}
		} else {
			s.meter.tick(now)
		}
		switch reset := isReset(err); {
		case t.caller.halted.Load():
			return nil
		case errors.Is(err, errTick) && s.silence(t, now) >= t.patience:
			return fmt.Errorf("send: nothing came back for %v", t.patience)
		case t.caller.decides || !t.spec.Timed():
			if err != nil && !errors.Is(err, errTick) {
				return fmt.Errorf("send: %w", err)
			}
		case reset && now >= t.due():
			s.meter.last = now
			return nil
		case reset:
			return fmt.Errorf("send: the receiver ended the transfer early: %w", err)
		case err != nil && !errors.Is(err, errTick):
			return fmt.Errorf("send: %w", err)
		case now >= t.due()+t.patience:
			return fmt.Errorf("send: the receiver did not end the transfer within %v of its time", t.patience)
		}
		if err == nil && (wait > 0 || t.writer != nil) {
			t.writer.pay(ctx, n)
			now = t.now()
			s.meter.hear(now)
		}
	}
	return context.Cause(ctx)
}

// drain ends the data and waits until all of it has arrived.
func (s *stream) drain(ctx context.Context, t *transfer) error {
	if err := s.sock.closeWrite(); err != nil {
		return fmt.Errorf("end data: %w", err)
	}
	s.meter.hear(t.now())
	var rest [1]byte
	for ctx.Err() == nil {
		_, err := s.sock.read(rest[:])
		now := t.now()
		s.meter.last = now
		unacked, known := s.sock.unacked()
		patience := t.patience
		if !known {
			patience = blindPatience
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil:
			return errors.New("send: the receiver sent data")
		case !errors.Is(err, errTick):
			return fmt.Errorf("send: %w", err)
		case known && unacked == 0:
			return nil
		case s.silence(t, now) >= patience:
			return fmt.Errorf("send: the last bytes were not acknowledged for %v", patience)
		}
	}
	return context.Cause(ctx)
}

// deliver waits until the peer has acknowledged all, and says so, to a caller
// that decides the end.
func (s *stream) deliver(ctx context.Context, t *transfer) error {
	began := t.now()
	for ctx.Err() == nil && !t.caller.halted.Load() {
		unacked, known := s.sock.unacked()
		if !known || unacked == 0 {
			s.meter.hear(t.now())
			t.caller.delivered <- struct{}{}
			return nil
		}
		if err := s.sock.failure(); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		// A hundredth of what it has taken so far is exact enough.
		time.Sleep(max(50*time.Microsecond, min(tick, (t.now()-began)/100)))
	}
	return context.Cause(ctx)
}

// pause waits, a tick at most. In one that long it sees whether the peer has
// ended the connection, which no write would show.
func (s *stream) pause(wait time.Duration) error {
	time.Sleep(min(wait, tick))
	if wait < tick {
		return nil
	}
	return s.sock.failure()
}

// discard reads what still comes until the peer has ended its data, or ctx is
// done: it must not hang in a write.
func (s *stream) discard(ctx context.Context) {
	in := s.in
	if s.Sender {
		in = &copyIn{sock: s.sock, length: 4 << 10} // nothing is expected
	}
	for ctx.Err() == nil {
		if _, err := in.read(); err != nil && !errors.Is(err, errTick) {
			return
		}
	}
}

// silence is for how long nothing has come from the peer, on any stream: beside
// others on a lossy path, one may wait long for its turn. What comes need not be
// of use to the application yet: behind a full queue, a lost packet may take
// seconds to be repeated while thousands of later ones wait for it.
func (s *stream) silence(t *transfer, now time.Duration) time.Duration {
	if n := s.sock.arrivals(); n != s.arrivals {
		s.arrivals = n
		s.meter.hear(now)
	}
	var heard int64
	for _, other := range t.streams {
		heard = max(heard, other.meter.heard.Load())
	}
	return now - time.Duration(heard)
}

// blindPatience replaces Patience where the system does not report what still
// lies in the send buffer: long enough for 4 MiB at 600 kb/s.
const blindPatience = time.Minute

// finish records how a stream ended whose thread has.
func (s *stream) finish(spec Spec) {
	m := &s.meter
	s.record.Omitted = m.omitted.Load()
	s.record.Bytes = m.bytes.Load() - s.record.Omitted
	s.record.Began = m.began()
	s.record.Elapsed = max(0, m.measured(m.last)) // below 0: nothing came in the measured time
	s.leaveOutEarly(spec)
	s.describe()
}

// freeze records how the stream stood at its latest sample, while its thread
// goes on. A transfer of bytes has taken as long as they did, and not until its
// caller knew.
func (s *stream) freeze(spec Spec) {
	now := s.latest.At
	s.record.Omitted, s.record.Bytes = s.meter.split(s.latest.Bytes, now)
	if s.meter.window.isOpen(now) {
		s.record.Began = time.Duration(s.meter.window.from.Load())
		if !spec.Timed() {
			now = max(s.record.Began, min(now, time.Duration(s.meter.heard.Load())))
		}
		s.record.Elapsed = now - s.record.Began
	}
	s.leaveOutEarly(spec)
	s.describe()
}

func (s *stream) describe() {
	s.sock.describe(&s.record)
	s.record.MSS = int(s.latest.TCP.SndMSS)
}

// close frees what the stream has beside its connection.
func (s *stream) close() {
	if s.in != nil {
		s.in.close()
	}
}
