package peer

import (
	"context"
	"net/netip"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/path"
)

// smallFlow times single handshakes beside a transfer: what its load does to
// everyone else on the path. The far end closes such connections as it does any
// that say nothing. Whatever becomes of it, the transfer goes on.
type smallFlow struct {
	ping  *path.Ping
	load  time.Time // the far end may have begun to send
	began time.Time // this end has
}

func newSmallFlow(ctx context.Context, to netip.AddrPort) *smallFlow {
	return &smallFlow{ping: path.StartPing(ctx, to)}
}

// loads waits until what comes before the load has been measured: a tenth of a
// second and a round trip.
func (s *smallFlow) loads(ctx context.Context) {
	select {
	case <-s.ping.Burst():
	case <-ctx.Done():
	}
	s.load = time.Now()
}

func (s *smallFlow) begins() { s.began = time.Now() }

// stop adds to the result what was seen. A handshake that was under way when the
// load began is neither with it nor without.
func (s *smallFlow) stop(result *bulk.Result) {
	pongs := s.ping.Stop()
	if s.began.IsZero() {
		return // so did the transfer never begin
	}
	for _, pong := range pongs {
		if pong.At.Before(s.began) && pong.At.Add(pong.RTT).After(s.load) {
			continue
		}
		result.SmallFlow = append(result.SmallFlow, bulk.Latency{At: pong.At.Sub(s.began), RTT: pong.RTT})
	}
}
