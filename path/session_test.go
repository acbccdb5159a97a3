package path

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pretender is a far end, and the path to it, in virtual time: what a session sends
// comes to it, and what it answers comes to the session.
type pretender struct {
	t                *testing.T
	s                *session
	forward, reverse int           // largest packets that pass, IP bytes
	delay            time.Duration // there and back
	gap              time.Duration // between two packets of a train that arrive
	deaf             int           // so many datagrams are not heard at first
	breaks           bool          // after the first probe, the way forward is no more
	lost             func(id, seq uint32) bool
	odd              []Train // that it says it has received as well
	forgets          bool    // which trains it has sent
	fails            int     // which of its answers is an error
	far              Observed

	mu     sync.Mutex
	free   time.Duration // when its link has room for the next packet
	heard  []int         // sizes of what came, IP bytes
	probes []int         // those of probes among them
	asked  int           // how often it was asked what it saw
	trains recorder
	sent   []Sent
}

var errFar = errors.New("the far end has no time")

// pretend begins a session with it. A path of 1500 bytes and 10 ms without loss is
// the start.
func pretend(t *testing.T) *pretender {
	p := &pretender{t: t, forward: 1500, reverse: 1500, delay: 10 * time.Millisecond, lost: func(uint32, uint32) bool { return false }}
	p.far = Observed{Link: 1500, Kernel: 1500}
	p.s = &session{
		to: netip.MustParseAddr("127.0.0.1"), helper: p, ticket: Ticket{Cookie: "c", DontFragment: true}, cookie: cookie{1, 2, 3},
		overhead: overhead4, wait: 100 * time.Millisecond, got: make(chan int, 256), padded: make(chan int, 256),
		send: p.hear, train: p.hearTrain,
	}
	return p
}

func (p *pretender) OpenProbe(context.Context) (Ticket, error) { return p.s.ticket, nil }

func (p *pretender) Observed(ctx context.Context, cookie string) (Observed, error) {
	if err := sleep(ctx, p.delay); err != nil {
		return Observed{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if p.asked == p.fails || cookie != p.s.ticket.Cookie {
		return Observed{}, errFar
	}
	o := p.far
	o.Received = append(p.trains.trains(), p.odd...)
	if !p.forgets {
		o.Sent = slices.Clone(p.sent)
	}
	return o, nil
}

// say lets the session have a packet, some time from now.
func (p *pretender) say(after time.Duration, q packet, size int) {
	time.AfterFunc(after, func() { p.s.take(datagram{head: q.small(), size: size - overhead4, at: p.now()}) })
}

// now is the time since an epoch.
func (p *pretender) now() time.Duration { return time.Duration(time.Now().UnixNano()) }

func (p *pretender) hear(b []byte) {
	size := len(b) + overhead4
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, size)
	q, err := parse(b)
	if err != nil || q.cookie != p.s.cookie {
		p.t.Errorf("it came %+v (%v)", q, err)
	}
	if len(p.heard) <= p.deaf {
		return
	}
	switch q.kind {
	case kindProbe:
		if int(q.size) != size {
			p.t.Errorf("a probe of %d bytes says that it has %d", size, q.size)
		}
		p.probes = append(p.probes, size)
		if size <= p.forward {
			q.kind = kindGot
			p.say(p.delay, q, headerSize+overhead4)
		}
		if p.breaks {
			p.forward = 0
		}
	case kindWant:
		if size != headerSize+overhead4 {
			p.t.Errorf("it is asked for a packet by one of %d bytes", size)
		}
		if int(q.size) <= p.reverse {
			q.kind = kindPadded
			p.say(p.delay, q, int(q.size))
		}
	case kindSend:
		q.kind = kindData
		for q.seq = range q.count {
			if !p.lost(q.id, q.seq) {
				p.free = max(p.free, p.now()+p.delay)
				p.say(p.free-p.now(), q, int(q.size))
				p.free += p.gap
			}
		}
		p.sent = append(p.sent, Sent{q.id, int(q.count), time.Duration(q.id) * time.Millisecond})
	default:
		p.t.Errorf("it came %+v", q)
	}
}

func (p *pretender) hearTrain(datagrams []byte, size int) (time.Duration, error) {
	i := time.Duration(0)
	for b := range slices.Chunk(datagrams, size) {
		q, err := parse(b)
		if err != nil || q.kind != kindData || q.cookie != p.s.cookie {
			p.t.Errorf("a train has %+v (%v)", q, err)
		}
		if !p.lost(q.id, q.seq) {
			time.AfterFunc(p.delay+i*p.gap, func() { p.trains.add(q, p.now(), size+overhead4, 0) })
		}
		i++
	}
	time.Sleep(4 * time.Millisecond)
	return 3 * time.Millisecond, nil
}

// How the path MTU is probed both ways, and what is said of it.
func TestMTUs(t *testing.T) {
	before := Estimate{Forward: Direction{MTU: MTU{Bytes: 1, Method: "kernel"}}, Reverse: Direction{MTU: MTU{Bytes: 2, Method: "kernel"}}}
	lo, err := routeTo(netip.MustParseAddr("127.0.0.1")) // what is known of the way is asked for again
	if err != nil {
		t.Fatal(err)
	}
	const vanish = "packets above %d bytes vanish without an ICMP error"
	for _, c := range []struct {
		name             string
		change           func(*pretender)
		forward, reverse MTU
		answers          bool
		err              error
	}{
		{"both ways", func(*pretender) {}, probedMTU(1500, lo.link, lo.kernel), probedMTU(1500, 1500, 1500), true, nil},
		{"a black hole forward", func(p *pretender) { p.forward = 1417 }, probedMTU(1417, lo.link, lo.kernel), probedMTU(1500, 1500, 1500), true, nil},
		{"a black hole back", func(p *pretender) { p.reverse = 1417 }, probedMTU(1500, lo.link, lo.kernel),
			MTU{Bytes: 1417, Link: 1500, Method: "udp probe", BlackHole: true, Note: fmt.Sprintf(vanish, 1417)}, true, nil},
		{"jumbo frames back", func(p *pretender) { p.reverse, p.far.Link, p.far.Kernel = 9000, 9000, 9000 }, probedMTU(1500, lo.link, lo.kernel), probedMTU(9000, 9000, 9000), true, nil},
		{"the far end cannot set DF", func(p *pretender) { p.s.ticket.DontFragment = false }, probedMTU(1500, lo.link, lo.kernel), before.Reverse.MTU, true, nil},
		{"nothing but the smallest forward", func(p *pretender) { p.forward = 68 }, probedMTU(68, lo.link, lo.kernel), probedMTU(1500, 1500, 1500), true, nil},
		{"the way forward breaks", func(p *pretender) { p.breaks = true }, before.Forward.MTU, probedMTU(1500, 1500, 1500), true, nil},
		{"nothing back", func(p *pretender) { p.reverse = 0 }, probedMTU(1500, lo.link, lo.kernel), before.Reverse.MTU, true, nil},
		{"the first question is lost", func(p *pretender) { p.deaf = 2 }, probedMTU(1500, lo.link, lo.kernel), probedMTU(1500, 1500, 1500), true, nil},
		{"nobody answers", func(p *pretender) { p.forward = 0 }, before.Forward.MTU, before.Reverse.MTU, false, nil},
		{"the helper fails at first", func(p *pretender) { p.fails = 1 }, before.Forward.MTU, before.Reverse.MTU, false, errFar},
		{"the helper fails in the end", func(p *pretender) { p.fails = 2 }, probedMTU(1500, lo.link, lo.kernel), before.Reverse.MTU, false, errFar},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pretend(t)
				p.delay = 5 * time.Millisecond
				c.change(p)
				e := before
				answers, err := p.s.mtus(t.Context(), route{link: 1500, kernel: 1500}, &e)
				if answers != c.answers || !errors.Is(err, c.err) {
					t.Errorf("answers %v (%v), want %v (%v)", answers, err, c.answers, c.err)
				}
				if diff := cmp.Diff([]MTU{c.forward, c.reverse}, []MTU{e.Forward.MTU, e.Reverse.MTU}); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if c.name == "both ways" && !slices.Equal(p.probes, []int{headerSize + overhead4, 1500}) {
					t.Errorf("probes of %v bytes: one would have done, and one of the link's size", p.probes)
				}
				if !c.answers && c.err == nil && len(p.heard) != 4 {
					t.Errorf("it was asked %d times without an answer, want twice with two copies each", len(p.heard))
				}
			})
		})
	}
}

// A search starts at the interface's MTU, if that can be one.
func TestKnownLink(t *testing.T) {
	for mtu, want := range map[int]int{0: 9216, 67: 9216, 68: 68, 1500: 1500, 65535: 65535, 65536: 9216} {
		if got := knownLink(mtu); got != want {
			t.Errorf("with an interface of %d bytes: %d, want %d", mtu, got, want)
		}
	}
}

// Each size is sent twice, unless it or a larger one was answered in between, and no
// longer waited for than needed.
func TestAsk(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name    string
		sizes   []int
		forward int
		delay   time.Duration
		want    int
		heard   []int
		took    time.Duration
	}{
		{"the largest at once", []int{1500}, 1500, 5 * ms, 1500, []int{1500}, 5 * ms},
		{"the largest of several", []int{1500, 1400, 1300}, 1500, 5 * ms, 1500, []int{1500, 1400, 1300}, 5 * ms},
		{"the largest, later", []int{1500}, 1500, 50 * ms, 1500, []int{1500, 1500}, 50 * ms},
		{"a smaller one at once", []int{1500, 1400, 1300}, 1400, 5 * ms, 1400, []int{1500, 1400, 1300, 1500}, 120 * ms},
		{"a smaller one later", []int{1500, 1400}, 1400, 50 * ms, 1400, []int{1500, 1400, 1500, 1400}, 120 * ms},
		{"none", []int{1500, 1400}, 0, 50 * ms, 0, []int{1500, 1400, 1500, 1400}, 120 * ms},
		{"too late", []int{1500}, 1500, 121 * ms, 0, []int{1500, 1500}, 120 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := pretend(t)
			p.forward, p.delay = c.forward, c.delay
			began := time.Now()
			got, err := p.s.askForward(t.Context(), c.sizes)
			if took := time.Since(began); got != c.want || err != nil || took != c.took || !slices.Equal(p.heard, c.heard) {
				t.Errorf("%s: %d (%v) after %v and packets of %v, want %d after %v and %v", c.name, got, err, took, p.heard, c.want, c.took, c.heard)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := pretend(t)
		p.forward = 0
		ctx, cancel := context.WithTimeout(t.Context(), 30*ms)
		defer cancel()
		began := time.Now()
		if got, err := p.s.askForward(ctx, []int{1500}); got != 0 || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 30*ms {
			t.Errorf("%d (%v) after %v", got, err, time.Since(began))
		}
	})
}

// received are the trains by number, with the packets of each and how long it took to
// send it.
func received(trains []measured) (text []string) {
	for _, m := range trains {
		text = append(text, fmt.Sprintf("%d: %d of %d, %v", m.ID, m.Received, m.Sent, m.busy))
	}
	return text
}

// Trains to the far end: spaced from start to start, numbered on, and asked for until
// nothing more is coming.
func TestForwardTrains(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name   string
		change func(*pretender)
		want   []string
		asked  int
		took   time.Duration
		err    error
	}{
		{"whole", func(*pretender) {}, []string{"1: 20 of 20, 3ms", "2: 20 of 20, 3ms", "3: 20 of 20, 3ms"}, 1, 3*50*ms + 10*ms, nil},
		{"the last is cut", func(p *pretender) { p.lost = func(id, seq uint32) bool { return id == 3 && seq > 4 } },
			[]string{"1: 20 of 20, 3ms", "2: 20 of 20, 3ms", "3: 5 of 20, 3ms"}, 2, 3*50*ms + 10*ms + stillComing + 10*ms, nil},
		{"the first is cut", func(p *pretender) { p.lost = func(id, seq uint32) bool { return id == 1 && seq > 4 } },
			[]string{"1: 5 of 20, 3ms", "2: 20 of 20, 3ms", "3: 20 of 20, 3ms"}, 1, 3*50*ms + 10*ms, nil},
		{"the last is lost", func(p *pretender) { p.lost = func(id, _ uint32) bool { return id == 3 } },
			[]string{"1: 20 of 20, 3ms", "2: 20 of 20, 3ms"}, 2, 3*50*ms + 10*ms + stillComing + 10*ms, nil},
		// The last train is on its way for 200 ms: what came is counted every 70.
		{"slow", func(p *pretender) { p.gap = 11 * ms; p.lost = func(id, _ uint32) bool { return id < 3 } },
			[]string{"3: 20 of 20, 3ms"}, 4, 3*50*ms + 4*10*ms + 3*stillComing, nil},
		// Of the last train one packet is there when it is first asked, then two, and four.
		{"very slow, and cut", func(p *pretender) { p.gap = 61 * ms; p.lost = func(id, seq uint32) bool { return id < 3 || seq > 3 } },
			[]string{"3: 4 of 20, 3ms"}, 4, 3*50*ms + 4*10*ms + 3*stillComing, nil},
		{"with others", func(p *pretender) {
			p.odd = []Train{{ID: 99, Sent: 20, Received: 20, Bytes: 20 * 1500}, {ID: 2, Sent: 20, Received: 21}, {ID: 3, Sent: 20, Received: 20, Bytes: 20 * 1501}}
		}, []string{"1: 20 of 20, 3ms", "2: 20 of 20, 3ms", "3: 20 of 20, 3ms"}, 1, 3*50*ms + 10*ms, nil},
		{"the helper fails", func(p *pretender) { p.fails = 1 }, nil, 1, 3*50*ms + 10*ms, errFar},
		{"the helper fails later", func(p *pretender) { p.fails = 2; p.lost = func(uint32, uint32) bool { return true } }, nil, 2, 3*50*ms + 10*ms + stillComing + 10*ms, errFar},
		{"it cannot be sent", func(p *pretender) {
			p.s.train = func([]byte, int) (time.Duration, error) { return 0, errFar }
		}, nil, 0, 0, errFar},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pretend(t)
				c.change(p)
				began := time.Now()
				got, err := p.s.forward(t.Context(), 3, 20, 1500, 50*ms)
				if diff := cmp.Diff(c.want, received(got)); diff != "" || !errors.Is(err, c.err) {
					t.Errorf("error %v, (-want +got):\n%s", err, diff)
				}
				if took := time.Since(began); took != c.took || p.asked != c.asked {
					t.Errorf("after %v, asked %d times; want %v and %d", took, p.asked, c.took, c.asked)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := pretend(t)
		for first := range 2 {
			got, err := p.s.forward(t.Context(), 1, 20, 1500, 50*ms)
			if diff := cmp.Diff([]string{fmt.Sprintf("%d: 20 of 20, 3ms", first+1)}, received(got)); diff != "" || err != nil {
				t.Errorf("error %v, (-want +got):\n%s", err, diff)
			}
		}
		for _, after := range []time.Duration{20 * ms, 90 * ms} { // between trains, and when all were sent
			ctx, cancel := context.WithTimeout(t.Context(), after)
			p.lost = func(uint32, uint32) bool { return true }
			began := time.Now()
			if got, err := p.s.forward(ctx, 1, 20, 1500, 50*ms); !errors.Is(err, context.DeadlineExceeded) || got != nil || time.Since(began) != after {
				t.Errorf("nobody waits any more: %v (%v) after %v", got, err, time.Since(began))
			}
			cancel()
		}
	})
}

// Trains from the far end: until the last packet is there, nothing more comes, or it
// takes too long.
func TestReverseTrains(t *testing.T) {
	const ms = time.Millisecond
	lastOf := func(id uint32) func(*pretender) {
		return func(p *pretender) { p.lost = func(i, seq uint32) bool { return i == id && seq == 19 } }
	}
	for _, c := range []struct {
		name   string
		change func(*pretender)
		want   []string
		took   time.Duration // without the answer of the helper
		err    error
	}{
		{"whole", func(p *pretender) { p.gap = ms }, []string{"1: 20 of 20, 1ms", "2: 20 of 20, 2ms"}, 100 * ms, nil},
		{"slower than the spacing", func(p *pretender) { p.gap = 3 * ms }, []string{"1: 20 of 20, 1ms", "2: 20 of 20, 2ms"}, 10*ms + 39*3*ms, nil},
		{"the last packet is lost", func(p *pretender) { p.gap = 3 * ms; lastOf(2)(p) }, []string{"1: 20 of 20, 1ms", "2: 19 of 20, 2ms"}, 10*ms + 38*3*ms + stillComing, nil},
		{"one before is lost", func(p *pretender) { p.gap = ms; lastOf(1)(p) }, []string{"1: 19 of 20, 1ms", "2: 20 of 20, 2ms"}, 100 * ms, nil},
		// Packets of the second train come each 100 ms, from 60 ms on: after the last but one, three times that is waited.
		{"a slow link, and the last packet is lost", func(p *pretender) {
			p.delay, p.gap = 11*ms, 100*ms
			p.lost = func(id, seq uint32) bool { return id == 1 || seq > 3 }
		}, []string{"2: 4 of 20, 2ms"}, 60*ms + 3*100*ms + 300*ms, nil},
		{"late, all at once, and the last packet is lost", func(p *pretender) {
			p.delay = 201 * ms
			p.lost = func(id, seq uint32) bool { return id == 1 || seq == 19 }
		}, []string{"2: 19 of 20, 2ms"}, 50*ms + 201*ms + stillComing, nil},
		{"nothing comes", func(p *pretender) { p.lost = func(uint32, uint32) bool { return true } }, nil, 100*ms + 100*ms + firstPacket, nil},
		{"it never ends", func(p *pretender) { p.gap = 290 * ms; p.lost = func(id, _ uint32) bool { return id == 1 } }, []string{"2: 18 of 20, 2ms"}, 100*ms + 100*ms + longestTrain, nil},
		{"the far end does not say what it sent", func(p *pretender) { p.forgets = true }, nil, 100 * ms, nil},
		{"the helper fails", func(p *pretender) { p.fails = 1 }, nil, 100 * ms, errFar},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pretend(t)
				c.change(p)
				began := time.Now()
				got, err := p.s.reverse(t.Context(), 2, 20, 1500, 50*ms)
				if diff := cmp.Diff(c.want, received(got)); diff != "" || !errors.Is(err, c.err) {
					t.Errorf("error %v, (-want +got):\n%s", err, diff)
				}
				if took := time.Since(began) - p.delay; took < c.took || took > c.took+4*ms { // it looks every 2 ms
					t.Errorf("after %v, want %v", took, c.took)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := pretend(t)
		for first := range 2 { // numbered on, and each time only its own
			got, err := p.s.reverse(t.Context(), 1, 20, 1500, 50*ms)
			if diff := cmp.Diff([]string{fmt.Sprintf("%d: 20 of 20, %dms", first+1, first+1)}, received(got)); diff != "" || err != nil {
				t.Errorf("error %v, (-want +got):\n%s", err, diff)
			}
		}
		for _, after := range []time.Duration{20 * ms, 90 * ms} { // between trains, and while they come
			ctx, cancel := context.WithTimeout(t.Context(), after)
			p.lost = func(uint32, uint32) bool { return true }
			began := time.Now()
			if got, err := p.s.reverse(ctx, 1, 20, 1500, 50*ms); !errors.Is(err, context.DeadlineExceeded) || got != nil || time.Since(began) != after {
				t.Errorf("nobody waits any more: %v (%v) after %v", got, err, time.Since(began))
			}
			cancel()
		}
	})
}

// Only packets of this session's cookie, and of a far end, are taken.
func TestTake(t *testing.T) {
	p := pretend(t)
	s := p.s
	for _, q := range []packet{
		{kind: kindGot, cookie: cookie{9}, size: 1}, {kind: kindPadded, cookie: cookie{9}, size: 2},
		{kind: kindProbe, cookie: s.cookie, size: 3}, {kind: kindWant, cookie: s.cookie, size: 4},
		{kind: kindGot, cookie: s.cookie, size: 5}, {kind: kindPadded, cookie: s.cookie, size: 6},
		{kind: kindData, cookie: s.cookie, id: 1, count: 2, size: 7}, {kind: kindData, cookie: cookie{9}, id: 2, count: 2, size: 8},
	} {
		s.take(datagram{head: q.small(), size: 1000, at: 5, lost: 3})
	}
	s.take(datagram{head: []byte("hello")})
	if len(s.got) != 1 || <-s.got != 5 || len(s.padded) != 1 || <-s.padded != 1000+overhead4 {
		t.Errorf("%d and %d answers are left", len(s.got), len(s.padded))
	}
	want := []Train{{ID: 1, Sent: 2, Received: 1, Bytes: 1000 + overhead4, Overflow: 3, First: 5, Last: 5}}
	if diff := cmp.Diff(want, s.trains.trains()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range 2 * cap(s.got) { // what nobody takes is dropped
		s.take(datagram{head: packet{kind: kindGot, cookie: s.cookie, size: 5}.small()})
	}
	for slowest, want := range map[time.Duration]time.Duration{0: 50 * time.Millisecond, 100 * time.Millisecond: 175 * time.Millisecond, 10 * time.Second: 2 * time.Second} {
		if got := answerWithin(slowest); got != want {
			t.Errorf("with handshakes of up to %v: %v, want %v", slowest, got, want)
		}
	}
}

// A pause that is none, or that is over, does not hide that nobody waits any more.
func TestSleep(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		for _, d := range []time.Duration{-1, 0, time.Hour} {
			if err := sleep(ended, d); !errors.Is(err, context.Canceled) {
				t.Fatalf("for %v: %v", d, err)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for _, d := range []time.Duration{-time.Second, 0, time.Second} {
			if err := sleep(t.Context(), d); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A session sends each datagram once, and ends when it is closed, though its context
// does not.
func TestSessionOnItsSocket(t *testing.T) {
	far, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	ticket := Ticket{Cookie: cookie{1, 2, 3}.String(), Port: far.LocalAddr().(*net.UDPAddr).AddrPort().Port()}
	s, err := newSession(t.Context(), netip.MustParseAddr("127.0.0.1"), nil, ticket, RTT{})
	if err != nil {
		t.Fatal(err)
	}
	s.send([]byte("one"))
	s.send([]byte("two"))
	if busy, err := s.train([]byte("aaabbbcc"), 3); err != nil || busy <= 0 {
		t.Errorf("train: %v (%v)", busy, err)
	}
	far.SetReadDeadline(time.Now().Add(10 * time.Second))
	var got []string
	b := make([]byte, 100)
	for range 5 {
		n, err := far.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(b[:n]))
	}
	if !slices.Equal(got, []string{"one", "two", "aaa", "bbb", "cc"}) {
		t.Errorf("it came %q", got)
	}
	closed := make(chan struct{})
	go func() { s.close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
	s.send([]byte("three")) // to nobody
	if _, err := s.train([]byte("aaa"), 3); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a train from a closed socket: %v", err)
	}
}
