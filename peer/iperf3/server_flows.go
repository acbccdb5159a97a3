package iperf3

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/fullbore/fullbore/bulk"
)

// Stranger takes a datagram that came to the UDP port with the server's number
// and is of no flow yet. It does not block.
func (s *Server) Stranger(packet []byte, from, local netip.AddrPort) {
	s.flows.stranger(packet, from, local)
}

// gatherFlows is gather for UDP: the flows of clients with the same address are
// opened one test after the other.
func (t *session) gatherFlows(ctx context.Context, said <-chan word) ([]bulk.Conn, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var conns []bulk.Conn
	var failed error
	full := make(chan struct{})
	go func() {
		defer close(full)
		conns, failed = t.acceptFlows(ctx)
	}()
	err := t.await(ctx, said, full)
	stop()
	<-full
	switch {
	case err != nil:
		err = fmt.Errorf("%w (%d of %d flows came)", err, len(conns), connections(t.spec()))
	case failed != nil:
		err = refuse(IEStreamAccept, "%v", failed)
	}
	if err != nil {
		closeStreams(conns)
		return nil, err
	}
	return conns, nil
}

// acceptFlows gives also those that came before an error.
func (t *session) acceptFlows(ctx context.Context) ([]bulk.Conn, error) {
	opening, err := t.flows.await(ctx, t.client.Addr())
	if err != nil {
		return nil, err
	}
	defer opening.close()
	if err := t.control.writeState(CreateStreams); err != nil {
		return nil, err
	}
	conns := make([]bulk.Conn, 0, connections(t.spec()))
	for i := range cap(conns) {
		conn, err := opening.accept(ctx)
		if err != nil {
			return conns, err
		}
		conns = append(conns, bulk.Conn{ID: StreamID(i), Sender: t.sends(i), Server: true, UDP: conn})
	}
	return conns, nil
}
