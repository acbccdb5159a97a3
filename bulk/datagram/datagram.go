// Package datagram moves UDP datagrams at a rate, and counts what is lost, late
// and out of order, with the header that iperf3 gives its datagrams and by
// iperf3's rules.
//
// Every flow is driven by one OS thread with blocking system calls, and watched
// by a sampler, as package bulk does it for TCP. A sender does not
// learn what became of its datagrams: only both ends' records together show that.
package datagram

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
)

// Running is one end of a UDP transfer; it does for datagrams what
// [bulk.Running] does for TCP streams. The measured time begins Spec.Omit after
// Start, whether or not datagrams come.
type Running struct {
	spec  bulk.Spec
	flows []*flow
	start time.Time
	watch func(bulk.Progress)

	arrived atomic.Int64  // bytes in the measured time, on all flows
	sending atomic.Int64  // flows that have still to send
	stopped atomic.Bool   // threads shall end, and nothing counts any more
	halted  chan struct{} // closed then
	at      time.Duration // when, before halted is closed
	due     chan struct{}
	sampled chan struct{} // the sampler has ended

	halt, dueOnce, leave sync.Once
	stop                 func() bulk.End // once
	forget               func() bool     // the context

	mu     sync.Mutex
	failed error

	// The rest belongs to the sampler until it has ended.
	samples  samples
	progress bulk.Progress
	readings *bulk.Readings // from the beginning
	cpu      *host.CPUTimes // from when the measured time began; nil: not known
}

// Start begins one end of a transfer on conns, whose UDP sockets are connected,
// and which it takes over. watch, if not nil, is called every Spec.Interval: it
// must not block. When ctx is done, the transfer fails with its cause, and its
// threads end within about 100 ms.
//
// Each flow sends datagrams of Spec.Length bytes at Spec.Rate, both of UDP
// payload, Spec.Burst of them back to back. Of a transfer of bytes, each sends
// an equal share in the measured time, in whole datagrams.
func Start(ctx context.Context, spec bulk.Spec, conns []bulk.Conn, watch func(bulk.Progress)) (*Running, error) {
	r := &Running{
		spec: spec, watch: watch,
		halted: make(chan struct{}), due: make(chan struct{}), sampled: make(chan struct{}),
		samples: newSamples(len(conns)),
	}
	if err := r.open(conns); err != nil {
		for _, f := range r.flows {
			f.sock.close()
		}
		for _, c := range conns[len(r.flows):] {
			if c.UDP != nil {
				_ = c.UDP.Close()
			}
		}
		return nil, fmt.Errorf("start datagrams: %w", err)
	}
	r.readings = bulk.Read(conns)
	r.stop = sync.OnceValue(r.end)
	r.start = time.Now()
	for _, f := range r.flows {
		go f.drive(r)
	}
	go r.sample()
	r.forget = context.AfterFunc(ctx, func() {
		r.fail(fmt.Errorf("transfer stopped: %w", context.Cause(ctx)))
		r.finish()
	})
	return r, nil
}

// now is the time since Start.
func (r *Running) now() time.Duration { return time.Since(r.start) }

// Due is closed when, by this end's clock and counts, the transfer has had its
// time or its bytes: this end has sent all of its own or, if it sends nothing,
// all have come; where some were lost, only the caller can end it. It is also
// closed when a flow fails.
func (r *Running) Due() <-chan struct{} { return r.due }

func (r *Running) becomeDue() { r.dueOnce.Do(func() { close(r.due) }) }

// Failed is why a flow failed before Stop, or nil. What a sender may get back
// from the path is not a failure immediately: while the device's queue is full
// (ENOBUFS) it waits, and a refusal (ECONNREFUSED, from a peer whose socket is
// closed) must last a second. Receiving nothing is no failure at all.
func (r *Running) Failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// fail ends the transfer's time early.
func (r *Running) fail(err error) {
	r.mu.Lock()
	if r.failed == nil && !r.stopped.Load() {
		r.failed = err
	}
	r.mu.Unlock()
	r.becomeDue()
}

// sent notes that a flow has sent its share.
func (r *Running) sent() {
	if r.sending.Add(-1) == 0 {
		r.becomeDue()
	}
}

// received notes bytes that came in the measured time.
func (r *Running) received(n int64) {
	if r.arrived.Add(n) >= r.spec.Bytes && r.spec.Bytes > 0 && !r.sends() {
		r.becomeDue()
	}
}

// sends says whether this end has flows to send on.
func (r *Running) sends() bool {
	for _, f := range r.flows {
		if f.Sender {
			return true
		}
	}
	return false
}

// finish ends the measured time: from now on nothing counts.
func (r *Running) finish() {
	r.halt.Do(func() {
		r.at = r.now()
		r.stopped.Store(true)
		close(r.halted)
	})
}

// Stop ends the measured time and returns what this end recorded, within a tick.
// The sockets stay open until Close, so that what still comes is not refused; it
// is not counted. A second call returns the same.
func (r *Running) Stop() bulk.End { return r.stop() }

func (r *Running) end() bulk.End {
	r.finish()
	r.forget()
	end := bulk.End{Streams: []bulk.Stream{}}
	// What a system does not count stays empty: the transfer itself is good.
	now, err := host.ReadCPU()
	<-r.sampled
	if err == nil && r.cpu != nil {
		end.CPU = bulk.CPUSpent(*r.cpu, now)
	}
	r.readings.Since(&end)
	end.Host, _ = os.Hostname()
	for _, f := range r.flows {
		<-f.ended
		f.finish(r)
		end.Streams = append(end.Streams, f.record)
	}
	if err := r.Failed(); err != nil {
		end.Error = err.Error()
	}
	return end
}

// Close stops the transfer, if that was not done, and closes the sockets.
func (r *Running) Close() {
	r.Stop()
	r.leave.Do(func() {
		for _, f := range r.flows {
			f.sock.close()
		}
	})
}
