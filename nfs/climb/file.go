package climb

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/unit"
)

// File is a file of a server, and the requests to it that a climb is to make faster. Its
// hosts' windows can be raised where Hosts is not nil.
type File struct {
	Target nfs.Target
	Load   nfs.Load // its Depth is the one to begin with
	Hosts  *Hosts
}

// Begin is the state as it was found.
func (f *File) Begin(connections int) State {
	now, _ := f.Hosts.counts()
	return State{Connections: connections, Depth: f.Load.Depth, Threads: now}
}

// InOrder is the size of the requests of a client that reads ahead of one program, and 0 of
// programs that ask by themselves.
func (f *File) InOrder() unit.Size {
	if f.Load.ReadAhead == nil {
		return 0
	}
	return unit.Size(f.Load.Size)
}

// setUp is what opening a file takes at most on the paths that NFS is used over, beside its
// requests.
const setUp = 200 * time.Millisecond

// Takes is how long one run is.
func (f *File) Takes() time.Duration { return f.Load.Omit + f.Load.Duration + setUp }

// Measure opens the file as the state says, and runs the requests.
func (f *File) Measure(ctx context.Context, s State) (r Reading, err error) {
	if f.Hosts != nil {
		if err := f.Hosts.Bring(ctx, s); err != nil {
			return r, err
		}
	}
	m, err := nfs.Open(ctx, f.Target, nfs.Options{Connections: s.Connections, Depth: s.Depth})
	if err != nil {
		return r, err
	}
	defer func() { err = cmp.Or(err, m.Close()) }() // after an error the server need not listen
	load := f.Load
	load.Depth = s.Depth
	got, err := m.Run(ctx, load, nil)
	if err != nil {
		return r, err
	}
	if got.Requests == 0 {
		return r, fmt.Errorf("no request was answered within %v", load.Duration)
	}
	us := func(q float64) time.Duration {
		return time.Duration(got.Latency.ValueAtQuantile(q)) * time.Microsecond
	}
	return Reading{IOPS: got.Rate(), Goodput: unit.RateOf(got.Bytes, got.Elapsed), P50: us(50), P99: us(99)}, nil
}

// Limits says what holds requests back in a state, by laws.
func (f *File) Limits(watch Watcher) func(context.Context, State) ([]limit.Finding, error) {
	return func(ctx context.Context, s State) ([]limit.Finding, error) {
		if f.Hosts != nil {
			if err := f.Hosts.Bring(ctx, s); err != nil {
				return nil, err
			}
		}
		load := f.Load
		load.Depth = s.Depth
		if load.ReadAhead != nil {
			ahead := limit.ReadAheadOf(s.Depth, unit.Size(load.Size))
			load.ReadAhead = &ahead
		}
		e, err := limit.Measure(ctx, f.Target, load, s.Connections, 0, watch)
		if err != nil {
			return nil, err
		}
		return limit.Diagnose(e), nil
	}
}

// Most asks the server how far its requests in flight can be raised.
func (f *File) Most(ctx context.Context) (State, error) {
	m, err := nfs.Open(ctx, f.Target, nfs.Options{Connections: 1, Depth: nfs.MaxDepth})
	if err != nil {
		return State{}, err
	}
	most := f.Hosts.most()
	most.Depth = nfs.MaxDepth
	if m.Slots > 0 {
		most.Depth = m.Slots
	}
	if size := f.InOrder(); size > 0 {
		most.Depth = min(most.Depth, max(f.Load.Depth, limit.MostInOrder(size)))
	}
	return most, m.Close()
}

// most is what hosts allow; its Depth is the client's. A nil Hosts cannot be changed.
func (h *Hosts) most() State {
	_, threads := h.counts()
	return State{Windows: h != nil && len(h.Changes) > 0, Connections: mostConnections, Threads: threads}
}

// mostConnections is what clients can have: Linux's nconnect ends there (nfs(5)).
const mostConnections = 16
