package peer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/fleet/shelf"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/peer/iperf3"
	"github.com/fullbore/fullbore/version"
)

const (
	// requestWithin bounds the arrival of a request.
	requestWithin = 10 * time.Second
	// answerWithin bounds sending an answer: a full result over a slow path.
	answerWithin = 2 * time.Minute
	// idleFor is how long a control connection may be silent between requests.
	idleFor = time.Minute
	// partingWithin bounds the wait for running requests when a far end stops.
	partingWithin = 2 * time.Second
	// revertWithin bounds putting back unconfirmed changes when it stops.
	revertWithin = 10 * time.Second
)

// Config is what a far end is made of. The zero value measures only, for as
// long as the process lives.
type Config struct {
	Identity *Identity                                  // nil: a new one
	Facts    func(context.Context) (*host.Facts, error) // nil: host.Collect
	Changes  LocalChanges                               // nil: no changes, even with the token
	Links    bool                                       // Changes of interfaces, routes and mounts too
	Jobs     bool                                       // with the token, clients may have this host send to other far ends
	Tasks    map[job.Kind]Task                          // of jobs, beside transfers and rehearsals
	Results  string                                     // folder for what comes of jobs and is to be kept, until it is elsewhere; "": such jobs are refused
	Public   Limits                                     // zero: PublicLimits
	Token    Limits                                     // of clients with the token; zero: TokenLimits
	IPerf3   IPerf3                                     // what differs for iperf3's clients
	NDT7     NDT7                                       // what differs for ndt7's
	Page     http.Handler                               // what browsers are shown: all over TLS that is not of the control API; nil: nothing
	Metrics  http.Handler                               // what is at MetricsPath, over TLS, for who has the token or [Identity.MetricsSecret]; nil: nothing
	Log      *slog.Logger                               // nil: silent
}

// Server is a far end.
type Server struct {
	identity  *Identity
	secret    secretHash
	metrics   *metricsGate
	public    Limits
	token     Limits
	facts     func(context.Context) (*host.Facts, error)
	changes   *ownChanges
	links     bool
	log       *slog.Logger
	iperf3    *iperf3.Server
	ndt7      NDT7
	page      http.Handler
	places    *places
	tally     *tally
	transfers *transfers
	jobs      jobs
	allowJobs bool
	tasks     map[job.Kind]Task
	leaves    leaves
	pace      *pace
	name      string
	patience  timing

	// Set by Serve.
	life      context.Context // of all that runs
	responder *path.Responder
}

// NewServer makes a far end; Serve runs it.
func NewServer(c Config) (*Server, error) { return newServer(c, usualTiming) }

func newServer(c Config, patience timing) (*Server, error) {
	s := &Server{identity: c.Identity, public: c.Public, token: c.Token, facts: c.Facts, links: c.Links, allowJobs: c.Jobs, tasks: c.Tasks, log: c.Log, ndt7: c.NDT7, page: c.Page, patience: patience}
	if s.identity == nil {
		var err error
		if s.identity, err = NewIdentity(); err != nil {
			return nil, fmt.Errorf("make far end: %w", err)
		}
	}
	s.secret = hashSecret(s.identity.token.secret)
	if c.Metrics != nil {
		s.metrics = &metricsGate{secret: hashSecret(s.identity.metricsSecret()), handler: c.Metrics}
	}
	if s.public == (Limits{}) {
		s.public = PublicLimits()
	}
	if s.token == (Limits{}) {
		s.token = TokenLimits()
	}
	if s.facts == nil {
		s.facts = host.Collect
	}
	if c.Changes != nil {
		s.changes = newOwnChanges(c.Changes)
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.places, s.tally = newPlaces(), newTally()
	s.transfers = newTransfers(s.log, patience, s.places, s.tally)
	s.jobs.known = map[string]*ownJob{}
	if c.Results != "" {
		var err error
		if s.jobs.shelf, err = shelf.Open(c.Results); err != nil {
			return nil, err
		}
	}
	s.pace = newPace(20, 200)
	s.iperf3 = s.newIPerf3(c.IPerf3)
	s.name, _ = os.Hostname() // a host without a name is still a far end
	return s, nil
}

// TokenString is the token of this far end.
func (s *Server) TokenString() string { return s.identity.Token() }

// ListeningSchema is the version of Listening.
const ListeningSchema = "fullbore/serve/1"

// Listening is what a far end's process tells programs once it listens.
type Listening struct {
	Schema  string `json:"schema"` // ListeningSchema
	Listen  string `json:"listen"` // address:port, TCP and UDP
	Token   string `json:"token"`
	Changes bool   `json:"changes"` // allowed with the token
}

// Listen opens the TCP and the UDP side of one port, the latter so that flows can
// have sockets of their own beside it; port 0 takes a free one.
// Multipath TCP stays off: what is measured is one path, and its sockets know
// fewer options.
func Listen(ctx context.Context, address string) (*net.TCPListener, *net.UDPConn, error) {
	_, port, _ := net.SplitHostPort(address) // what is wrong with it, listening says
	for try := 1; ; try++ {
		listener, packets, err := listen(ctx, address)
		// The system looks for a port that is free for TCP; somebody may have it for UDP.
		if port != "0" || try == mostPorts || !errors.Is(err, errTakenUDP) {
			return listener, packets, err
		}
	}
}

// mostPorts is how many ports are tried where any will do.
const mostPorts = 20

var errTakenUDP = errors.New("listen for path probes")

func listen(ctx context.Context, address string) (*net.TCPListener, *net.UDPConn, error) {
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, nil, fmt.Errorf("listen for transfers: %w", err)
	}
	shared := net.ListenConfig{Control: iperf3.SharePort}
	packets, err := shared.ListenPacket(ctx, "udp", listener.Addr().String())
	if err != nil {
		_ = listener.Close()
		return nil, nil, fmt.Errorf("%w: %w", errTakenUDP, err)
	}
	return listener.(*net.TCPListener), packets.(*net.UDPConn), nil
}

// Serve answers on both sockets until the context ends, and closes them. Then it
// ends running transfers and reverts the change sets that were begun over the
// network and not confirmed. Without packets it answers no path probes. A
// Server serves once.
func (s *Server) Serve(ctx context.Context, listener *net.TCPListener, packets *net.UDPConn) error {
	group, ctx := errgroup.WithContext(ctx)
	life, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	s.life = life

	if packets != nil {
		s.responder = path.NewResponder(packets)
		s.responder.Strangers = s.iperf3.Stranger
		group.Go(func() error {
			if err := s.responder.Serve(ctx); err != nil && ctx.Err() == nil {
				s.log.Error("path probes are no longer answered", "err", err) // transfers still are
			}
			return nil
		})
	}
	web := s.newWeb(listener.Addr())
	group.Go(func() error { return web.serve(s.identity) })
	group.Go(func() error { return s.mux(web).serve(ctx, listener) })
	group.Go(func() error {
		<-ctx.Done()
		_ = listener.Close()
		if packets != nil {
			_ = packets.Close()
		}
		s.transfers.close()
		stop(errStopping)
		parting, done := context.WithTimeout(context.WithoutCancel(ctx), partingWithin)
		defer done()
		web.close(parting)
		s.jobs.close()
		s.transfers.wait()
		return s.putBack(ctx)
	})
	return group.Wait()
}

// putBack reverts what was not confirmed.
func (s *Server) putBack(ctx context.Context) error {
	if s.changes == nil {
		return nil
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), revertWithin)
	defer done()
	return s.changes.revertOpen(ctx)
}

// mux is the list of who may call.
func (s *Server) mux(web *web) *mux {
	return &mux{
		undecided: newGate(512, 128),
		within:    s.patience.decide,
		log:       s.log,
		protocols: []protocol{
			{name: "control", match: matchTLS, handle: func(c *opened) { s.give(c, web.control) }},
			{name: "stream", match: matchPreamble, handle: s.stream, brief: true},
			{name: "iperf3", match: matchIperf3, handle: s.serveIPerf3},
			{name: "http", match: matchHTTP, handle: func(c *opened) { s.give(c, web.plainHTTP) }},
		},
	}
}

// stream takes a connection as a stream of a transfer.
func (s *Server) stream(c *opened) {
	p, err := parsePreamble(c.first)
	if err == nil {
		t := s.transfers.byCookie(p.cookie)
		if t == nil {
			err = errors.New("no transfer waits for that cookie")
		} else {
			err = t.attach(c.TCPConn, p.stream)
		}
	}
	if err != nil {
		_ = c.Close()
		s.log.Debug("stream refused", "from", c.from, "err", err)
	}
}

func (s *Server) hello(c caller) Hello {
	return Hello{
		Protocol: Protocol, Version: version.String(), Host: s.name,
		Authorised: c.authorised, Changes: s.changes != nil, Limits: s.limits(c),
		Features: s.features(),
	}
}

func (s *Server) features() []string {
	features := []string{"transfers", "iperf3", "ndt7"}
	if s.responder != nil {
		features = append(features, "probes")
	}
	if s.allowJobs {
		features = append(features, "jobs")
	}
	if s.jobs.shelf != nil {
		features = append(features, "results")
	}
	return features
}

func (s *Server) limits(c caller) Limits {
	if c.authorised {
		return s.token
	}
	return s.public
}
