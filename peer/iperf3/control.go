// Package iperf3 speaks iperf3's protocol at both ends: it serves stock iperf3
// clients and drives stock iperf3 servers, from version 3.2 on.
//
// # The exchange
//
//	                                                             client_       server_
//	C: connect, cookie(37)                                       reach         session
//	S: PARAM_EXCHANGE        C: length, JSON parameters          agree         session
//	S: CREATE_STREAMS        C: one connection a stream to the
//	                            same port, cookie(37) on each    streams       door, streams
//	                            (UDP: a datagram each way)       streams       flows
//	S: TEST_START, TEST_RUNNING                                  move          run
//	   ... data ...                                              transfer      run
//	C: TEST_END              the client alone decides the end,   transfer      run
//	                         in reverse too
//	S: EXCHANGE_RESULTS      C, then S: length, JSON results     results       results
//	S: DISPLAY_RESULTS       C: IPERF_DONE                       results       part
//
// On the right are the files that have a phase at either end. What both share is
// in control (the framing), cookie, state, parameters, results, errors and auth;
// convert turns parameters and results into what package bulk measures and back;
// udp opens flows. How long either end waits is in one table each: client and
// server_patience.
//
// Everything that comes from the other end is bounded in size and time, and
// checked before it is used.
package iperf3

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// DefaultPort is iperf3's.
const DefaultPort = 5201

// Sizes on the control connection.
const (
	cookieSize       = 37        // 36 characters of [a-z2-7] and a NUL
	maxParameters    = 8 << 10   // what a server accepts (iperf3 3.18)
	maxClientResults = 256 << 10 // what a server accepts: 256 streams of 1 KiB; no output comes with a client's
	maxResults       = 16 << 20  // iperf3 has no limit; the rows of 8 streams over an hour, from --get-server-output, fit
)

const (
	// blobPatience is how long the other end may take over some JSON, however
	// slowly it drips: iperf3's nread_overall_timeout (3.15).
	blobPatience = 30 * time.Second
	// writePatience is how long the other end may refuse to take a few bytes:
	// iperf3's nread_read_timeout (3.15), seen from the other side.
	writePatience = 10 * time.Second
	// errorPatience is for the numbers behind a ServerError. They are written
	// together with it: one lost segment and its repetition fit.
	errorPatience = 3 * time.Second
)

// keepAlive finds out within 15 s that the other end's host is gone, or the path
// to it, though nothing shows that: the control connection is silent while data
// moves. The other kernel answers the probes, and five of them do not get lost
// in a row on a path that is alive; a cable that is plugged in again meanwhile,
// or a handover of a radio link, ends no test.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 5}

// control frames what travels on a control connection: single state bytes, and
// JSON behind a 4-byte length. Every call has a deadline. One goroutine may read
// while another writes.
type control struct {
	conn net.Conn
	ctx  context.Context // ends every read, and a long write
	free func()          // lets go of ctx
	cut  chan struct{}   // closed when ctx has ended calls, or cannot any more
	met  atomic.Bool     // the other end has shown that it speaks the protocol, or this one is the server
}

// newControl takes over a connection; when ctx ends, so do calls that wait for
// the other end. Single states can still be written then, to say why.
func newControl(ctx context.Context, conn net.Conn) *control {
	c := &control{conn: conn, ctx: ctx, cut: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() {
		_ = conn.SetDeadline(time.Unix(1, 0))
		close(c.cut)
	})
	c.free = func() {
		if stop() {
			close(c.cut)
		}
	}
	return c
}

func (c *control) close() {
	if c.free != nil {
		c.free()
	}
	c.conn.Close()
}

func (c *control) writeCookie(cookie Cookie) error {
	if err := c.write(cookie[:]); err != nil {
		return fmt.Errorf("send cookie: %w", c.early(err))
	}
	return nil
}

// readState reads one state byte within patience. What ends the test comes back
// as an error: *[RemoteError] for a ServerError, whose numbers are read too,
// [ErrBusy] for AccessDenied, [ErrServerTerminated] and [ErrClientTerminated],
// [ErrNoAnswer] where a server closes before its first state, [ErrClosed] where
// an end closes later, and os.ErrDeadlineExceeded: then nothing is lost and it
// can be called again.
func (c *control) readState(patience time.Duration) (State, error) {
	if err := c.wait(patience); err != nil {
		return 0, err
	}
	return c.nextState(patience)
}

// nextState is readState behind a wait.
func (c *control) nextState(patience time.Duration) (State, error) {
	var b [1]byte
	if err := c.read(b[:], patience); err != nil {
		return 0, fmt.Errorf("read state: %w", c.early(err))
	}
	c.met.Store(true)
	s := State(b[0])
	return s, c.verdict(s)
}

// verdict is the error that a state stands for, or nil.
func (c *control) verdict(s State) error {
	switch s {
	case ServerError:
		return c.readError()
	case AccessDenied:
		return ErrBusy
	case ServerTerminate:
		return ErrServerTerminated
	case ClientTerminate:
		return ErrClientTerminated
	}
	if !s.known() {
		return fmt.Errorf("%w: %v", ErrMessage, s)
	}
	return nil
}

// readError reads the numbers behind a ServerError. Up to 3.18 a server sends
// only the first when authorization fails.
func (c *control) readError() error {
	var b [4]byte
	if err := c.wait(errorPatience); err != nil {
		return err
	}
	if err := c.read(b[:], errorPatience); err != nil {
		return fmt.Errorf("read the server's error: %w", err)
	}
	e := &RemoteError{Number: Number(binary.BigEndian.Uint32(b[:]))}
	if c.read(b[:], errorPatience) == nil {
		e.Errno = int32(binary.BigEndian.Uint32(b[:]))
	}
	return e
}

// readJSON reads a length of most at most, and that many bytes of JSON into v;
// patience is for all of it. Where a state comes instead of the length (a
// ServerError since iperf3 3.21; either end may be stopped at any time), the
// error is as that of readState: no length within most begins with such a byte.
func (c *control) readJSON(most int, patience time.Duration, v any) error {
	if err := c.wait(patience); err != nil {
		return err
	}
	var b [4]byte
	if err := c.read(b[:1], patience); err != nil {
		return fmt.Errorf("read length of JSON: %w", err)
	}
	if s := State(b[0]); s == ServerError || s == ServerTerminate || s == ClientTerminate {
		return c.verdict(s)
	}
	if err := c.read(b[1:], patience); err != nil {
		return fmt.Errorf("read length of JSON: %w", err)
	}
	length := binary.BigEndian.Uint32(b[:])
	if length == 0 || int64(length) > int64(most) {
		return fmt.Errorf("the other end announced %d bytes of JSON: at most %d are accepted", length, most)
	}
	// The buffer grows with what arrives, not with what was announced.
	var text bytes.Buffer
	if n, err := io.CopyN(&text, c.conn, int64(length)); err != nil {
		return fmt.Errorf("read JSON: after %d of %d bytes: %w", n, length, c.broken(err, patience))
	}
	// C programs may count the NUL behind the text.
	if err := json.Unmarshal(bytes.TrimRight(text.Bytes(), "\x00"), v); err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	return nil
}

// writeState sends a state. It does so even when the context has ended.
func (c *control) writeState(s State) error {
	c.met.Store(true)
	if c.cut != nil && c.ctx.Err() != nil {
		<-c.cut // it would end this, too
	}
	if err := c.write([]byte{byte(s)}); err != nil {
		return fmt.Errorf("send %v: %w", s, err)
	}
	return nil
}

// writeError sends a ServerError with its two numbers, errno 0: none. Clients of
// every version print iperf3's words for the first.
func (c *control) writeError(n Number, errno syscall.Errno) error {
	b := []byte{byte(0xff & int(ServerError))}
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	b = binary.BigEndian.AppendUint32(b, uint32(errno))
	if err := c.write(b); err != nil {
		return fmt.Errorf("send %v: %w", ServerError, err)
	}
	return nil
}

// writeJSON sends the length and the text of v in one piece.
func (c *control) writeJSON(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("send JSON: %w", err)
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(blobPatience)); err != nil {
		return fmt.Errorf("send JSON: %w", c.broken(err, blobPatience))
	}
	if err := c.ended(); err != nil {
		return err
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	if _, err := c.conn.Write(append(b, text...)); err != nil {
		return fmt.Errorf("send JSON: %w", c.broken(err, blobPatience))
	}
	return nil
}

// wait sets the deadline of the reads that follow. The context is looked at
// after that: it may have ended before, and its own deadline be overwritten.
func (c *control) wait(patience time.Duration) error {
	if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return c.broken(err, patience)
	}
	return c.ended()
}

func (c *control) ended() error {
	if c.ctx != nil && c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return nil
}

// read fills b and not a byte more: what follows may be something else.
func (c *control) read(b []byte, patience time.Duration) error {
	_, err := io.ReadFull(c.conn, b)
	return c.broken(err, patience)
}

func (c *control) write(b []byte) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return c.broken(err, writePatience)
	}
	_, err := c.conn.Write(b)
	return c.broken(err, writePatience)
}

// broken says in the protocol's terms why reading or writing failed.
func (c *control) broken(err error, patience time.Duration) error {
	switch {
	case err == nil:
		return nil
	case c.ended() != nil:
		return c.ended()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("not done within %v: %w", patience, err)
	case errors.Is(err, net.ErrClosed):
		return err // by this end
	}
	// The end of the data, a reset, or whatever else this system calls it.
	return fmt.Errorf("%w (%w)", ErrClosed, err)
}

// early turns a connection that closes before the server's first state into
// ErrNoAnswer: a busy server closes with our cookie unread, so that its answer is
// often overtaken by a reset.
func (c *control) early(err error) error {
	if errors.Is(err, ErrClosed) && !c.met.Load() {
		return ErrNoAnswer
	}
	return err
}
