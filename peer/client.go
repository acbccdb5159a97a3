package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/host/collector"
	"github.com/fullbore/fullbore/hostport"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/version"
)

// Client talks to one far end.
type Client struct {
	target  string // as errors name it: host:port
	streams string // where streams go, if that is not the target: host:port
	token   *token // nil: none
	address atomic.Pointer[netip.AddrPort]
	http    *http.Client
	hello   Hello
	timing  clientTiming
}

var _ path.Helper = (*Client)(nil)

// Dial finds out who is at the target ("host" or "host:port") and checks that
// both ends speak the same protocol version and, with a token ("" for none),
// that it is the host the token is for and that it accepts the token.
//
// Errors: [ErrUnknownHost], [ErrUnreachable], [ErrNotFullbore], [ErrVersion],
// [ErrWrongHost], [ErrToken], [ErrBusy].
func Dial(ctx context.Context, target, tokenString string) (*Client, error) {
	host, port, err := hostport.Parse(target, DefaultPort)
	if err != nil {
		return nil, fmt.Errorf("far end %w", err)
	}
	c := &Client{timing: usualClientTiming, target: net.JoinHostPort(host, strconv.Itoa(int(port)))}
	if tokenString != "" {
		t, err := parseToken(tokenString)
		if err != nil {
			return nil, err
		}
		c.token = &t
	}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialTLSContext:         c.connect,
			MaxIdleConnsPerHost:    4,
			IdleConnTimeout:        idleFor / 2, // before the far end closes it
			MaxResponseHeaderBytes: 16 << 10,
			DisableCompression:     true, // what comes is counted before and after
		},
		CheckRedirect: asItIs,
	}
	if err := c.greet(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Over reaches a far end whose control API another carrier brings there, as [Server.Carried] expects
// it; streams of transfers go to its address, as [Dial] takes it. Its name is for errors.
//
// Errors: those of the carrier, as [ErrUnreachable], [ErrNotFullbore], [ErrVersion].
func Over(ctx context.Context, carrier http.RoundTripper, name, address string) (*Client, error) {
	if _, _, err := hostport.Parse(address, DefaultPort); err != nil {
		return nil, err
	}
	c := &Client{timing: usualClientTiming, target: name, streams: address, http: &http.Client{Transport: carrier, CheckRedirect: asItIs}}
	if err := c.greet(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// asItIs takes a redirection as the answer: a far end sends none.
func asItIs(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (c *Client) greet(ctx context.Context) error {
	if err := c.call(ctx, request{method: http.MethodGet, path: "/v1/hello", answer: &c.hello}); err != nil {
		return err
	}
	c.hello.Host, c.hello.Version = oneLine(c.hello.Host), oneLine(c.hello.Version)
	if c.hello.Protocol != Protocol {
		which := "this end"
		if c.hello.Protocol < Protocol {
			which = "the far end"
		}
		return &failure{kind: ErrVersion, says: fmt.Sprintf("%s speaks protocol %d (fullbore %s), this end protocol %d (fullbore %s): upgrade %s",
			c.target, c.hello.Protocol, c.hello.Version, Protocol, version.String(), which)}
	}
	return nil
}

// Hello is what the far end said of itself when it was dialled.
func (c *Client) Hello() Hello { return c.hello }

// Addr is the address and TCP port that is talked to.
func (c *Client) Addr() netip.AddrPort {
	if a := c.address.Load(); a != nil {
		return *a
	}
	return netip.AddrPort{}
}

// Close lets go of the connections. It ends nothing at the far end.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// settle fixes the address: a name may have several, and one path is measured.
func (c *Client) settle(conn *net.TCPConn) {
	remote := remoteOf(conn)
	c.address.CompareAndSwap(nil, &remote)
}

func (c *Client) dialAddress() string {
	if a := c.address.Load(); a != nil {
		return a.String()
	}
	return cmp.Or(c.streams, c.target)
}

// Facts are those of the far end's host, held against the catalogue of tunables
// and against what can be: they are planned with, shown, and written into
// commands.
//
// Errors: [ErrMeasuresOnly] without the token, [ErrForbidden], [ErrToken],
// [ErrTimeout], [ErrFailed] when the far end cannot read them itself, [ErrTooMuch]
// and [ErrNotFullbore] for what cannot be facts, and those of [Dial].
func (c *Client) Facts(ctx context.Context) (*host.Facts, error) {
	var facts host.Facts
	err := c.call(ctx, request{method: http.MethodGet, path: "/v1/facts", answer: &facts, most: factsAnswer, patience: c.timing.working})
	if errors.Is(err, ErrForbidden) && !c.hello.Authorised {
		return nil, &failure{kind: ErrMeasuresOnly, says: fmt.Sprintf("%s only measures for clients without its token: %v", c.target, err)}
	}
	if err != nil {
		return nil, err
	}
	if _, err := collector.Vet(&facts); err != nil { // notes are of names that a newer far end may well have
		return nil, &failure{kind: ErrNotFullbore, says: fmt.Sprintf("%s reports facts of its host that cannot be right", c.target), cause: err}
	}
	return &facts, nil
}

// OpenProbe asks the far end to answer path probes from this host.
func (c *Client) OpenProbe(ctx context.Context) (path.Ticket, error) {
	var ticket path.Ticket
	err := c.call(ctx, request{method: http.MethodPost, path: "/v1/probes", answer: &ticket})
	return ticket, err
}

// Observed asks what the far end saw of path probes so far.
func (c *Client) Observed(ctx context.Context, cookie string) (path.Observed, error) {
	var observed path.Observed
	err := c.call(ctx, request{method: http.MethodGet, path: resource("/v1/probes", cookie), answer: &observed, most: probeAnswer})
	return observed, err
}
