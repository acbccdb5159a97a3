package nfs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/nfs/rpc"
	"github.com/fullbore/fullbore/unit"
)

// Load is what a test does with a file.
type Load struct {
	Op       Op            // what each request does
	Writes   float64       // share of a read test's requests that are writes instead, 0 to 1
	Size     int           // bytes of each read and write
	Random   bool          // offsets by chance; else each reads on where the last one stopped, over all connections, from a place by chance
	Span     int64         // bytes of the file that are used, from its beginning; 0: all
	Depth    int           // requests on their way, over all connections
	Duration time.Duration // of the measured time
	Omit     time.Duration // before it, not measured
	Seed     uint64        // of the chance; 0: another one each time, so that the server does not have in memory what the last test read
	Check    func(offset int64, part []byte) error
	Discard  bool // have the kernel drop what is read, without a copy, where it does that (Linux, MSG_TRUNC); not with Check

	Coalesce bool // take answers several at a time ([rpc.Conn.Coalesce])

	// Far asks the server's host what processor time it has used; nil: nobody can.
	Far func(context.Context) (Processor, error)

	ReadAhead *unit.Size // bytes that a client reads ahead of a program, which Size and Depth follow from ([Load.ReadsAhead]); nil: they stand for themselves
}

// Processor is what a server's host had used of its processors' time at one instant: the
// process that was asked, and all of the host (0: not known).
type Processor struct {
	At            time.Time
	Process, Host time.Duration
}

// InOrderFrom is from which size on, in bytes, requests are one behind the other unless asked
// for otherwise: who reads in order reads more at once.
const InOrderFrom = 64 << 10

// Latency is how long requests took: a histogram (G. Tene's HDR) with three digits, from
// 1 µs to a minute.
type Latency = hdrhistogram.Histogram

// NewLatency is an empty one.
func NewLatency() *Latency {
	const least, most, digits = 1, int64(time.Minute / time.Microsecond), 3
	return hdrhistogram.New(least, most, digits) // in µs
}

// Share is what one connection had of a test.
type Share struct {
	Requests int64
	Bytes    int64
	Delays   int64 // requests that the server asked to be sent again later
}

// Connection is what one connection had of a test, and what its kernel said of it.
type Connection struct {
	Share
	TCP    *bulk.TCPInfo // at the end of the measured time; nil: this kernel does not say
	Repeat int64         // packets that this end sent again in the measured time
	Wire   int64         // bytes of data that TCP moved in it, in the larger direction: with the heads of calls and answers
}

// Window is what the connection's windows let through in a round trip, in the direction
// of reads or of writes; 0: not known.
func (c *Connection) Window(op Op) unit.Size {
	switch {
	case c.TCP == nil:
		return 0
	case op == Write:
		return unit.Size(min(c.TCP.SndWnd, c.TCP.SndCwnd*c.TCP.SndMSS))
	}
	return unit.Size(c.TCP.ReceiveWindow())
}

// Figures are what came of a test, in its measured time.
type Figures struct {
	Share
	Elapsed     time.Duration
	Latency     *Latency
	Waited      time.Duration // of all requests together: over Elapsed, it is how many were on their way (Little's law)
	Connections []Connection
	CPU         time.Duration // processor time of this process; 0: not known
	Far         *Cost         // of the server's host; nil: not known
	Each        []Stretch     // of about a second each, one behind the other; what is shorter at the end is not among them
}

// Cost is processor time in the measured time.
type Cost struct{ Process, Host time.Duration }

// Stretch is what was answered in a part of the measured time.
type Stretch struct {
	Until    time.Duration // since the measured time began
	Requests int64
	Bytes    int64
}

// Rate is how many requests were answered a second.
func (f *Figures) Rate() float64 { return float64(f.Requests) / f.Elapsed.Seconds() }

// InFlight is how many requests were on their way on average, by Little's law (J. D. C.
// Little, Operations Research 9, 1961): the rate times the mean latency.
func (f *Figures) InFlight() float64 { return f.Waited.Seconds() / f.Elapsed.Seconds() }

// run is a test that runs.
type run struct {
	*Mount
	Load
	began    time.Time
	next     atomic.Int64 // block, of sequential offsets
	blocks   int64
	data     []byte // that is written
	requests atomic.Int64
	bytes    atomic.Int64
	cpu      [2]time.Duration // at the measured time's beginning and end; 0: not known
	far      [2]Processor     // as well
	tcp      [2][]*bulk.TCPInfo
	each     []Stretch
}

// Run does what load says. Watch, if there is one, hears once a second how many requests
// and bytes there were since the beginning of the measured time.
func (m *Mount) Run(ctx context.Context, load Load, watch func(elapsed time.Duration, requests, bytes int64)) (*Figures, error) {
	if load.Seed == 0 {
		load.Seed = rand.Uint64()
	}
	r := &run{Mount: m, Load: load, blocks: 1, began: time.Now()}
	if err := r.fits(); err != nil {
		return nil, err
	}
	r.next.Store(rand.New(rand.NewPCG(load.Seed, uint64(len(m.conns)))).Int64N(r.blocks))
	if load.Op == Write || load.Writes > 0 {
		r.data = make([]byte, load.Size)
		_, _ = rand.NewChaCha8([32]byte{byte(load.Seed)}).Read(r.data) // never fails; a server is not to save it by being all zeros
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := make([]*part, len(m.conns))
	var done sync.WaitGroup
	for i, c := range m.conns {
		p := &part{run: r, number: i, latency: NewLatency(), chance: rand.New(rand.NewPCG(load.Seed, uint64(i)))}
		slots := (load.Depth - i + len(m.conns) - 1) / len(m.conns)
		p.flights = make([]Request, slots)
		parts[i] = p
		c.Discard, c.Coalesce = r.Discard, r.Coalesce
		done.Go(func() {
			if err := c.Pipeline(ctx, slots, p); err != nil {
				cancel(fmt.Errorf("connection %d: %w", i+1, err))
			}
		})
	}
	done.Go(func() { r.account(ctx) })
	ended := make(chan struct{})
	var told sync.WaitGroup
	told.Go(func() { r.report(ended, watch) })
	done.Wait()
	close(ended)
	told.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return r.figures(parts), nil
}

// account reads what the measured time costs.
func (r *run) account(ctx context.Context) {
	var asking sync.WaitGroup // the answer takes its time, and has its own clock
	defer asking.Wait()
	for i, wait := range [...]time.Duration{r.Omit, r.Duration} {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		if times, err := host.ReadCPU(); err == nil {
			r.cpu[i] = times.User + times.System
		}
		for _, c := range r.conns {
			r.tcp[i] = append(r.tcp[i], inspect(c.Net()))
		}
		if r.Far != nil {
			asking.Go(func() { r.far[i], _ = r.Far(ctx) }) // without it, it is not known
		}
	}
}

func inspect(c net.Conn) *bulk.TCPInfo {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	info, err := bulk.Inspect(socket)
	if err != nil {
		return nil
	}
	return &info
}

// fits checks the load against what the server grants.
func (r *run) fits() error {
	most := r.MaxRead
	if r.Op == Write || r.Writes > 0 {
		most = min(most, r.MaxWrite)
	}
	transfers := r.Op == Read || r.Op == Write
	switch {
	case r.Depth < len(r.conns):
		return fmt.Errorf("%d requests in flight are too few for %d connections", r.Depth, len(r.conns))
	case r.Slots > 0 && r.Depth > r.Slots:
		return fmt.Errorf("the server grants %d slots, too few for %d requests in flight", r.Slots, r.Depth)
	case !transfers:
		return nil
	case r.Size < 1 || r.Size > most:
		return fmt.Errorf("%d bytes a request: the server takes 1 to %d", r.Size, most)
	case r.Op == Read && r.Grant.Size < int64(r.Size):
		return fmt.Errorf("the file has %d bytes, and each read is to have %d", r.Grant.Size, r.Size)
	}
	span := r.Grant.Size
	if r.Span > 0 {
		span = min(span, r.Span)
	}
	r.blocks = max(1, span/int64(r.Size))
	return nil
}

// report notes once a second how far the run is, and tells whoever watches.
func (r *run) report(ended <-chan struct{}, watch func(time.Duration, int64, int64)) {
	each := time.NewTicker(time.Second)
	defer each.Stop()
	var requests, bytes int64 // until the stretch
	for {
		select {
		case <-ended:
			return
		case <-each.C:
		}
		elapsed := time.Since(r.began) - r.Omit
		if elapsed <= time.Second/2 {
			continue
		}
		now := Stretch{elapsed, r.requests.Load(), r.bytes.Load()}
		if elapsed <= r.Duration { // what is answered later is not counted
			r.each = append(r.each, Stretch{elapsed, now.Requests - requests, now.Bytes - bytes})
			requests, bytes = now.Requests, now.Bytes
		}
		if watch != nil {
			watch(elapsed, now.Requests, now.Bytes)
		}
	}
}

func (r *run) figures(parts []*part) *Figures {
	f := &Figures{Elapsed: r.Duration, Latency: NewLatency(), Each: r.each}
	if r.cpu[1] > 0 {
		f.CPU = r.cpu[1] - r.cpu[0]
	}
	// Questions take their time to get there: what was used between them is taken as a rate.
	if took := r.far[1].At.Sub(r.far[0].At); !r.far[0].At.IsZero() && took > 0 {
		share := float64(r.Duration) / float64(took)
		part := func(before, after time.Duration) time.Duration {
			return time.Duration(share * float64(max(0, after-before)))
		}
		f.Far = &Cost{part(r.far[0].Process, r.far[1].Process), part(r.far[0].Host, r.far[1].Host)}
	}
	for _, p := range parts {
		f.Latency.Merge(p.latency)
		f.Waited += p.waited
		f.Requests += p.share.Requests
		f.Bytes += p.share.Bytes
		f.Delays += p.share.Delays
		c := Connection{Share: p.share}
		if at := p.number; len(r.tcp[1]) > at && r.tcp[0][at] != nil && r.tcp[1][at] != nil {
			c.TCP = r.tcp[1][at]
			before := r.tcp[0][at]
			c.Repeat = int64(c.TCP.TotalRetrans - before.TotalRetrans)
			c.Wire = int64(max(c.TCP.BytesReceived-before.BytesReceived, c.TCP.BytesAcked-before.BytesAcked))
		}
		f.Connections = append(f.Connections, c)
	}
	return f
}

// part is what one connection does of a test.
type part struct {
	*run
	number  int
	chance  *rand.Rand
	flights []Request
	share   Share
	latency *Latency
	waited  time.Duration
	got     outcome
	now     time.Time
}

// Now is told what time it is.
func (p *part) Now(at time.Time) { p.now = at }

// slot is the number of a connection's slot among those of all: connections take turns.
func (p *part) slot(i int) int { return i*len(p.conns) + p.number }

func (p *part) Call(w *rpc.Writer, i int) *rpc.Procedure {
	slot := p.slot(i)
	if p.flights[i].Size < 0 { // the server asked to have it again
		p.flights[i].Size = -p.flights[i].Size
		return p.protocol.call(w, slot, p.flights[i], p.data)
	}
	if p.now.Sub(p.began) >= p.Omit+p.Duration || !p.wanted(slot) {
		return nil
	}
	q := Request{Op: p.Op, Size: p.Size}
	if p.Writes > 0 && p.chance.Float64() < p.Writes {
		q.Op = Write
	}
	if p.Random {
		q.Offset = p.chance.Int64N(p.blocks) * int64(p.Size)
	} else {
		q.Offset = (p.next.Add(1) - 1) % p.blocks * int64(p.Size)
	}
	p.flights[i] = q
	return p.protocol.call(w, slot, q, p.data)
}

func (p *part) wanted(slot int) bool { return p.protocol.wanted(slot) }

func (p *part) Answer(r *rpc.Reader, i int) (again time.Duration, err error) {
	q := p.flights[i]
	var wrong error
	var take func([]byte)
	if p.Check != nil && q.Op == Read {
		at := q.Offset
		take = func(part []byte) {
			if wrong == nil {
				wrong = p.Check(at, part)
			}
			at += int64(len(part))
		}
	}
	if p.got, err = p.protocol.answer(r, p.slot(i), q, take); err != nil || wrong != nil {
		return 0, errors.Join(err, wrong)
	}
	if p.got.again > 0 {
		p.share.Delays++
		p.flights[i].Size = -max(1, q.Size)
		return p.got.again, nil
	}
	if (q.Op == Read || q.Op == Write) && p.got.size != q.Size {
		return 0, fmt.Errorf("%v of %d bytes at %d: the server did %d of them; was the file made shorter?", q.Op, q.Size, q.Offset, p.got.size)
	}
	return 0, nil
}

func (p *part) Done(_ int, took time.Duration) {
	if at := p.now.Sub(p.began) - p.Omit; at < 0 || at > p.Duration {
		return
	}
	_ = p.latency.RecordValue(min(max(1, took.Microseconds()), p.latency.HighestTrackableValue())) // it is within
	p.waited += took
	p.share.Requests++
	p.share.Bytes += int64(p.got.size)
	p.requests.Add(1)
	p.bytes.Add(int64(p.got.size))
}
