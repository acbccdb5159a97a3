package iperf3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// openStreams connects all streams, one after the other: the server numbers
// them as they come. Of a test in both directions it takes the first half as
// those it receives on.
func (c *client) openStreams(ctx context.Context) ([]bulk.Conn, error) {
	conns := make([]bulk.Conn, 0, 2*c.Spec.Streams)
	n := c.Spec.Streams
	if c.Spec.Direction == bulk.Both {
		n *= 2
	}
	opening, heard := context.WithCancelCause(ctx)
	defer heard(nil)
	c.listen(func() { heard(errSpoke) })
	for i := range n {
		conn := bulk.Conn{
			ID:     StreamID(i),
			Sender: c.Spec.Direction == bulk.Forward || c.Spec.Direction == bulk.Both && i < c.Spec.Streams,
		}
		err := c.openStream(ctx, opening, &conn)
		conns = append(conns, conn)
		if errors.Is(err, errSpoke) && i == n-1 && conn.UDP != nil {
			break // the answer was lost, but it is there: the server begins
		}
		if err != nil {
			closeStreams(conns)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, fmt.Errorf("open stream %d of %d to %s: %w", i+1, n, c.target, c.firstWord(err))
		}
	}
	return conns, nil
}

// errSpoke ends the opening of streams: the server says something meanwhile.
var errSpoke = errors.New("the server spoke before all streams were there")

func closeStreams(conns []bulk.Conn) {
	for _, conn := range conns {
		if conn.TCP != nil {
			conn.TCP.Close()
		}
		if conn.UDP != nil {
			conn.UDP.Close()
		}
	}
}

// openStream connects one stream. The answer to a flow is waited for until
// opening is done.
func (c *client) openStream(ctx, opening context.Context, conn *bulk.Conn) (err error) {
	if c.Spec.Protocol == bulk.UDP {
		far := c.control.conn.RemoteAddr().(*net.TCPAddr).AddrPort()
		if conn.UDP, err = dialFlow(ctx, netip.AddrPortFrom(far.Addr().Unmap(), far.Port())); err != nil {
			return err
		}
		return openFlow(opening, conn.UDP, flowPatience)
	}
	if conn.TCP, err = c.dialStream(ctx, conn.Sender); err != nil {
		return err
	}
	if err := bulk.Prepare(conn.TCP, c.Spec, conn.Sender); err != nil {
		return err
	}
	if err := conn.TCP.SetWriteDeadline(time.Now().Add(c.wait.answer)); err != nil {
		return err
	}
	if _, err = conn.TCP.Write(c.cookie[:]); err != nil {
		return fmt.Errorf("send cookie: %w", err)
	}
	return conn.TCP.SetWriteDeadline(time.Time{})
}

// dialStream tries again while nothing listens: a server opens its listening
// socket anew for a window, an MSS or TCP_NODELAY.
func (c *client) dialStream(ctx context.Context, sender bool) (*net.TCPConn, error) {
	spec := c.Spec
	if !sender {
		spec.Congest = "" // it is the far end's to have
	}
	began := time.Now()
	for {
		conn, err := c.dial(ctx, c.dataAddress(), spec)
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Since(began) > c.wait.busy {
			return conn, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// dataAddress is the one that the control connection found, whatever else the
// name may stand for.
func (c *client) dataAddress() string { return c.control.conn.RemoteAddr().String() }

// firstWord is what the server says while streams are opened, or about one that
// it does not take; or else err.
func (c *client) firstWord(err error) error {
	for _, cut := range []error{errSpoke, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, os.ErrDeadlineExceeded} {
		if !errors.Is(err, cut) {
			continue
		}
		select {
		case w := <-c.said:
			if w.err != nil {
				return w.err
			}
			return fmt.Errorf("%w: %v came while streams were opened", ErrMessage, w.state)
		case <-time.After(c.wait.word):
			return err
		}
	}
	return err
}
