package iperf3

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/bulk/datagram"
	"github.com/fullbore/fullbore/peer/iperf3/document"
)

// count is what has come so far, for those that do not drive the data.
type count struct {
	began    time.Time
	received atomic.Int64 // bytes
	last     atomic.Int64 // when there were more: ns since began
}

func (c *count) take(p bulk.Progress) {
	if p.Received != c.received.Swap(p.Received) {
		c.last.Store(int64(time.Since(c.began)))
	}
}

// silence is how long nothing has come.
func (c *count) silence() time.Duration { return time.Since(c.began) - time.Duration(c.last.Load()) }

// start asks the client to begin, and begins.
func (t *session) start(ctx context.Context, conns []bulk.Conn) (transfer, error) {
	// In one piece: a client's clock runs from the first on, its data from the
	// second.
	if err := t.control.write([]byte{byte(TestStart), byte(TestRunning)}); err != nil {
		closeStreams(conns)
		return nil, fmt.Errorf("start test: %w", err)
	}
	if t.asked.WantsServerOutput() {
		t.record.Rows = document.NewRows(t.spec(), time.Second).Bound(document.ServerOutput)
	}
	t.count.began = time.Now()
	watch := func(p bulk.Progress) {
		t.count.take(p)
		t.record.Rows.Add(p)
	}
	// The client alone ends the test, of bytes too. Whoever sends goes on until
	// then: some may get lost, and iperf3 reads whole blocks, and would wait for
	// the rest of the last one.
	spec := t.spec()
	if spec.Protocol != bulk.UDP {
		spec.Length = min(spec.Length, receiveMemory/len(conns)) // nobody sees how much is read at once
		return started(bulk.Start(ctx, spec, conns, watch))
	}
	if spec.Bytes > 0 {
		spec.Bytes, spec.Duration = 0, t.length()+t.patience.grace
	}
	return started(datagram.Start(ctx, spec, conns, watch))
}

// receiveMemory bounds what the buffers of all receivers of a test take: 128
// streams with the largest blocks there are would have twice as much.
const receiveMemory = 64 << 20

func started[T transfer](running T, err error) (transfer, error) {
	if err != nil {
		return nil, refuse(IEInitTest, "start test: %v", err)
	}
	return running, nil
}

// see waits until the client ends the test, or until it is clear that it will
// not.
func (t *session) see(ctx context.Context, running transfer, said <-chan word) error {
	expired := time.NewTimer(t.length() + t.patience.grace)
	defer expired.Stop()
	look := time.NewTicker(250 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case w := <-said:
			return ended(w)
		case <-look.C:
			if err := running.Failed(); err != nil {
				return t.why(said, err)
			}
			if silence := t.count.silence(); t.spec().Direction != bulk.Reverse && silence > t.longestSilence() {
				return refuse(IENoMsg, "nothing came for %v", silence.Round(time.Second))
			}
		case <-expired.C:
			return refuse(IEServerTestDurationExpired, "the client did not end the test within %v", t.length()+t.patience.grace)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// longestSilence is for how long nothing may come from a client that lives: at
// a low rate there is much time between two blocks.
func (t *session) longestSilence() time.Duration {
	silence := t.patience.silence
	if rate := t.spec().Rate; rate > 0 {
		block := float64(t.spec().Length*max(1, t.spec().Burst)) * 8 / float64(rate)
		silence += time.Duration(min(block, t.length().Seconds()) * float64(2*time.Second))
	}
	return silence
}

// why is the reason that a stream broke: the client's own, if it gives one. It
// is none if the client has ended the test.
func (t *session) why(said <-chan word, broken error) error {
	select {
	case w := <-said:
		return ended(w)
	case <-time.After(t.patience.word):
		return refuse(IEStreamRead, "run test: %v", broken)
	}
}

// ended says how the client has ended the test, if not as it should.
func ended(w word) error {
	if w.err == nil && w.state == TestEnd {
		return nil
	}
	return early(w, "run test")
}

// drain waits for the last bytes of a test of bytes: by its results, the client
// has sent so many. It is done when they are there, or when no more come.
func (t *session) drain(ctx context.Context, theirs Results) {
	var sent int64
	for _, s := range theirs.Streams {
		if s.ID <= StreamID(t.spec().Streams-1) { // the first ones are those that it sends on
			sent += s.Bytes
		}
	}
	began := time.Now()
	for t.count.received.Load() < sent && time.Since(began) < t.patience.drain && ctx.Err() == nil {
		if min(time.Since(began), t.count.silence()) > t.patience.quiet {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
