package datagram

import (
	"net"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// pair is two UDP sockets that are connected to each other.
func pair(t testing.TB, network, address string) (a, b *net.UDPConn) {
	t.Helper()
	listen := func() *net.UDPConn {
		c, err := net.ListenPacket(network, net.JoinHostPort(address, "0"))
		if err != nil {
			t.Fatal(err)
		}
		return c.(*net.UDPConn)
	}
	p, q := listen(), listen()
	to := func(from, to *net.UDPConn) *net.UDPConn {
		local, remote := from.LocalAddr().(*net.UDPAddr), to.LocalAddr().(*net.UDPAddr)
		_ = from.Close()
		c, err := net.DialUDP(network, local, remote)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	p = to(p, q)
	return p, to(q, p)
}

// flows connects the flows of a transfer over the loopback.
func flows(t testing.TB, spec bulk.Spec) (client, server []bulk.Conn) {
	t.Helper()
	add := func(clientSends bool) {
		a, b := pair(t, "udp4", "127.0.0.1")
		id := len(client) + 1
		client = append(client, bulk.Conn{ID: id, Sender: clientSends, UDP: a})
		server = append(server, bulk.Conn{ID: id, Sender: !clientSends, UDP: b})
	}
	for range spec.Streams {
		if spec.Direction != bulk.Reverse {
			add(true)
		}
		if spec.Direction != bulk.Forward {
			add(false)
		}
	}
	return client, server
}

func start(t testing.TB, spec bulk.Spec, conns []bulk.Conn) *Running {
	t.Helper()
	r, err := Start(t.Context(), spec, conns, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// due waits for the transfer's time.
func due(t testing.TB, r *Running) {
	t.Helper()
	select {
	case <-r.Due():
	case <-time.After(20 * time.Second):
		t.Fatal("the transfer was not due within 20 s")
	}
}

// transfer runs both ends; the dialling one decides the end, as iperf3's does.
func transfer(t testing.TB, spec bulk.Spec) (client, server bulk.End) {
	t.Helper()
	a, b := flows(t, spec)
	far, near := start(t, spec, b), start(t, spec, a)
	due(t, near)
	if err := near.Failed(); err != nil {
		t.Error(err)
	}
	if spec.Direction == bulk.Reverse {
		server = far.Stop()
		settle(near)
		return near.Stop(), server
	}
	client = near.Stop()
	settle(far)
	return client, far.Stop()
}

// settle waits until no more comes: what is queued on the path, and what waits
// for a receiver on a busy machine.
func settle(r *Running) {
	for was := int64(-1); ; time.Sleep(200 * time.Millisecond) {
		var now, unread int64
		for _, f := range r.flows {
			if !f.Sender {
				sample := f.look(r.now(), r)
				now += sample.Bytes
				unread += int64(sample.Unread)
			}
		}
		if now == was && unread == 0 {
			return
		}
		was = now
	}
}
