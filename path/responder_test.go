package path

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// serve runs a responder on loopback; the prober's socket is connected to it.
func serve(t *testing.T) (*Responder, *net.UDPConn) {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := NewResponder(conn)
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		conn.Close()
	})
	prober, err := net.DialUDP("udp", nil, conn.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { prober.Close() })
	return r, prober
}

func open(t *testing.T, r *Responder, from string) (Ticket, cookie) {
	t.Helper()
	ticket, err := r.Open(netip.MustParseAddr(from))
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseCookie(ticket.Cookie)
	if err != nil {
		t.Fatal(err)
	}
	return ticket, c
}

// answers reads what comes until an answer to the last probe, which is of the
// smallest size and valid, so that silence before it is certain.
func answers(t *testing.T, conn *net.UDPConn, c cookie) (got []packet, sizes []int) {
	t.Helper()
	const last = 68
	if _, err := conn.Write(packet{kind: kindProbe, cookie: c, size: last}.small()); err != nil {
		t.Fatal(err)
	}
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	b := make([]byte, maxPacket)
	for {
		n, err := conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		p, err := parse(b[:n])
		if err != nil {
			t.Fatal(err)
		}
		if p.kind == kindGot && p.size == last {
			return got, sizes
		}
		got, sizes = append(got, p), append(sizes, n)
	}
}

func TestResponderAnswers(t *testing.T) {
	r, conn := serve(t)
	ticket, c := open(t, r, "127.0.0.1")
	for _, p := range []packet{
		{kind: kindProbe, cookie: c, size: 1200},
		{kind: kindWant, cookie: c, size: 1300},
		{kind: kindSend, cookie: c, id: 1, count: 3, size: 500},
		{kind: kindSend, cookie: c, id: 1, count: 3, size: 500}, // asked for twice, sent once
	} {
		b := p.small()
		if p.kind == kindProbe {
			b = p.padded(overhead4)
		}
		conn.Write(b)
	}
	train, size := packet{kind: kindData, cookie: c, id: 1, count: 4, size: 600}.train(overhead4)
	for d := range slices.Chunk(train, size) {
		conn.Write(d)
	}
	got, sizes := answers(t, conn, c)
	want := []packet{
		{kind: kindGot, cookie: c, size: 1200},
		{kind: kindPadded, cookie: c, size: 1300},
		{kind: kindData, cookie: c, id: 1, seq: 0, count: 3, size: 500},
		{kind: kindData, cookie: c, id: 1, seq: 1, count: 3, size: 500},
		{kind: kindData, cookie: c, id: 1, seq: 2, count: 3, size: 500},
	}
	if !slices.Equal(got, want) || !slices.Equal(sizes, []int{headerSize, 1272, 472, 472, 472}) {
		t.Errorf("answers %+v of %v bytes, want %+v", got, sizes, want)
	}
	o, err := r.Observed(ticket.Cookie)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Received) != 1 || o.Received[0].Received != 4 || o.Received[0].Bytes != 2400 || o.Received[0].Sent != 4 {
		t.Errorf("received %+v, want one train of 4 packets and 2400 bytes", o.Received)
	}
	if len(o.Sent) != 1 || o.Sent[0].ID != 1 || o.Sent[0].Packets != 3 || o.Sent[0].Busy <= 0 {
		t.Errorf("sent %+v, want one train of 3 packets", o.Sent)
	}
	if o.Largest != 1200 {
		t.Errorf("largest probe %d, want 1200", o.Largest)
	}
}

// Nothing is said to those without a live cookie of their own address.
func TestResponderSilence(t *testing.T) {
	r, conn := serve(t)
	_, good := open(t, r, "127.0.0.1")
	_, other := open(t, r, "198.18.0.1")
	for _, b := range [][]byte{
		nil,
		[]byte("hello"),
		packet{kind: kindProbe, size: 100}.small(),                                    // no cookie
		packet{kind: kindProbe, cookie: cookie{1}, size: 100}.small(),                 // not one of ours
		packet{kind: kindProbe, cookie: other, size: 100}.small(),                     // of another host
		packet{kind: kindWant, cookie: other, size: 1000}.small(),                     // of another host
		packet{kind: kindSend, cookie: other, id: 1, count: 2, size: 1000}.small(),    // of another host
		packet{kind: kindGot, cookie: good, size: 100}.small(),                        // an answer
		packet{kind: kindPadded, cookie: good, size: 100}.small(),                     // an answer
		packet{kind: kindSend, cookie: good, id: 1, count: 4097, size: 68}.small(),    // too many
		packet{kind: kindSend, cookie: good, id: 1, count: 4096, size: 60000}.small(), // too much
		packet{kind: kindSend, cookie: good, id: 0, count: 2, size: 100}.small(),      // not a number of a train
	} {
		conn.Write(b)
	}
	if got, _ := answers(t, conn, good); len(got) != 0 {
		t.Errorf("answers %+v, want none", got)
	}
}

// A ticket's bytes are counted.
func TestResponderBudget(t *testing.T) {
	r, conn := serve(t)
	_, c := open(t, r, "127.0.0.1")
	r.mu.Lock()
	r.tickets[c].budget = 2500
	r.mu.Unlock()
	for range 4 {
		conn.Write(packet{kind: kindWant, cookie: c, size: 1000}.small())
	}
	conn.Write(packet{kind: kindSend, cookie: c, id: 1, count: 2, size: 300}.small())
	conn.Write(packet{kind: kindSend, cookie: c, id: 2, count: 2, size: 250}.small())
	_, sizes := answers(t, conn, c)
	if !slices.Equal(sizes, []int{972, 972, 222, 222}) {
		t.Errorf("answers of %v bytes, want what fits into 2500", sizes)
	}
}

func TestTickets(t *testing.T) {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	now := time.Now()
	r := NewResponder(conn)
	r.now = func() time.Time { return now }

	first, _ := open(t, r, "::ffff:198.18.0.1")
	if first.Port != conn.LocalAddr().(*net.UDPAddr).AddrPort().Port() || !first.Expires.Equal(now.Add(time.Minute)) {
		t.Errorf("ticket %+v", first)
	}
	for range maxHostTickets - 1 {
		open(t, r, "198.18.0.1")
	}
	if _, err := r.Open(netip.MustParseAddr("198.18.0.1")); !errors.Is(err, ErrTickets) {
		t.Errorf("one ticket too many of one host: %v, want %v", err, ErrTickets)
	}
	for i := range maxTickets - maxHostTickets {
		open(t, r, fmt.Sprintf("198.18.1.%d", i))
	}
	if _, err := r.Open(netip.MustParseAddr("198.18.0.2")); !errors.Is(err, ErrTickets) {
		t.Errorf("one ticket too many of all: %v, want %v", err, ErrTickets)
	}
	if _, err := r.Observed(first.Cookie); err != nil {
		t.Errorf("live ticket: %v", err)
	}
	now = now.Add(time.Minute + 1)
	if _, err := r.Observed(first.Cookie); err == nil {
		t.Error("an expired ticket still shows what was observed")
	}
	open(t, r, "198.18.0.1") // those that expired made room

	for _, bad := range []netip.Addr{{}, netip.MustParseAddr("0.0.0.0"), netip.MustParseAddr("ff02::1")} {
		if _, err := r.Open(bad); err == nil {
			t.Errorf("a ticket for %v", bad)
		}
	}
	for _, bad := range []string{"", "x", first.Cookie[1:]} {
		if _, err := r.Observed(bad); err == nil {
			t.Errorf("cookie %q shows something", bad)
		}
	}
}

// Serve ends with its context, and tells if its socket is closed.
func TestServeEnds(t *testing.T) {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := NewResponder(conn).Serve(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("serve on a closed socket: %v, want %v", err, net.ErrClosed)
	}
}
