package iperf3

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fullbore/fullbore/path"
)

// port is a far end's UDP port, on which probes are answered and flows opened.
type port struct {
	flows     flows
	responder *path.Responder
	address   netip.AddrPort
	deaf      atomic.Bool // to those that open flows
}

func openPort(t *testing.T, address string) *port {
	t.Helper()
	config := net.ListenConfig{Control: SharePort}
	conn, err := config.ListenPacket(t.Context(), "udp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	p := &port{responder: path.NewResponder(conn.(*net.UDPConn)), address: conn.LocalAddr().(*net.UDPAddr).AddrPort()}
	p.responder.Strangers = func(packet []byte, from, local netip.AddrPort) {
		if !p.deaf.Load() {
			p.flows.stranger(packet, from, local)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.responder.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		conn.Close()
	})
	return p
}

// at is the port at one of its addresses.
func (p *port) at(address string) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(address), p.address.Port())
}

// OpenProbe and Observed make it a far end that helps with probes.
func (p *port) OpenProbe(context.Context) (path.Ticket, error) {
	return p.responder.Open(netip.MustParseAddr("127.0.0.1"))
}

func (p *port) Observed(_ context.Context, cookie string) (path.Observed, error) {
	return p.responder.Observed(cookie)
}

func await(t *testing.T, p *port, client string) *opening {
	t.Helper()
	o, err := p.flows.await(t.Context(), netip.MustParseAddr(client))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// accept takes n flows in the background.
func accept(t *testing.T, o *opening, n int) <-chan []*net.UDPConn {
	all := make(chan []*net.UDPConn, 1)
	go func() {
		var conns []*net.UDPConn
		for range n {
			conn, err := o.accept(t.Context())
			if err != nil {
				t.Errorf("accept: %v", err)
				break
			}
			t.Cleanup(func() { conn.Close() })
			conns = append(conns, conn)
		}
		all <- conns
	}()
	return all
}

func openedFlow(t *testing.T, to netip.AddrPort, patience ...time.Duration) *net.UDPConn {
	t.Helper()
	if patience == nil {
		patience = flowPatience
	}
	conn, err := tryFlow(t, t.Context(), to, patience)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func tryFlow(t *testing.T, ctx context.Context, to netip.AddrPort, patience []time.Duration) (*net.UDPConn, error) {
	t.Helper()
	conn, err := dialFlow(ctx, to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, openFlow(ctx, conn, patience)
}

// carries checks that a flow carries datagrams both ways.
func carries(t *testing.T, a, b *net.UDPConn) {
	t.Helper()
	for from, to := range map[*net.UDPConn]*net.UDPConn{a: b, b: a} {
		want := "from " + from.LocalAddr().String()
		if _, err := from.Write([]byte(want)); err != nil {
			t.Fatal(err)
		}
		to.SetReadDeadline(time.Now().Add(5 * time.Second))
		got := make([]byte, 100)
		n, err := to.Read(got)
		if err != nil || string(got[:n]) != want {
			t.Errorf("%v received %q (%v), want %q", to.LocalAddr(), got[:n], err, want)
		}
		to.SetReadDeadline(time.Time{})
	}
}

// Flows have sockets of their own, at the address that the client asked, over
// either family, and probes are answered all the while.
func TestFlows(t *testing.T) {
	for bound, asked := range map[string][]string{
		"127.0.0.1": {"127.0.0.1"},
		"::1":       {"::1"},
		"0.0.0.0":   {"127.0.0.1", "127.0.0.2"},
		"::":        {"::1", "127.0.0.1", "127.0.0.3"},
	} {
		t.Run(bound, func(t *testing.T) {
			t.Parallel()
			p := openPort(t, bound)
			listener, err := net.Listen("tcp", netip.AddrPortFrom(p.address.Addr(), 0).String()) // RTT is that of TCP handshakes
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			probe := func() {
				if !netip.MustParseAddr(asked[len(asked)-1]).Is4() {
					return
				}
				to := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), listener.Addr().(*net.TCPAddr).AddrPort().Port())
				e, err := path.Probe(t.Context(), to, p, path.Options{})
				if err != nil || e.Forward.MTU.Bytes < 1280 || e.Reverse.MTU.Bytes < 1280 {
					t.Errorf("probe: %+v, %v", e, err)
				}
			}
			for _, address := range asked {
				client := "127.0.0.1"
				if strings.Contains(address, ":") {
					client = "::1"
				}
				o := await(t, p, client)
				accepted := accept(t, o, 3)
				var near []*net.UDPConn
				for range 3 {
					near = append(near, openedFlow(t, p.at(address)))
				}
				far := <-accepted
				o.close()
				for i, conn := range far {
					if got := conn.LocalAddr().(*net.UDPAddr).AddrPort(); got != p.at(address) {
						t.Errorf("flow at %v, want %v", got, p.at(address))
					}
					carries(t, near[i], conn)
				}
			}
			probe()
		})
	}
}

// Nobody is answered but the client whose flows are awaited, and nothing but
// what opens a flow.
func TestFlowsSilence(t *testing.T) {
	t.Parallel()
	p := openPort(t, "127.0.0.1")
	client, err := net.Dial("udp", p.address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	say := func(b ...byte) {
		if _, err := client.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	silent := func(when string) {
		t.Helper()
		client.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if n, err := client.Read(make([]byte, 100)); err == nil {
			t.Errorf("%s: an answer of %d bytes", when, n)
		}
	}
	hello := flowWord(binary.LittleEndian, flowHello)
	say(hello...)
	silent("no test awaits flows")

	other := await(t, p, "198.18.0.1")
	accept := func(o *opening) error {
		ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer stop()
		conn, err := o.accept(ctx)
		if err == nil {
			conn.Close()
		}
		return err
	}
	say(hello...)
	if err := accept(other); err == nil {
		t.Error("a flow of another host was accepted")
	}
	silent("another host's flows are awaited")
	other.close()

	o := await(t, p, "127.0.0.1")
	say()
	say(hello[:3]...)
	say(flowWord(binary.LittleEndian, 1)...)
	say(append(hello, 0)...)
	say(make([]byte, flowAgainSize)...)
	if err := accept(o); err == nil {
		t.Error("a flow was opened by something else")
	}
	silent("what opens no flow was sent")
	o.close()
	say(hello...)
	silent("the turn is over")
}

// A hello that was lost is said again.
func TestFlowHelloLost(t *testing.T) {
	t.Parallel()
	p := openPort(t, "127.0.0.1")
	o := await(t, p, "127.0.0.1")
	accepted := accept(t, o, 1)
	p.deaf.Store(true)
	time.AfterFunc(150*time.Millisecond, func() { p.deaf.Store(false) })
	near := openedFlow(t, p.address, 100*time.Millisecond, 200*time.Millisecond, 5*time.Second)
	far := <-accepted
	o.close()
	carries(t, near, far[0])
}

// Where it is the answer that was lost, the client's next hello comes to the
// flow's own socket, which answers again.
func TestFlowAnswerLost(t *testing.T) {
	p := openPort(t, "127.0.0.1")
	o := await(t, p, "127.0.0.1")
	accepted := accept(t, o, 2)
	client, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(p.address))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	first := flowWord(binary.LittleEndian, flowHello)
	for _, hello := range [][]byte{first, helloAgain(time.Now()), helloAgain(time.Now())} {
		client.Write(hello)
		client.SetReadDeadline(time.Now().Add(5 * time.Second))
		b := make([]byte, 100)
		if n, err := client.Read(b); err != nil || !isAnswer(b[:n]) || n > len(hello) {
			t.Errorf("hello of %d bytes: answer %x, %v", len(hello), b[:n], err)
		}
	}
	client.SetReadDeadline(time.Time{})
	near := openedFlow(t, p.address) // what was said again opened no flow
	far := <-accepted
	// What comes before the test begins is none of the flow's.
	client.Write([]byte("early"))
	o.close()
	carries(t, client, far[0])
	carries(t, near, far[1])
}

// Two tests of one host take turns: nothing tells whose a flow is.
func TestFlowsTurns(t *testing.T) {
	p := openPort(t, "127.0.0.1")
	first := await(t, p, "127.0.0.1")
	second := make(chan *opening)
	go func() {
		o, err := p.flows.await(t.Context(), netip.MustParseAddr("::ffff:127.0.0.1"))
		if err != nil {
			t.Error(err)
		}
		second <- o
	}()
	await(t, p, "127.0.0.2").close() // another host's test is not in the way

	accepted := accept(t, first, 1)
	near := openedFlow(t, p.address)
	far := <-accepted
	select {
	case <-second:
		t.Error("both have their turn at once")
	default:
	}
	first.close()
	carries(t, near, far[0])
	o := <-second
	accepted = accept(t, o, 1)
	near = openedFlow(t, p.address)
	far = <-accepted
	o.close()
	carries(t, near, far[0])

	waiting := await(t, p, "127.0.0.1")
	defer waiting.close()
	ctx, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	stop(enough)
	if _, err := p.flows.await(ctx, netip.MustParseAddr("127.0.0.1")); !errors.Is(err, enough) {
		t.Errorf("await without a turn: %v, want %v", err, enough)
	}
	if _, err := waiting.accept(ctx); !errors.Is(err, enough) {
		t.Errorf("accept: %v, want %v", err, enough)
	}
}

// An end that gets no answer says what may be the matter.
func TestOpenFlowFails(t *testing.T) {
	silent, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	to := silent.LocalAddr().(*net.UDPAddr).AddrPort()
	short := []time.Duration{20 * time.Millisecond, 20 * time.Millisecond}
	if _, err := tryFlow(t, t.Context(), to, short); err == nil || !strings.Contains(err.Error(), "did not answer on UDP") {
		t.Errorf("no answer: %v", err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	time.AfterFunc(50*time.Millisecond, func() { stop(enough) })
	if _, err := tryFlow(t, ctx, to, flowPatience); !errors.Is(err, enough) {
		t.Errorf("stopped: %v, want %v", err, enough)
	}
	silent.Close()
	if _, err := tryFlow(t, t.Context(), to, short); err == nil || !strings.Contains(err.Error(), "is closed") {
		t.Errorf("closed port: %v", err)
	}
}

// Both byte orders and the words from before 3.12 are understood, and no answer
// is longer than what it answers.
func TestFlowWords(t *testing.T) {
	for name, c := range map[string]struct{ hello, answer string }{
		"3.12, little-endian": {"\x39\x38\x37\x36", "\x36\x37\x38\x39"},
		"3.12, big-endian":    {"\x36\x37\x38\x39", "\x39\x38\x37\x36"},
		"3.11, little-endian": {"\x15\xcd\x5b\x07", "\xb1\x68\xde\x3a"},
		"3.11, big-endian":    {"\x07\x5b\xcd\x15", "\x3a\xde\x68\xb1"},
		"again":               {string(helloAgain(time.Now())), "\x36\x37\x38\x39"},
	} {
		got := answerTo([]byte(c.hello))
		if string(got) != c.answer || !isAnswer(got) {
			t.Errorf("%s: answer %x, want %x", name, got, c.answer)
		}
	}
}

func FuzzFlowWords(f *testing.F) {
	f.Add(flowWord(binary.BigEndian, flowHello))
	f.Add(flowWord(binary.LittleEndian, flowHelloOld))
	f.Add(helloAgain(time.Unix(1, 0)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if answer := answerTo(b); len(answer) > len(b) || answer != nil && !isAnswer(answer) {
			t.Errorf("%x is answered with %x", b, answer)
		}
	})
}
