package path

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
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
	if way, err := routeTo(netip.MustParseAddr("127.0.0.1")); err != nil || o.Link != way.link || o.Kernel != way.kernel || o.Link == 0 {
		t.Errorf("link %d, kernel %d; the way back is %+v (%v)", o.Link, o.Kernel, way, err)
	}
}

// What is no probe is handed on, its first bytes only, with where it came from and
// which address it was sent to.
func TestResponderStrangers(t *testing.T) {
	for _, listens := range []string{"127.0.0.1", "0.0.0.0"} {
		conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(listens)})
		if err != nil {
			t.Fatal(err)
		}
		port := conn.LocalAddr().(*net.UDPAddr).AddrPort().Port()
		r := NewResponder(conn)
		said := make(chan string, 10)
		r.Strangers = func(packet []byte, from, local netip.AddrPort) {
			if port := local.Port(); conn.LocalAddr().(*net.UDPAddr).Port != int(port) {
				t.Errorf("it was sent to port %d", port)
			}
			said <- fmt.Sprintf("%s, from %v to %v", packet, from, local.Addr())
		}
		served := make(chan error)
		go func() { served <- r.Serve(t.Context()) }()
		sender, err := net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(port)})
		if err != nil {
			t.Fatal(err)
		}
		me := sender.LocalAddr().(*net.UDPAddr).AddrPort()
		for _, b := range []string{"hello", strings.Repeat("x", 100)} {
			fmt.Fprint(sender, b)
			want := fmt.Sprintf("%s, from %v to 127.0.0.1", b[:min(len(b), headerSize)], me)
			select {
			case got := <-said:
				if got != want {
					t.Errorf("on %s: %q, want %q", listens, got, want)
				}
			case <-time.After(10 * time.Second):
				t.Errorf("on %s: %q was not handed on", listens, b)
			}
		}
		sender.Close()
		conn.Close()
		if err := <-served; !errors.Is(err, net.ErrClosed) {
			t.Errorf("serve: %v", err)
		}
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

// A ticket's bytes are counted, those of packets that are smaller than their headers
// as well; the last of them may be spent.
func TestResponderBudget(t *testing.T) {
	r, conn := serve(t)
	_, c := open(t, r, "127.0.0.1")
	for _, tc := range []struct {
		name   string
		budget int
		asks   []packet
		want   []int
		left   int
	}{
		{"packets", 2500, []packet{{kind: kindWant, size: 1000}, {kind: kindWant, size: 1000}, {kind: kindWant, size: 1000}}, []int{972, 972}, 500},
		{"just one", 1000, []packet{{kind: kindWant, size: 1000}}, []int{972}, 0},
		{"a train too much", 599, []packet{{kind: kindSend, id: 1, count: 2, size: 300}}, nil, 599},
		{"a train, and another", 1099, []packet{{kind: kindSend, id: 2, count: 2, size: 300}, {kind: kindSend, id: 3, count: 2, size: 250}}, []int{272, 272}, 499},
		{"just one train", 500, []packet{{kind: kindSend, id: 4, count: 2, size: 250}}, []int{222, 222}, 0},
		{"of headers only, too much", 135, []packet{{kind: kindSend, id: 5, count: 2, size: 10}}, nil, 135},
		{"of headers only", 136, []packet{{kind: kindSend, id: 6, count: 2, size: 10}}, []int{headerSize, headerSize}, 0},
	} {
		r.mu.Lock()
		r.tickets[c].budget = tc.budget
		r.mu.Unlock()
		for _, p := range tc.asks {
			p.cookie = c
			conn.Write(p.small())
		}
		_, sizes := answers(t, conn, c)
		r.mu.Lock()
		left := r.tickets[c].budget
		r.mu.Unlock()
		if !slices.Equal(sizes, tc.want) || left != tc.left {
			t.Errorf("%s: answers of %v bytes, want %v; %d bytes are left, want %d", tc.name, sizes, tc.want, left, tc.left)
		}
	}
}

// A ticket has so many trains and no more.
func TestResponderTrains(t *testing.T) {
	r, conn := serve(t)
	_, c := open(t, r, "127.0.0.1")
	r.mu.Lock()
	r.tickets[c].sent = make([]Sent, maxTrains-1)
	r.mu.Unlock()
	for id := range uint32(2) {
		conn.Write(packet{kind: kindSend, cookie: c, id: id + 1, count: 2, size: 250}.small())
		_, sizes := answers(t, conn, c)
		if (len(sizes) > 0) != (id == 0) {
			t.Errorf("train %d of %d: answers of %v bytes", maxTrains+id, maxTrains, sizes)
		}
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
