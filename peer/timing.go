package peer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// timing is how long a far end waits for a client in each phase.
type timing struct {
	// decide bounds the time a connection may stay anonymous. A SYN, its answer
	// and the first bytes may each be lost twice (1 s, then 2 s).
	decide time.Duration
	// request bounds the greeting of TLS and the arrival of each request.
	request time.Duration
	// attach bounds the time from a transfer's creation to its start. Connecting
	// over the longest terrestrial paths with a lost SYN (1 s) takes a third of
	// it.
	attach time.Duration
	// silent ends a transfer of which neither data nor the client's heartbeat
	// (one a second) was seen for so long. It is above what a control request
	// takes when several of its packets are lost behind a full queue.
	silent time.Duration
}

var usualTiming = timing{decide: 10 * time.Second, request: requestWithin, attach: 10 * time.Second, silent: 8 * time.Second}

// clientTiming is how long a client waits for a far end.
type clientTiming struct {
	// silent is how long an answer may stay silent, before and within it.
	silent time.Duration
	// working is how long the far end may be at work before it answers: it reads
	// its host's facts, journals to disk, starts helpers.
	working time.Duration
	// whole bounds an answer as a whole, however steadily it trickles.
	whole time.Duration
	// ending is how long the far end may take to end a transfer that this end has
	// ended.
	ending time.Duration
	// lost is how long the far end may show no sign of life during a transfer:
	// neither an answer nor progress of the data. A control request behind a full
	// queue takes an RTT of perhaps half a second, and three retransmissions of a
	// lost packet another 1 + 2 + 4 RTOs: that alone must not pass for death, and
	// it does not while data moves.
	lost time.Duration
}

// A far end cuts its answers off itself after answerWithin, and transfers windUp
// after their time.
var usualClientTiming = clientTiming{silent: 10 * time.Second, working: 30 * time.Second, whole: answerWithin + requestWithin, ending: windUp + 10*time.Second, lost: 4 * time.Second}

// life is a context that ends when the far end shows no sign of life.
type life struct {
	ctx   context.Context
	began time.Time
	stop  func()
	last  atomic.Int64 // sign, ns since began
}

var errNoSign = errors.New("no sign of life")

// watchLife ends the context when there is no sign of life for so long.
func watchLife(ctx context.Context, patience time.Duration) *life {
	ctx, cancel := context.WithCancelCause(ctx)
	l := &life{ctx: ctx, began: time.Now(), stop: func() { cancel(nil) }}
	go func() {
		for sleep(ctx, 100*time.Millisecond) {
			if time.Since(l.began)-time.Duration(l.last.Load()) > patience {
				cancel(fmt.Errorf("%w for %v: neither an answer nor data", errNoSign, patience))
			}
		}
	}()
	return l
}

// sign notes that the far end lives.
func (l *life) sign() { l.last.Store(int64(time.Since(l.began))) }
