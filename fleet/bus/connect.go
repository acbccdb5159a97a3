package bus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
)

// Login is how to get into a NATS server: a hub's, or the organisation's own.
type Login struct {
	URL   string      // nats://host:port; several of one cluster with commas between them
	Name  string      // as the server's own pages list the connection
	TLS   *tls.Config // of a hub, whose TLS begins at once; nil: as the URL and the server have it
	Token string      // the secret that a hub lets in with; "" for none
	Key   *Key        // an agent's; nil: nobody is known by one
	Creds string      // a .creds file for the organisation's own server; "" for none
	Log   *slog.Logger
}

// Times of a connection. A server that is gone is noticed after two pings; clients that
// all lost it come back one after the other.
const (
	connectWithin = 10 * time.Second
	pingEvery     = 10 * time.Second
	pingsOut      = 2
	againAfter    = time.Second
	apart         = 2 * time.Second
)

// ErrRefused says that the server does not let this end in.
var ErrRefused = errors.New("not let in")

// Connect connects, and from then on again whenever the connection is lost; lost is told why once the
// server has refused that, after which nothing more comes.
func Connect(ctx context.Context, l Login, lost func(error)) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name(l.Name), nats.Timeout(connectWithin), nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsOut),
		nats.MaxReconnects(-1), nats.ReconnectWait(againAfter), nats.ReconnectJitter(apart, apart),
		nats.ReconnectBufSize(-1), // what cannot be sent now is an error now
		nats.DisconnectErrHandler(func(c *nats.Conn, err error) {
			if err != nil && !c.IsClosed() {
				l.Log.Warn("the connection is lost, and made again", "server", c.ConnectedUrlRedacted(), "why", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) { l.Log.Info("connected again", "server", c.ConnectedUrlRedacted()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { l.Log.Warn("the NATS server says", "err", err) }),
		nats.ClosedHandler(func(c *nats.Conn) {
			if err := c.LastError(); err != nil {
				lost(understand(l.URL, err))
			}
		}),
	}
	if l.TLS != nil {
		options = append(options, nats.Secure(l.TLS), nats.TLSHandshakeFirst())
	}
	if l.Token != "" {
		options = append(options, nats.Token(l.Token))
	}
	if l.Creds != "" {
		options = append(options, nats.UserCredentials(l.Creds))
	}
	if l.Key != nil {
		options = append(options, nats.CustomInboxPrefix(inboxOf(l.Key.ID())))
		if l.Creds == "" && l.TLS != nil {
			options = append(options, l.Key.login())
		}
	}
	type made struct {
		conn *nats.Conn
		err  error
	}
	done := make(chan made, 1)
	go func() { // it takes no context
		conn, err := nats.Connect(l.URL, options...)
		done <- made{conn, err}
	}()
	select {
	case m := <-done:
		if m.err != nil {
			return nil, understand(l.URL, m.err)
		}
		return m.conn, nil
	case <-ctx.Done():
		go func() {
			if m := <-done; m.err == nil {
				m.conn.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// understand says what an error of the connection means.
func understand(url string, err error) error {
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return fmt.Errorf("%s: %w: %w", url, ErrRefused, err)
	case errors.Is(err, nats.ErrNoServers):
		return fmt.Errorf("%s: no NATS server answers there: %w", url, err)
	}
	return fmt.Errorf("%s: %w", url, err)
}
