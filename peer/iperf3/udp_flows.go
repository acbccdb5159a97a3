package iperf3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// flows gives the tests of a server the UDP flows that their clients open. What
// opens a flow says no more of its test than the client's address: where
// several tests of one host begin at once, each has its turn. Nobody else is
// answered, and no answer is longer than what it answers.
type flows struct {
	mu    sync.Mutex
	turns map[netip.Addr]*opening // whose flows are awaited
}

// opening is a test's turn.
type opening struct {
	flows    *flows
	client   netip.Addr
	calls    chan flowCall
	over     chan struct{} // closed at its end
	taken    map[netip.AddrPort]bool
	answered []answered
}

// flowCall is a client's hello.
type flowCall struct {
	from, local netip.AddrPort
	answer      []byte
}

// answered is a flow that was answered, until it is certain that the client knows.
type answered struct {
	conn  *net.UDPConn
	ended chan struct{}
}

// waitingCalls is how many hellos may wait: a client opens one flow at a time,
// and says hello again.
const waitingCalls = 8

func plainAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// await waits for a client's turn to open flows. From then on they are
// collected; the caller closes the opening.
func (f *flows) await(ctx context.Context, client netip.Addr) (*opening, error) {
	o := &opening{
		flows: f, client: plainAddr(client),
		calls: make(chan flowCall, waitingCalls), over: make(chan struct{}), taken: map[netip.AddrPort]bool{},
	}
	for {
		f.mu.Lock()
		before := f.turns[o.client]
		if before == nil {
			if f.turns == nil {
				f.turns = map[netip.Addr]*opening{}
			}
			f.turns[o.client] = o
		}
		f.mu.Unlock()
		if before == nil {
			return o, nil
		}
		select {
		case <-before.over:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// stranger takes a datagram that came to the server's port. It does not block.
func (f *flows) stranger(packet []byte, from, local netip.AddrPort) {
	f.mu.Lock()
	o := f.turns[plainAddr(from.Addr())]
	f.mu.Unlock()
	if o == nil {
		return
	}
	if answer := answerTo(packet); answer != nil {
		select {
		case o.calls <- flowCall{from, local, answer}:
		default: // lost, as packets may be
		}
	}
}

// accept waits for the client's next flow. The socket stays the opening's until
// close.
func (o *opening) accept(ctx context.Context) (*net.UDPConn, error) {
	for {
		select {
		case call := <-o.calls:
			if o.taken[call.from] {
				continue // it came twice, before the flow's own socket was there
			}
			conn, err := acceptFlow(ctx, call.local, call.from)
			if err != nil {
				return nil, fmt.Errorf("accept UDP flow from %v: %w", call.from, err)
			}
			if _, err := conn.Write(call.answer); err != nil {
				_ = conn.Close()
				return nil, fmt.Errorf("answer UDP flow from %v: %w", call.from, err)
			}
			o.taken[call.from] = true
			m := answered{conn, make(chan struct{})}
			o.answered = append(o.answered, m)
			go m.answerAgain()
			return conn, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// strays is how long a flow's socket is read when its turn is over, to rid it of
// what came for others between its bind and its connect.
const strays = time.Millisecond

// close ends the turn and makes the flows the caller's own.
func (o *opening) close() {
	o.flows.mu.Lock()
	delete(o.flows.turns, o.client)
	o.flows.mu.Unlock()
	close(o.over)
	for _, m := range o.answered {
		_ = m.conn.SetReadDeadline(time.Now().Add(strays)) // of a closed one, mind has returned
	}
	for _, m := range o.answered {
		<-m.ended
		_ = m.conn.SetReadDeadline(time.Time{})
	}
}

// answerAgain answers a client that says hello again: the answer was lost. Anything
// else that arrives before the test begins is not part of the flow.
func (m answered) answerAgain() {
	defer close(m.ended)
	for b := make([]byte, 64); ; {
		n, err := m.conn.Read(b)
		var timeout net.Error
		switch {
		case errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, net.ErrClosed):
			return
		case err == nil && isAgain(b[:n]):
			_, _ = m.conn.Write(answerTo(b[:n])) // if that is lost too, the client asks again
		}
	}
}

// acceptFlow makes the socket of a flow: bound to the address that the client
// asked, beside the socket that heard it, and connected to the client. From then
// on the system gives it what that client sends.
func acceptFlow(ctx context.Context, local, from netip.AddrPort) (*net.UDPConn, error) {
	from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	address := local.Addr().Unmap()
	if address.IsUnspecified() && address.Is4() != from.Addr().Is4() {
		address = netip.IPv4Unspecified() // of a socket for both families
	}
	if address.IsMulticast() {
		return nil, fmt.Errorf("sent to %v, which is not this host's alone", address)
	}
	dialer := net.Dialer{
		LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(address, local.Port())),
		Control:   SharePort,
	}
	conn, err := dialer.DialContext(ctx, "udp", from.String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.UDPConn), nil
}
