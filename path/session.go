package path

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"
)

// session is a prober's side of a ticket.
type session struct {
	to       netip.Addr
	conn     *net.UDPConn
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
		wait: min(rtt.Max+rtt.Max/4+50*time.Millisecond, 2*time.Second),
		got:  make(chan int, 256), padded: make(chan int, 256),
		end: cancel, done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		receive(ctx, conn, s.take) // what fails here is missing in the answers
	}()
	return s, nil
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

// offer drops what nobody has taken in time.
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
		if _, err := s.conn.Write(b); err == nil {
			return
		}
	}
}

// askForward is an asker for packets to the far end.
func (s *session) askForward(ctx context.Context, sizes []int) (int, error) {
	return s.ask(ctx, sizes, s.got, func(size int) {
		s.write(packet{kind: kindProbe, cookie: s.cookie, size: uint32(size)}.padded(s.overhead))
	})
}

// askReverse is an asker for packets from the far end.
func (s *session) askReverse(ctx context.Context, sizes []int) (int, error) {
	return s.ask(ctx, sizes, s.padded, func(size int) {
		s.write(packet{kind: kindWant, cookie: s.cookie, size: uint32(size)}.small())
	})
}

// ask sends each size twice, the copies apart, and waits for the largest.
func (s *session) ask(ctx context.Context, sizes []int, answers <-chan int, send func(size int)) (int, error) {
	const (
		copies = 2
		apart  = 10 * time.Millisecond // beyond what one burst of loss takes, mostly
	)
	largest := 0
	collect := func(within time.Duration) bool {
		timer := time.NewTimer(within)
		defer timer.Stop()
		for largest < sizes[0] && ctx.Err() == nil {
			select {
			case size := <-answers:
				largest = max(largest, size)
			case <-ctx.Done():
			case <-timer.C:
				return false
			}
		}
		return true
	}
	for range copies {
		for _, size := range sizes {
			if size > largest {
				send(size)
			}
		}
		if collect(apart) {
			return largest, ctx.Err()
		}
	}
	collect(s.wait)
	return largest, ctx.Err()
}

// forward sends n trains to the far end, spaced from start to start, and
// returns what it saw of them.
func (s *session) forward(ctx context.Context, n, packets, size int, spacing time.Duration) ([]measured, error) {
	busy := make(map[uint32]time.Duration, n)
	for range n {
		start := time.Now()
		s.forwardID++
		p := packet{kind: kindData, cookie: s.cookie, id: s.forwardID, count: uint32(packets), size: uint32(size)}
		datagrams, each := p.train(s.overhead)
		s.conn.SetWriteDeadline(time.Now().Add(sendTimeout))
		took, err := sendTrain(s.conn, netip.AddrPort{}, datagrams, each)
		s.conn.SetWriteDeadline(time.Time{})
		if err != nil {
			return nil, fmt.Errorf("send packet train: %w", err)
		}
		busy[s.forwardID] = took
		if err := sleep(ctx, spacing-time.Since(start)); err != nil {
			return nil, err
		}
	}
	for received := -1; ; {
		o, err := s.observe(ctx)
		if err != nil {
			return nil, err
		}
		var out []measured
		now, complete := 0, false
		for _, t := range o.Received {
			if took, ours := busy[t.ID]; ours && t.plausible(packets, size) {
				out = append(out, measured{t, took})
				now += t.Received
				complete = complete || t.ID == s.forwardID && t.Received == packets
			}
		}
		if complete || now == received { // nothing more is coming
			return out, nil
		}
		received = now
		if err := sleep(ctx, stillComing); err != nil {
			return nil, err
		}
	}
}

// stillComing is how long a train may pause without being over.
const stillComing = 60 * time.Millisecond

// reverse has the far end send n trains, spaced from start to start.
func (s *session) reverse(ctx context.Context, n, packets, size int, spacing time.Duration) ([]measured, error) {
	first := s.reverseID + 1
	for range n {
		s.reverseID++
		s.write(packet{kind: kindSend, cookie: s.cookie, id: s.reverseID, count: uint32(packets), size: uint32(size)}.small())
		if err := sleep(ctx, spacing); err != nil {
			return nil, err
		}
	}
	deadline := time.Now().Add(s.wait + sendTimeout)
	silent := time.Now().Add(s.wait)
	for seen := 0; time.Now().Before(silent) && time.Now().Before(deadline); {
		packets, complete := s.trains.progress(s.reverseID)
		if complete {
			break
		}
		if packets > seen {
			seen, silent = packets, time.Now().Add(stillComing)
		}
		if err := sleep(ctx, 2*time.Millisecond); err != nil {
			return nil, err
		}
	}
	o, err := s.observe(ctx)
	if err != nil {
		return nil, err
	}
	busy := make(map[uint32]time.Duration, n)
	for _, sent := range o.Sent {
		busy[sent.ID] = sent.Busy
	}
	var out []measured
	for _, t := range s.trains.trains() {
		if took, known := busy[t.ID]; known && t.ID >= first {
			out = append(out, measured{t, took})
		}
	}
	return out, nil
}

// helperTimeout is how long the far end may take for an answer: ten times what
// it takes on long paths, and bearable if it never comes.
const helperTimeout = 3 * time.Second

func (s *session) observe(ctx context.Context) (Observed, error) {
	ctx, cancel := context.WithTimeout(ctx, helperTimeout)
	defer cancel()
	o, err := s.helper.Observed(ctx, s.ticket.Cookie)
	if err != nil {
		return Observed{}, fmt.Errorf("ask the far end what it saw: %w", err)
	}
	return o, nil
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

// mtus probes the path MTU both ways at once, as far as each end can set DF. It
// tells whether the far end answers at all.
func (s *session) mtus(ctx context.Context, way route, e *Estimate) (answers bool, err error) {
	var far Observed
	group, probing := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		far, err = s.observe(probing)
		return err
	})
	group.Go(func() error {
		for range 2 {
			size, err := s.askForward(probing, []int{headerSize + s.overhead})
			if answers = size > 0; answers || err != nil {
				return err
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil || !answers {
		return false, err
	}

	var forward, reverse int
	group, probing = errgroup.WithContext(ctx)
	if canDontFragment {
		group.Go(func() (err error) {
			forward, err = searchMTU(probing, knownLink(way.link), s.askForward)
			return err
		})
	}
	if s.ticket.DontFragment {
		group.Go(func() (err error) {
			reverse, err = searchMTU(probing, knownLink(far.Link), s.askReverse)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return false, err
	}
	if forward > 0 {
		if now, err := routeTo(s.to); err == nil { // the kernel may have learned
			way = now
		}
		e.Forward.MTU = probedMTU(forward, way.link, way.kernel)
	}
	if reverse > 0 {
		if far, err = s.observe(ctx); err != nil {
			return false, err
		}
		e.Reverse.MTU = probedMTU(reverse, far.Link, far.Kernel)
	}
	return true, nil
}

// knownLink is where a search starts: at the interface's MTU, or, where that is
// unknown, at the largest in common use.
func knownLink(mtu int) int {
	if mtu < headerSize+overhead4 || mtu > maxPacket {
		return 9216
	}
	return mtu
}
