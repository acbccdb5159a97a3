package path

import (
	"context"
	"fmt"
	"time"
)

// forward sends n trains to the far end, spaced from start to start, and
// returns what it saw of them.
func (s *session) forward(ctx context.Context, n, packets, size int, spacing time.Duration) ([]measured, error) {
	busy := make(map[uint32]time.Duration, n)
	for range n {
		start := time.Now()
		s.forwardID++
		p := packet{kind: kindData, cookie: s.cookie, id: s.forwardID, count: uint32(packets), size: uint32(size)}
		took, err := s.train(p.train(s.overhead))
		if err != nil {
			return nil, fmt.Errorf("send packet train: %w", err)
		}
		busy[s.forwardID] = took
		if err := sleep(ctx, spacing-time.Since(start)); err != nil {
			return nil, err
		}
	}
	for received := -1; ; {
		o, err := s.observe(ctx)
		if err != nil {
			return nil, err
		}
		var out []measured
		now, complete := 0, false
		for _, t := range o.Received {
			if took, ours := busy[t.ID]; ours && t.plausible(packets, size) {
				out = append(out, measured{t, took})
				now += t.Received
				complete = complete || t.ID == s.forwardID && t.Received == packets
			}
		}
		if complete || now == received { // nothing more is coming
			return out, nil
		}
		received = now
		if err := sleep(ctx, stillComing); err != nil {
			return nil, err
		}
	}
}

// stillComing is how long a train may pause without being over.
const stillComing = 60 * time.Millisecond

// longestTrain is how long a train may take to come in: the first one takes 4 s
// at 100 kb/s. The far end's answers wait behind it.
const longestTrain = 5 * time.Second

// firstPacket is how much longer than the small ones of the handshake a full-size
// packet may take: at 40 kb/s.
const firstPacket = 300 * time.Millisecond

// reverse has the far end send n trains, spaced from start to start.
func (s *session) reverse(ctx context.Context, n, packets, size int, spacing time.Duration) ([]measured, error) {
	first := s.reverseID + 1
	for range n {
		s.reverseID++
		s.send(packet{kind: kindSend, cookie: s.cookie, id: s.reverseID, count: uint32(packets), size: uint32(size)}.small())
		if err := sleep(ctx, spacing); err != nil {
			return nil, err
		}
	}
	deadline := time.Now().Add(s.wait + longestTrain)
	arrived := time.Now()
	silent := arrived.Add(s.wait + firstPacket)
	for seen := 0; time.Now().Before(silent) && time.Now().Before(deadline); {
		packets, complete := s.trains.progress(s.reverseID)
		if complete {
			break
		}
		if packets > seen {
			// On a slow link packets come further apart than a pause is long.
			pause := stillComing
			switch {
			case packets == 1: // it does not say yet how far
				pause = firstPacket
			case seen > 0:
				pause = max(pause, 3*time.Since(arrived))
			}
			seen, arrived = packets, time.Now()
			silent = arrived.Add(pause)
		}
		if err := sleep(ctx, 2*time.Millisecond); err != nil {
			return nil, err
		}
	}
	o, err := s.observe(ctx)
	if err != nil {
		return nil, err
	}
	busy := make(map[uint32]time.Duration, n)
	for _, sent := range o.Sent {
		busy[sent.ID] = sent.Busy
	}
	var out []measured
	for _, t := range s.trains.trains() {
		if took, known := busy[t.ID]; known && t.ID >= first {
			out = append(out, measured{t, took})
		}
	}
	return out, nil
}

// helperTimeout is how long the far end may take for an answer, which waits behind
// probes where the way back is slow: 100 kB of them at 100 kb/s.
const helperTimeout = 8 * time.Second

func (s *session) observe(ctx context.Context) (Observed, error) {
	ctx, cancel := context.WithTimeout(ctx, helperTimeout)
	defer cancel()
	o, err := s.helper.Observed(ctx, s.ticket.Cookie)
	if err != nil {
		return Observed{}, fmt.Errorf("ask the far end what it saw: %w", err)
	}
	return o, nil
}
