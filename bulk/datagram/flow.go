package datagram

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// tick is how long a call blocks or a sender sleeps at most: how soon a thread
// notices that it shall stop.
const tick = 50 * time.Millisecond

// errTick is returned by a call that moved nothing for now.
var errTick = errors.New("nothing moved")

// flow is one UDP socket while it is driven.
type flow struct {
	bulk.Conn
	sock   *socket
	header header
	length int   // bytes a datagram
	share  int64 // bytes to send in the measured time, of a transfer of bytes

	mu        sync.Mutex // guards what both its thread and the sampler use
	total     tally
	measuring bool
	before    bulk.Counts   // what came before the measured time
	omitted   int64         // bytes
	last      time.Duration // the last datagram

	ended chan struct{} // its thread has ended

	// The rest belongs to the sampler.
	record bulk.Stream
	latest bulk.Sample
}

// drive moves the flow's datagrams in a thread of its own.
func (f *flow) drive(r *Running) {
	defer close(f.ended)
	move, doing := f.receive, "receive"
	if f.Sender {
		move, doing = f.send, "send"
	}
	if err := bulk.OnThread(f.record.CPUs, func() error { return move(r) }); err != nil {
		r.fail(fmt.Errorf("flow %d with %s: %s: %w", f.ID, f.record.Remote, doing, err))
	}
}

const (
	// unreachableFor is how long ICMP errors may keep coming: one may be about the
	// exchange that opened the flow, or about a route that was just changing.
	unreachableFor = time.Second
	// reachableAfter is how long none has come when it is over. As long as it goes
	// on, Linux sends a host one error a second (net.ipv4.icmp_ratelimit).
	reachableAfter = 3 * time.Second
)

// send sends at the flow's rate until it is stopped or its share is used up.
func (f *flow) send(r *Running) error {
	pace := pacer{r.spec.Rate, f.length, int64(max(1, r.spec.Burst))}
	most := 1 // a call: what a slow flow makes up for must not be lost in one piece
	if pace.rapid() {
		most = batch(f.length)
	}
	datagrams := make([]byte, f.length*most)
	rand.NewChaCha8([32]byte{}).Read(datagrams) //nolint:errcheck // never fails
	sent, refused := int64(0), refusals{}
	for !r.stopped.Load() {
		now := r.now()
		left := f.left(now, r)
		if left == 0 {
			r.sent()
			return nil
		}
		due, wait := pace.due(sent, now)
		if due == 0 {
			sleep(min(wait, tick))
			continue
		}
		n := int(min(due, left, int64(most)))
		clock := time.Duration(r.start.UnixNano()) + now // never steps
		for i := range n {
			f.header.put(datagrams[i*f.length:], sent+int64(i)+1, clock)
		}
		n, err := f.sock.send(datagrams[:n*f.length], f.length)
		switch {
		case err == nil:
			sent += int64(n)
			f.sent(n, r.now(), r)
		case errors.Is(err, errTick):
		case isUnreachable(err): // it was not sent, and goes again
			if refused.last(now) >= unreachableFor {
				return fmt.Errorf("nobody is there any more: %w", err)
			}
			sleep(quantum)
		case isTooLarge(err):
			return fmt.Errorf("a datagram of %d bytes is larger than the path takes in one piece: use a smaller length: %w", f.length, err)
		default:
			return err
		}
	}
	return nil
}

// refusals are the ICMP errors that came back to a sender.
type refusals struct {
	first, latest time.Duration // of those that go on
}

// last notes one that came now, and says for how long they have kept coming.
func (r *refusals) last(now time.Duration) time.Duration {
	if r.latest == 0 || now-r.latest > reachableAfter {
		r.first = now
	}
	r.latest = now
	return now - r.first
}

// left is how many datagrams the flow has still to send.
func (f *flow) left(now time.Duration, r *Running) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn(now, r)
	if r.spec.Bytes == 0 || !f.measuring {
		return 1 << 62
	}
	bytes := max(0, f.share-(f.total.bytes-f.omitted))
	return (bytes + int64(f.length) - 1) / int64(f.length) // whole ones, as iperf3
}

// sent counts n datagrams that were just sent.
func (f *flow) sent(n int, now time.Duration, r *Running) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn(now, r)
	f.total.highest += int64(n)
	f.total.bytes += int64(n) * int64(f.length)
	f.last = now
}

// receive takes what arrives until it is stopped. Silence is no failure: a
// flow may lose everything.
func (f *flow) receive(r *Running) error {
	var batch []arrival
	for !r.stopped.Load() {
		batch = batch[:0]
		short := int64(0)
		highest := f.total.highest // only this thread changes it
		err := f.sock.receive(func(kept []byte, size int, at time.Duration) {
			number, sent, ok := f.header.parse(kept, highest)
			if !ok {
				short++
				return
			}
			batch = append(batch, arrival{number, size, sent, at})
		})
		f.arrived(batch, short, r.now(), r)
		if err != nil && !errors.Is(err, errTick) && !isUnreachable(err) {
			return err
		}
	}
	return nil
}

// arrived counts what was read now.
func (f *flow) arrived(batch []arrival, short int64, now time.Duration, r *Running) {
	f.mu.Lock()
	if r.stopped.Load() {
		f.mu.Unlock()
		return
	}
	was := f.total.bytes
	f.turn(now, r)
	f.total.malformed += short
	measured := int64(0)
	for _, a := range batch {
		size := f.total.bytes
		f.total.add(a, now)
		switch {
		case r.cameEarly(a, now):
			f.omit()
		case f.measuring:
			measured += f.total.bytes - size
		}
	}
	if f.total.bytes > was {
		f.last = now
	}
	f.mu.Unlock()
	if measured > 0 {
		r.received(measured)
	}
}

// longestWait is how long a datagram may have waited in the receive buffer, for a
// thread that had no turn. What seems to have waited for longer came when the
// system's clock was another one: it may step, and this end's time does not.
const longestWait = time.Second

// cameEarly says whether a datagram that was read in the measured time had come
// before it: the path did not bring it in that time. Where nothing is omitted all
// that comes is measured: a far end may begin a little before this one.
func (r *Running) cameEarly(a arrival, now time.Duration) bool {
	came := a.at - time.Duration(r.start.UnixNano())
	return r.spec.Omit > 0 && now >= r.spec.Omit && came < r.spec.Omit && now-came < longestWait
}

// turn begins the measured time when it is due. f.mu is held.
func (f *flow) turn(now time.Duration, r *Running) {
	if f.measuring || now < r.spec.Omit {
		return
	}
	f.measuring = true
	f.omit()
}

// omit counts all that has come so far as omitted. f.mu is held.
func (f *flow) omit() {
	f.before, f.omitted = f.total.counts(), f.total.bytes
	f.total.restart()
}

// datagrams are the flow's results so far. f.mu is held.
func (f *flow) datagrams() *bulk.Datagrams {
	before := f.before
	if !f.measuring {
		before = f.total.counts()
	}
	d := f.total.since(before)
	return &d
}

// look is the state of the flow now.
func (f *flow) look(now time.Duration, r *Running) bulk.Sample {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn(now, r)
	sample := bulk.Sample{At: now, Omitted: !f.measuring, Bytes: f.total.bytes, UDP: f.datagrams()}
	f.sock.inspect(&sample)
	return sample
}

// finish records how the flow ended. Its thread and the sampler have ended.
func (f *flow) finish(r *Running) {
	f.record.Samples = append(f.record.Samples, f.look(r.at, r))
	f.record.Datagrams = f.datagrams()
	f.record.Omitted = f.total.bytes
	if f.measuring {
		f.record.Omitted = f.omitted
		f.record.Began, f.record.Elapsed = r.spec.Omit, max(0, r.at-r.spec.Omit) // its thread may have been beyond r.at
	}
	f.record.Bytes = f.total.bytes - f.record.Omitted
	if r.spec.Bytes > 0 {
		f.record.Elapsed = max(0, f.last-f.record.Began)
	}
	f.sock.describe(&f.record)
}
