package peer

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// Results that are not fetched are dropped after a while, and sooner, the oldest first,
// when there are more than these; a sample takes about half a kilobyte.
const (
	maxResults        = 32
	maxResultsSamples = 200_000
)

// transfers are those a far end knows: running ones, each with a place, and done
// ones whose result waits.
type transfers struct {
	log      *slog.Logger
	patience timing
	places   *places
	tally    *tally

	mu      sync.Mutex
	known   map[string]*transfer // by id
	waiting map[string]*transfer // by cookie, those that may still get streams
	results []*transfer          // done, oldest first
	busy    sync.WaitGroup
}

func newTransfers(log *slog.Logger, patience timing, places *places, tally *tally) *transfers {
	return &transfers{log: log, patience: patience, places: places, tally: tally, known: map[string]*transfer{}, waiting: map[string]*transfer{}}
}

// create makes place for a transfer, or says how long it takes until there is
// one. The transfer lives as long as ctx at most.
func (ts *transfers) create(ctx context.Context, spec bulk.Spec, client netip.AddrPort, limits Limits) (*transfer, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := newTransfer(spec, client, limits.Transfer, ts.patience)
	place, err := ts.places.take(client.Addr(), limits.Transfers, limits.each(), t.patience.attach+t.length())
	if err != nil {
		return nil, err
	}
	ctx, t.cancel = context.WithCancelCause(ctx)
	ts.known[t.id], ts.waiting[t.cookie] = t, t
	ts.busy.Go(func() {
		t.run(ctx)
		ts.finish(t)
		end := t.result()
		ts.tally.ended(ofFullbore, end.Streams, end.Error != "")
		place.Leave()
		close(t.done)
		ts.report(t)
	})
	return t, nil
}

// finish keeps the result for a while.
func (ts *transfers) finish(t *transfer) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.waiting, t.cookie)
	ts.results = append(ts.results, t)
	t.expiry = time.AfterFunc(keepResult, func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		ts.drop(t)
	})
	samples := 0
	for _, done := range ts.results {
		samples += done.samples()
	}
	for len(ts.results) > 1 && (len(ts.results) > maxResults || samples > maxResultsSamples) {
		samples -= ts.results[0].samples()
		ts.drop(ts.results[0])
	}
}

// drop forgets a done transfer; ts.mu is held.
func (ts *transfers) drop(t *transfer) {
	delete(ts.known, t.id)
	t.expiry.Stop()
	ts.results = slices.DeleteFunc(ts.results, func(have *transfer) bool { return have == t })
}

func (ts *transfers) byID(id string) *transfer {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.known[id]
}

func (ts *transfers) byCookie(cookie string) *transfer {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.waiting[cookie]
}

// end stops a transfer, and forgets the result of one that is done.
func (ts *transfers) end(t *transfer) {
	t.cancel(errAborted)
	<-t.done
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.drop(t)
}

var (
	errAborted  = errors.New("ended early by the client")
	errStopping = errors.New("far end is being stopped")
)

// close lets none begin any more, of other protocols neither.
func (ts *transfers) close() {
	ts.mu.Lock() // who has a place by now is among the busy ones
	defer ts.mu.Unlock()
	ts.places.close()
}

// wait waits for what runs, once it is closed.
func (ts *transfers) wait() { ts.busy.Wait() }

// report logs one line a transfer: who, what, goodput.
func (ts *transfers) report(t *transfer) {
	end := t.result()
	var sent, received unit.Rate
	for _, s := range end.Streams {
		if rate := unit.RateOf(s.Bytes, s.Elapsed); s.Sender {
			sent += rate
		} else {
			received += rate
		}
	}
	attributes := []any{
		"client", t.client, "direction", t.spec.Direction, "streams", t.spec.Streams,
		"took", time.Since(t.created).Round(time.Millisecond),
	}
	if t.spec.Direction != bulk.Reverse {
		attributes = append(attributes, "goodput", received)
	}
	if t.spec.Direction != bulk.Forward {
		attributes = append(attributes, "sent", sent) // what arrived is counted at the other end
	}
	if end.Error != "" {
		ts.log.Warn("transfer ended early", append(attributes, "err", end.Error)...)
		return
	}
	ts.log.Info("transfer done", attributes...)
}

// randomName is 128 random bits as a word.
func randomName() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return encoding.EncodeToString(b[:])
}
