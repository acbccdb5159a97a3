package climb

import (
	"cmp"
	"context"
	"time"

	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/nfs/mounted"
	"github.com/fullbore/fullbore/unit"
)

// Mount is a file that this host's kernel has mounted, and the programs that read it. A climb
// reads it through trial mounts: the one in use is not touched.
type Mount struct {
	Place   *mounted.Place
	Load    mounted.Load
	Readers int // programs: those that read in order, or at random those to begin with
	Hosts   *Hosts

	Reads   int64         // through trials with more connections than the mount has
	Slowest time.Duration // of them
}

// Begin is the state as it was found.
func (m *Mount) Begin() State {
	now, _ := m.Hosts.counts()
	s := State{Connections: max(1, m.Place.Connections), Depth: m.Readers, Threads: now}
	if m.InOrder() > 0 {
		s.Depth = m.ahead().Depth
	}
	return s
}

// Most is how far its settings can be raised.
func (m *Mount) Most() State {
	most := m.Hosts.most()
	most.Connections = max(most.Connections, m.Place.Connections)
	if size := m.InOrder(); size > 0 {
		most.Depth = max(m.Begin().Depth, limit.MostInOrder(size))
		return most
	}
	most.Depth = max(m.Readers, cmp.Or(m.Place.Slots(), usualSlots))
	if m.Hosts != nil && m.Place.Slots() > 0 {
		most.Depth = max(most.Depth, m.Hosts.Client.most())
	}
	return most
}

// usualAhead is how far Linux reads ahead at first (VM_READAHEAD_PAGES, include/linux/pagemap.h).
const usualAhead = 128 * unit.KiB

// Least is how many requests there are in flight for a program that reads in order with the
// least read-ahead that is worth a try; 0: programs read at random. What a program asks for at
// once the client reads at once whatever its read-ahead, so that less than that brings nothing
// (page_cache_sync_ra, mm/readahead.c).
func (m *Mount) Least() int {
	size := m.InOrder()
	if size == 0 {
		return 0
	}
	l := nfs.Load{Size: int(size)}
	l.ReadsAhead(max(usualAhead, 2*unit.Size(m.Load.Size)))
	return l.Depth
}

// usualSlots are how many requests Linux's client has in flight of one mount at first
// (max_session_slots of its module nfs).
const usualSlots = 64

// InOrder is the size of the client's requests for programs that read in order, and 0 of those
// that read at random.
func (m *Mount) InOrder() unit.Size {
	if m.Load.Random || m.Place.ReadAhead == nil {
		return 0
	}
	return unit.Size(m.ahead().Size)
}

// ahead is what the client does for a program that reads in order, as it was found.
func (m *Mount) ahead() nfs.Load {
	l := nfs.Load{Size: cmp.Or(m.Place.ReadSize, m.Load.Size)}
	l.ReadsAhead(*m.Place.ReadAhead)
	return l
}

// ReadAhead is that of a state; nil: programs read at random.
func (m *Mount) ReadAhead(s State) *unit.Size {
	size := m.InOrder()
	if size == 0 {
		return nil
	}
	if s.Depth == m.Begin().Depth {
		return m.Place.ReadAhead
	}
	ahead := limit.ReadAheadOf(s.Depth, size)
	return &ahead
}

// mounting is what a trial takes at most, beside its reads, on the paths that NFS is used over.
const mounting = 500 * time.Millisecond

// How long programs read through a trial: long enough for windows and read-ahead to open.
const (
	readOmit = 400 * time.Millisecond
	readFor  = 1200 * time.Millisecond
)

// Takes is how long one run is.
func (m *Mount) Takes() time.Duration { return readOmit + readFor + mounting }

// Measure mounts the export once more, as the state says, and has programs read. Of those
// that read in order a request is so much as the client asked for at once in the beginning.
func (m *Mount) Measure(ctx context.Context, s State) (r Reading, err error) {
	if m.Hosts != nil {
		if err := m.Hosts.Bring(ctx, s); err != nil {
			return r, err
		}
	}
	trial, err := m.Place.Try(ctx, s.Connections, m.ReadAhead(s))
	if err != nil {
		return r, err
	}
	defer func() { err = cmp.Or(err, trial.Close()) }()
	readers, size := s.Depth, unit.Size(m.Load.Size)
	if ahead := m.InOrder(); ahead > 0 {
		readers, size = m.Readers, ahead
	}
	got, err := trial.Read(ctx, m.Load, readers, readOmit, readFor)
	if err != nil {
		return r, err
	}
	us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	if s.Connections > m.Place.Connections {
		m.Reads += got.Latency.TotalCount()
		m.Slowest = max(m.Slowest, us(got.Latency.Max()))
	}
	return Reading{
		IOPS: float64(got.Bytes) / float64(size) / got.Elapsed.Seconds(), Goodput: unit.RateOf(got.Bytes, got.Elapsed),
		P50: us(got.Latency.ValueAtQuantile(50)), P99: us(got.Latency.ValueAtQuantile(99)),
	}, nil
}

// Limits says what holds reads back, by laws: through the mount in use, so of the state as it
// was found only.
func (m *Mount) Limits(watch Watcher) func(context.Context, State) ([]limit.Finding, error) {
	return func(ctx context.Context, s State) ([]limit.Finding, error) {
		if m.Hosts != nil {
			if err := m.Hosts.Bring(ctx, s); err != nil {
				return nil, err
			}
		}
		e, err := mounted.Measure(ctx, m.Place, m.Load, m.Readers, watch)
		if err != nil {
			return nil, err
		}
		if m.Hosts != nil && m.Hosts.Server != nil {
			e.Threads = m.Hosts.Server.Threads
		}
		return limit.Diagnose(e), nil
	}
}
