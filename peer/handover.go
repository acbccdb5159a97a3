package peer

import (
	"net"
	"sync"
)

// handover is a net.Listener of connections that were accepted elsewhere. It
// bounds how many there are at once.
type handover struct {
	address net.Addr
	inside  *gate
	conns   chan net.Conn
	closed  chan struct{}
	close   sync.Once
}

func newHandover(address net.Addr) *handover {
	return &handover{
		address: address,
		inside:  newGate(256, 32), // a client needs one or two
		conns:   make(chan net.Conn),
		closed:  make(chan struct{}),
	}
}

// give hands a connection over, or closes it if there are too many.
func (h *handover) give(c *opened) {
	if !h.inside.enter(c.from.Addr()) {
		_ = c.Close()
		return
	}
	counted := &countedConn{opened: c, leave: sync.OnceFunc(func() { h.inside.leave(c.from.Addr()) })}
	select {
	case h.conns <- counted:
	case <-h.closed:
		_ = counted.Close()
	}
}

// Accept waits for the next connection.
func (h *handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close makes Accept and pending calls of give return.
func (h *handover) Close() error {
	h.close.Do(func() { close(h.closed) })
	return nil
}

// Addr is the address of the real listener.
func (h *handover) Addr() net.Addr { return h.address }

type countedConn struct {
	*opened
	leave func()
}

func (c *countedConn) Close() error {
	c.leave()
	return c.opened.Close()
}
