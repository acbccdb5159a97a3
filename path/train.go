package path

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Train is one packet train as its receiver saw it. Sizes are IP bytes.
type Train struct {
	ID       uint32        `json:"id"`
	Sent     int           `json:"sent"`     // packets, as the sender said
	Received int           `json:"received"` // packets
	Bytes    int64         `json:"bytes"`
	Overflow int           `json:"overflow,omitempty"` // packets that the receiver's own socket had no room for
	First    time.Duration `json:"first_ns"`           // receive time since the epoch
	Last     time.Duration `json:"last_ns"`
	Early    Dispersion    `json:"early"` // the first quarter of what came
	Late     Dispersion    `json:"late"`  // the rest
}

// Dispersion is a number of IP bytes and the time it took them to come in.
type Dispersion struct {
	Bytes int64         `json:"bytes"`
	Time  time.Duration `json:"ns"`
}

// Rate is the rate of the dispersion; 0 when it took no time.
func (d Dispersion) Rate() unit.Rate { return unit.RateOf(d.Bytes, d.Time) }

// Sent is one packet train as its sender saw it.
type Sent struct {
	ID      uint32        `json:"id"`
	Packets int           `json:"packets"`
	Busy    time.Duration `json:"busy_ns"` // time spent sending, waits for room in the socket left out
}

// arrival is one received packet of a train.
type arrival struct {
	at    time.Duration // since the epoch
	bytes int64         // IP bytes
}

// summarise turns arrivals into dispersions.
//
// Packets seldom arrive evenly: a NIC collects them for some 50-100 µs before
// it interrupts, a shaper releases a super-packet of 64 KB at once. The
// arrivals of such a batch say when the batch was released, not when its packets
// left the bottleneck. What is exact is the count of bytes at the end of each
// batch; so rates are taken between the ends of batches. The last batch is left
// out, because it may be a partial one.
//
// The first quarter is kept apart: it holds what a token bucket lets through at
// the rate of the line behind it. A bucket larger than the train cannot be
// distinguished from a faster link.
func (t *Train) summarise(arrivals []arrival) {
	t.Received = len(arrivals)
	if len(arrivals) == 0 {
		return
	}
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	t.First, t.Last = arrivals[0].at, arrivals[len(arrivals)-1].at
	for _, a := range arrivals {
		t.Bytes += a.bytes
	}

	ends := batches(arrivals)
	if len(ends) < 4 { // too few to speak of a rate
		return
	}
	first, last, mid := ends[0], ends[len(ends)-2], ends[0]
	for _, e := range ends {
		if e.bytes > t.Bytes/4 {
			break
		}
		mid = e
	}
	t.Early = Dispersion{mid.bytes - first.bytes, mid.at - first.at}
	t.Late = Dispersion{last.bytes - mid.bytes, last.at - mid.at}
}

// batches gives, for each batch, when it ended and the bytes up to then. A
// packet belongs to the batch before it if it followed in less than half the
// average gap.
func batches(arrivals []arrival) []arrival {
	gap := (arrivals[len(arrivals)-1].at - arrivals[0].at) / time.Duration(max(1, len(arrivals)-1))
	var ends []arrival
	var bytes int64
	for i, a := range arrivals {
		bytes += a.bytes
		if i+1 == len(arrivals) || arrivals[i+1].at-a.at > gap/2 {
			ends = append(ends, arrival{a.at, bytes})
		}
	}
	return ends
}

// recorder keeps what comes in of trains. Only the train that is coming in now
// is kept packet by packet. Safe for concurrent use.
type recorder struct {
	mu       sync.Mutex
	now      Train // ID 0: none
	arrivals []arrival
	seen     []bool
	done     []Train
}

// maxTrains is how many trains are recorded or sent for one ticket. A probe
// takes about 25 each way.
const maxTrains = 128

// add records one packet. Trains are numbered upwards from 1; what comes of an
// earlier one is too late to matter. lost is how many packets the socket
// dropped since the packet before.
func (r *recorder) add(p packet, at time.Duration, bytes int, lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.id < r.now.ID || p.id == 0 {
		return
	}
	if p.id > r.now.ID {
		if len(r.done)+1 >= maxTrains {
			return
		}
		r.close()
		r.now = Train{ID: p.id, Sent: int(p.count)}
		r.arrivals = make([]arrival, 0, p.count)
		r.seen = make([]bool, p.count)
	}
	r.now.Overflow += lost
	if int(p.seq) >= len(r.seen) || r.seen[p.seq] { // the count changed midway, or a duplicate
		return
	}
	r.seen[p.seq] = true
	r.arrivals = append(r.arrivals, arrival{at, int64(bytes)})
}

// close ends the train that is coming in. The caller holds the lock.
func (r *recorder) close() {
	if r.now.ID != 0 {
		r.done = append(r.done, r.summary())
	}
}

func (r *recorder) summary() Train {
	t := r.now
	t.summarise(slices.Clone(r.arrivals))
	return t
}

// trains is everything recorded so far, the train that is coming in included.
func (r *recorder) trains() []Train {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.done)
	if r.now.ID != 0 {
		out = append(out, r.summary())
	}
	return out
}

// progress says how far a train has come: its packets, and whether the last
// one is among them.
func (r *recorder) progress(id uint32) (packets int, complete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.now.ID > id:
		return 0, true
	case r.now.ID < id:
		return 0, false
	}
	return len(r.arrivals), r.seen[len(r.seen)-1]
}
