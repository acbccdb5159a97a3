package path

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// session is a prober's side of a ticket.
type session struct {
	to       netip.Addr
	conn     *net.UDPConn
	send     func(datagram []byte)                                            // one, and nobody waits for it
	train    func(datagrams []byte, size int) (busy time.Duration, err error) // all of a train, of so many bytes each
	helper   Helper
	ticket   Ticket
	cookie   cookie
	overhead int           // IP and UDP headers, bytes
	wait     time.Duration // in which an answer comes, or not at all

	got    chan int // sizes of forward probes that got through
	padded chan int // sizes of reverse probes that got through
	trains recorder // reverse trains

	forwardID, reverseID uint32 // of the last train

	end  context.CancelFunc
	done chan struct{}
}

// newSession checks a ticket and starts listening.
func newSession(ctx context.Context, to netip.Addr, helper Helper, t Ticket, rtt RTT) (*session, error) {
	c, err := parseCookie(t.Cookie)
	if err != nil {
		return nil, err
	}
	if t.Port == 0 {
		return nil, fmt.Errorf("the far end gave no UDP port")
	}
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, t.Port)))
	if err != nil {
		return nil, fmt.Errorf("open UDP socket: %w", err)
	}
	if err := prepare(conn); err != nil {
		conn.Close()
		return nil, fmt.Errorf("prepare UDP socket for probes: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &session{
		to: to, conn: conn, helper: helper, ticket: t, cookie: c, overhead: overhead(to),
		wait: answerWithin(rtt.Max),
		got:  make(chan int, 256), padded: make(chan int, 256),
		end: cancel, done: make(chan struct{}),
	}
	s.send, s.train = s.write, s.writeTrain
	go func() {
		defer close(s.done)
		_ = receive(ctx, conn, s.take) // what fails here is missing in the answers
	}()
	return s, nil
}

// answerWithin is how long an answer may take where the slowest handshake took so
// long.
func answerWithin(slowest time.Duration) time.Duration {
	return min(slowest+slowest/4+50*time.Millisecond, 2*time.Second)
}

func (s *session) close() {
	s.end()
	<-s.done
	s.conn.Close()
}

// take sorts what comes in.
func (s *session) take(d datagram) {
	p, err := parse(d.head)
	if err != nil || p.cookie != s.cookie {
		return
	}
	switch p.kind {
	case kindGot:
		offer(s.got, int(p.size))
	case kindPadded:
		offer(s.padded, d.size+s.overhead)
	case kindData:
		s.trains.add(p, d.at, d.size+s.overhead, d.lost)
	}
}

// offer drops what was not taken in time.
func offer(to chan<- int, size int) {
	select {
	case to <- size:
	default:
	}
}

// write sends one datagram. An ICMP error about an earlier one is reported in
// its place: then it is sent again.
func (s *session) write(b []byte) {
	for range 3 {
		if s.conn.SetWriteDeadline(time.Now().Add(sendTimeout)) != nil {
			return // closed
		}
		if _, err := s.conn.Write(b); err == nil {
			return
		}
	}
}

// writeTrain sends a train.
func (s *session) writeTrain(datagrams []byte, size int) (busy time.Duration, err error) {
	if err := s.conn.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return 0, err
	}
	return sendTrain(s.conn, netip.AddrPort{}, datagrams, size)
}

// sleep waits, if there is anything to wait for.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
