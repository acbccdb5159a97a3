package limit

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// world is a client, a path and a server, simulated event by event: what each lets through
// is known, and so is what would help.
type world struct {
	rtt         time.Duration
	link        unit.Rate
	window      int // bytes of each connection
	connections int
	depth       int
	size        int           // bytes
	threads     int           // of the server; a request has one until its answer is sent
	work        time.Duration // of a thread for a request, on average
	disk        time.Duration // of a block that is not in memory, on average; 0: all are
	spindles    int           // blocks that the disk reads at once
	ahead       int           // bytes that the client reads ahead of the one program, which reads in order; -1: programs ask by themselves
	slots       int           // that the server grants; 0: it does not limit them
	known       bool          // the number of threads, to a diagnosis
	seed        uint64
}

// flying is how many requests are in flight: of a program that reads in order, as many as
// there are in two stretches of read-ahead.
func (w world) flying() int {
	n := w.depth
	switch {
	case w.ahead > 0:
		n = 2 * ((w.ahead + w.size - 1) / w.size)
	case w.ahead == 0:
		n = 1
	}
	if w.slots > 0 {
		n = min(n, w.slots)
	}
	return n
}

// simulation is a world that runs.
type simulation struct {
	world
	now      time.Duration
	events   events
	order    int
	chance   *rand.Rand
	workers  station
	platter  station
	linkFree time.Duration
	streams  []stream
	cached   bool
	done     []time.Duration // latencies
	doneAt   []time.Duration
	nulls    []time.Duration
	shakes   []time.Duration
}

// stream is the answers' side of a connection.
type stream struct {
	flying  int // bytes without an acknowledgement
	waiting []*answer
}

type answer struct {
	stream int
	began  time.Duration
	left   int // bytes to be sent
}

// station has places and a queue.
type station struct {
	free  int
	queue []func()
}

func (s *station) take(f func()) {
	if s.free > 0 {
		s.free--
		f()
		return
	}
	s.queue = append(s.queue, f)
}

func (s *station) leave() {
	if len(s.queue) == 0 {
		s.free++
		return
	}
	next := s.queue[0]
	s.queue = s.queue[1:]
	next()
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (s *simulation) after(d time.Duration, do func()) {
	s.order++
	heap.Push(&s.events, event{s.now + d, s.order, do})
}

func (s *simulation) exponential(mean time.Duration) time.Duration {
	return time.Duration(s.chance.ExpFloat64() * float64(mean))
}

// run simulates requests until so many have been answered; cached: all are for one block.
func (w world) run(depth, connections, count int, cached bool) *simulation {
	s := &simulation{world: w, chance: rand.New(rand.NewPCG(w.seed, 5)), cached: cached, streams: make([]stream, connections)}
	s.workers.free, s.platter.free = w.threads, max(1, w.spindles)
	for i := range depth {
		s.after(time.Duration(i)*time.Microsecond, func() { s.request(i % connections) })
	}
	s.after(0, s.null)
	s.after(0, s.handshake)
	for len(s.done) < count {
		next := heap.Pop(&s.events).(event)
		s.now = next.at
		next.do()
	}
	return s
}

func (s *simulation) request(stream int) {
	a := &answer{stream: stream, began: s.now, left: s.size}
	s.after(s.rtt/2, func() {
		s.workers.take(func() {
			s.after(s.exponential(s.work), func() {
				if s.cached || s.disk == 0 {
					s.answered(a)
					return
				}
				s.platter.take(func() {
					s.after(s.exponential(s.disk), func() {
						s.platter.leave()
						s.answered(a)
					})
				})
			})
		})
	})
}

func (s *simulation) answered(a *answer) {
	s.workers.leave()
	st := &s.streams[a.stream]
	st.waiting = append(st.waiting, a)
	s.send(a.stream)
}

// send puts on the link what a connection's window has room for.
func (s *simulation) send(i int) {
	st := &s.streams[i]
	for len(st.waiting) > 0 {
		a := st.waiting[0]
		part := min(a.left, max(1448, s.window/16))
		if st.flying > 0 && st.flying+part > s.window {
			return
		}
		st.flying += part
		a.left -= part
		last := a.left == 0
		if last {
			st.waiting = st.waiting[1:]
		}
		arrives := s.transmit(part) + s.rtt/2
		s.after(arrives, func() {
			s.after(s.rtt/2, func() {
				st.flying -= part
				s.send(i)
			})
			if last {
				s.done = append(s.done, s.now-a.began)
				s.doneAt = append(s.doneAt, s.now)
				s.request(i)
			}
		})
	}
}

// transmit gives after what time bytes have left the link.
func (s *simulation) transmit(bytes int) time.Duration {
	s.linkFree = max(s.linkFree, s.now) + time.Duration(float64(bytes)*8/float64(s.link)*float64(time.Second))
	return s.linkFree - s.now
}

// null calls the server over a connection of its own, again and again.
func (s *simulation) null() {
	began := s.now
	s.after(s.rtt/2, func() {
		s.workers.take(func() {
			s.after(s.work/2, func() {
				s.workers.leave()
				s.after(s.transmit(100)+s.rtt/2, func() {
					s.nulls = append(s.nulls, s.now-began)
					s.after(s.rtt/10+100*time.Microsecond, s.null)
				})
			})
		})
	})
}

func (s *simulation) handshake() {
	began := s.now
	s.after(s.rtt/2, func() {
		s.after(s.transmit(60)+s.rtt/2, func() {
			s.shakes = append(s.shakes, s.now-began)
			s.after(s.rtt/10+100*time.Microsecond, s.handshake)
		})
	})
}

// look is what its second half came to.
func (s *simulation) look() (l Look) {
	half := len(s.done) / 2
	var sum time.Duration
	for _, d := range s.done[half:] {
		sum += d
	}
	n := len(s.done) - half
	l.Mean = sum / time.Duration(n)
	l.Median = median(slices.Clone(s.done[half:]))
	l.IOPS = float64(n) / (s.doneAt[len(s.doneAt)-1] - s.doneAt[half-1]).Seconds()
	l.RTT, l.Window = s.rtt, unit.Size(s.window*len(s.streams))
	return l
}

func (s *simulation) beside() Beside {
	return Beside{Handshake: median(s.shakes), Null: median(s.nulls)}
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

const (
	few  = 200  // requests, one at a time
	many = 1500 // requests, where there are several at once
)

// evidence measures a world as diagnose would.
func (w world) evidence() *Evidence {
	quiet := w
	quiet.size, quiet.window = 100, 1<<20
	depth := w.flying()
	again, alone, now := w.run(1, 1, few, true), w.run(1, 1, few, false), w.run(depth, w.connections, many, false)
	e := &Evidence{
		Connections: w.connections, Depth: depth, Size: unit.Size(w.size), Path: w.link,
		Idle: quiet.run(1, 1, few, true).beside(), Again: again.look(), Alone: alone.look(), Now: now.look(), Loaded: now.beside(),
	}
	if w.ahead >= 0 {
		ahead := unit.Size(w.ahead)
		e.ReadAhead = &ahead
	}
	if w.known {
		e.Threads = w.threads
	}
	if w.slots > 0 && w.slots < 2*depth { // as many are granted; twice as many cannot be tried
		e.Slots = w.slots
		return e
	}
	more := w.run(2*depth, w.connections, many, false)
	e.More, e.MoreLoaded = more.look(), more.beside()
	return e
}

// gains are the factors by which each limit, lifted alone, makes requests faster.
func (w world) gains(now float64) map[string]float64 {
	lifted := map[string]float64{}
	for cause, lift := range map[string]func(*world){
		OneReader:   func(w *world) { w.depth *= 4 },
		ReadAhead:   func(w *world) { w.ahead = max(4*w.ahead, 4*w.size) },
		Slots:       func(w *world) { w.slots *= 4 },
		Window:      func(w *world) { w.window *= 64 },
		Connections: func(w *world) { w.connections *= 4 },
		Threads:     func(w *world) { w.threads *= 4 },
		Disk:        func(w *world) { w.spindles *= 4; w.disk /= 4 },
		Path:        func(w *world) { w.link *= 4 },
	} {
		if cause == ReadAhead && w.ahead < 0 {
			continue
		}
		better := w
		lift(&better)
		depth := better.flying()
		better.connections = min(better.connections, depth)
		lifted[cause] = better.run(depth, better.connections, many, false).look().IOPS / now
	}
	if w.ahead < 0 && (w.slots == 0 || w.slots > w.depth) { // the client's own: as many as it has requests in flight
		lifted[Slots] = lifted[OneReader]
	}
	return lifted
}
