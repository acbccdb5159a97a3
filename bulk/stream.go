package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
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
	share    int64 // bytes to send, if the transfer has no duration
	meter    meter
	arrivals uint32 // packets that had come from the peer when it was last heard
	err      error  // set before the thread ends

	// The rest belongs to the sampler.
	record Stream
	latest Sample
	done   bool // the thread has ended
}

// drive moves the stream's bytes in a thread of its own, as a bulk application
// would.
func (s *stream) drive(ctx context.Context, t *transfer) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	move := s.receive
	if s.Sender {
		move = s.send
	}
	if err := move(ctx, t); err != nil {
		s.err = fmt.Errorf("stream %d with %s: %w", s.ID, s.record.Remote, err)
	}
	t.ended <- s
}

// receive reads until the measured time is over, or to the end of the data.
func (s *stream) receive(ctx context.Context, t *transfer) error {
	buf := newBuffer(t.reader.length(t.length))
	t.hear(t.now())
	for ctx.Err() == nil {
		n, err := s.sock.read(buf)
		now := t.now()
		if n > 0 {
			s.meter.count(n, now)
		} else {
			s.meter.tick(now)
		}
		if t.timed() && s.meter.measured(now) >= t.spec.Duration {
			s.meter.last = now // what stood still at the end belongs to the measured time
			return nil
		}
		switch {
		case err == nil:
			t.reader.pay(ctx, n)
			t.hear(t.now())
		case errors.Is(err, errTick) && s.silence(t, now) >= t.patience:
			return fmt.Errorf("receive: nothing came for %v", t.patience)
		case errors.Is(err, errTick):
		case errors.Is(err, io.EOF) && !t.timed():
			return nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("receive: the peer ended its data early: %w", io.ErrUnexpectedEOF)
		default:
			return fmt.Errorf("receive: %w", err)
		}
	}
	return context.Cause(ctx)
}

// send writes until the receiver has had its time and resets the connection,
// or until the stream's share of the bytes is written and acknowledged.
func (s *stream) send(ctx context.Context, t *transfer) error {
	s.meter.window.begin(t.now())
	length := t.writer.length(len(t.payload))
	left := s.share
	t.hear(t.now())
	for ctx.Err() == nil {
		chunk := t.payload[:length]
		if !t.timed() {
			if left == 0 {
				return s.drain(ctx, t)
			}
			chunk = chunk[:min(left, int64(len(chunk)))]
		}
		n, err := s.sock.write(chunk)
		now := t.now()
		if n > 0 {
			s.meter.count(n, now)
			left -= int64(n)
		} else {
			s.meter.tick(now)
		}
		switch {
		case t.timed() && err != nil && isReset(err) && now >= t.due():
			s.meter.last = now
			return nil
		case t.timed() && err != nil && isReset(err):
			return fmt.Errorf("send: the receiver ended the transfer early: %w", err)
		case errors.Is(err, errTick) && s.silence(t, now) >= t.patience:
			return fmt.Errorf("send: nothing came back for %v", t.patience)
		case err != nil && !errors.Is(err, errTick):
			return fmt.Errorf("send: %w", err)
		case t.timed() && now >= t.due()+t.patience:
			return fmt.Errorf("send: the receiver did not end the transfer within %v of its time", t.patience)
		case err == nil:
			t.writer.pay(ctx, n)
			t.hear(t.now())
		}
	}
	return context.Cause(ctx)
}

// drain ends the data and waits until all of it has arrived.
func (s *stream) drain(ctx context.Context, t *transfer) error {
	if err := s.sock.closeWrite(); err != nil {
		return fmt.Errorf("end data: %w", err)
	}
	t.hear(t.now())
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

// silence is for how long nothing has come from the peer, on any stream: beside
// others on a lossy path, one may wait long for its turn. What comes need not be
// of use to the application yet: behind a full queue, a lost packet may take
// seconds to be repeated while thousands of later ones wait for it.
func (s *stream) silence(t *transfer, now time.Duration) time.Duration {
	if n := s.sock.arrivals(); n != s.arrivals {
		s.arrivals = n
		t.hear(now)
	}
	return now - time.Duration(t.heard.Load())
}

// blindPatience stands for Patience where the system does not tell what still
// lies in the send buffer: long enough for 4 MiB at 600 kb/s.
const blindPatience = time.Minute

// finish records how the stream ended and lets go of the connection: without
// waiting for what is buffered, but for a transfer of bytes that went well.
func (s *stream) finish(graceful bool) {
	m := &s.meter
	s.record.Omitted = m.omitted
	s.record.Bytes = m.bytes.Load() - m.omitted
	s.record.Began = m.began()
	s.record.Elapsed = max(0, m.measured(m.last)) // below 0: nothing came in the measured time
	s.sock.describe(&s.record)
	s.record.MSS = int(s.latest.TCP.SndMSS)
	if graceful {
		s.sock.close()
	} else {
		s.sock.reset()
	}
}
