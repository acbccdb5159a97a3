package flow

import (
	"context"
	"math/rand/v2"
	"time"
)

// sampler looks at a few flows between two looks.
type sampler struct {
	diag   *diag
	w      *Watcher
	cancel context.CancelFunc
	wake   chan struct{}
	done   chan struct{}

	// Under the watcher's lock.
	watched []*track
	sockets []socket
	looked  time.Time
	every   time.Duration // time between the last two looks; 0: there was one only
}

// Samples are taken at random times, so that they cannot keep step with a flow
// that goes by the round trip: every 40 ms on average, so that a view of three
// seconds has 75.
const (
	sampleEvery = 40 * time.Millisecond
	// around a look, before and after it, samples are taken: what a view needs at
	// least. Who looks once a minute does not pay for the rest of it.
	around = 3 * time.Second
)

func startSampler(d *diag, w *Watcher) *sampler {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sampler{diag: d, w: w, cancel: cancel, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go s.run(ctx)
	return s
}

func (s *sampler) stop() {
	s.cancel()
	<-s.done
	s.diag.close()
}

// watch says which flows to sample from now on: those that move.
func (s *sampler) watch(fastest []*track, now time.Time, every time.Duration) {
	s.watched, s.sockets, s.looked, s.every = s.watched[:0], s.sockets[:0], now, every
	for _, t := range fastest {
		if t.flow.Idle {
			break
		}
		s.watched = append(s.watched, t)
		s.sockets = append(s.sockets, socket{t.family, t.id})
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *sampler) run(ctx context.Context) {
	defer close(s.done)
	for {
		var due <-chan time.Time
		if wait, wanted := s.wait(); wanted {
			due = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-due:
			s.sample(ctx)
		}
	}
}

// wait says when the next sample is due, if there is anything to sample for
// anyone.
func (s *sampler) wait() (wait time.Duration, wanted bool) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	since := time.Since(s.looked)
	wait = sampleEvery/2 + rand.N(sampleEvery)
	if since >= around {
		wait = max(wait, s.every-around-since)
	}
	return wait, len(s.watched) > 0 && since < s.every+around
}

// sample adds one sample to each flow. What fails is missing, and the next look
// says why.
func (s *sampler) sample(ctx context.Context) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	at := time.Since(s.w.began)
	_ = s.diag.ask(ctx, s.sockets, func(i int, m *message) {
		if m == nil || m.info == nil || m.state == stateClosed {
			return // it has just ended
		}
		if t := s.watched[i]; t.same(m) && at > t.last().At {
			t.add(m, at)
		}
	})
}
