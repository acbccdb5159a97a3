package peer

import (
	"net/netip"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/peer/iperf3"
)

// IPerf3 is what a far end does differently for iperf3's clients.
type IPerf3 struct {
	Users *iperf3.Users // who may test, within the limits of clients with the token; nil: anyone, within the public ones
	JSON  bool          // give them this end's output as JSON, if they ask for it, and not as text
}

func (s *Server) newIPerf3(c IPerf3) *iperf3.Server {
	limits := s.public
	if c.Users != nil {
		limits = s.token
	}
	return iperf3.NewServer(iperf3.ServerConfig{
		Limits: iperf3.ServerLimits{Time: limits.Transfer, Streams: limits.Streams},
		Enter:  func(who netip.Addr) (iperf3.Place, error) { return s.enterIPerf3(who, limits) },
		Ended:  s.endedIPerf3,
		Users:  c.Users, JSON: c.JSON, Within: s.patience.attach, Log: s.log,
	})
}

// enterIPerf3 gives an iperf3 client a place, for as long as a test may take:
// how long it will take, and whether a user asks, is not known before it has one.
// One client has therefore no more places than without users: strangers could
// keep all others out with connections that never log in.
func (s *Server) enterIPerf3(who netip.Addr, limits Limits) (iperf3.Place, error) {
	if !s.pace.allow(who, time.Now()) { // whoever wants could fill the log
		s.tally.refused(ofIPerf3)
		return nil, problem(ErrBusy, "too many connections from %v", client(who))
	}
	place, err := s.places.take(who, limits.Transfers, s.public.each(), limits.Transfer)
	if err != nil {
		s.tally.refused(ofIPerf3)
		s.log.Info("iperf3 client asked to try again later", "client", who, "err", err)
		return nil, err
	}
	return place, nil
}

// endedIPerf3 counts a test that had a place.
func (s *Server) endedIPerf3(own *bulk.End, err error) {
	if own == nil {
		s.tally.refused(ofIPerf3)
		return
	}
	s.tally.ended(ofIPerf3, own.Streams, err != nil)
}

// serveIPerf3 takes a connection of an iperf3 client.
func (s *Server) serveIPerf3(c *opened) {
	s.iperf3.Serve(s.life, iperf3.Connection{TCP: c.TCPConn, First: c.first, Order: c.order})
}
