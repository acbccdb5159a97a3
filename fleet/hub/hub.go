// Package hub is where agents dial in: a NATS server in this process, with TLS, that lets agents in by
// their keys, and new ones by a token. Each agent may speak under its own subjects only.
package hub

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/fullbore/fullbore/fleet/bus"
	"github.com/fullbore/fullbore/peer"
)

// Config is what a hub is made of.
type Config struct {
	Listen   *net.TCPAddr   // port 0 takes a free one
	Identity *peer.Identity // its token lets in who runs experiments
	Dir      string         // keeps the agents that have joined
	Log      *slog.Logger
}

// Hub is a running one.
type Hub struct {
	server *server.Server
	agents *registry
	config Config
}

// joining is what the token to join is derived for.
const joining = "fullbore hub: join"

// Limits of the server: a request or an answer is a message, and a host that does not
// read is cut off before it takes much memory.
const (
	mostAgents   = 10_000
	mostPending  = 8 << 20
	mostSubjects = 64               // subscriptions of one connection
	patience     = 10 * time.Second // with TLS, logins and writes: many come at once after a restart
)

// Start starts a hub. It ends with Close.
func Start(c Config) (*Hub, error) {
	agents, err := openRegistry(c.Dir)
	if err != nil {
		return nil, err
	}
	h := &Hub{agents: agents, config: c}
	h.server, err = server.NewServer(&server.Options{
		ServerName: "fullbore-hub", Host: hostOf(c.Listen), Port: portOf(c.Listen),
		NoSigs: true, NoLog: true, NoSystemAccount: true,
		TLSConfig: c.Identity.TLS(), TLSHandshakeFirst: true, TLSTimeout: patience.Seconds(), AuthTimeout: patience.Seconds(),
		MaxConn: mostAgents, MaxSubs: mostSubjects, MaxPayload: bus.MostMessage, MaxPending: mostPending,
		PingInterval: bus.HereEvery, MaxPingsOut: 2, WriteDeadline: patience,
		DisableShortFirstPing: true, // a client that is slow to connect takes it for the answer that it waits for
		AlwaysEnableNonce:     true, CustomClientAuthentication: &gate{hub: h, join: c.Identity.Derive(joining)},
	})
	if err != nil {
		_ = agents.close()
		return nil, fmt.Errorf("start the hub: %w", err)
	}
	failed := make(chan string, 1)
	h.server.SetLoggerV2(told{c.Log, failed}, false, false, false)
	go h.server.Start()
	ready := make(chan bool, 1)
	go func() { ready <- h.server.ReadyForConnections(patience) }()
	select {
	case listens := <-ready:
		if listens {
			return h, nil
		}
	case why := <-failed:
		err = fmt.Errorf("the NATS server says: %s", why)
	}
	h.Close()
	return nil, fmt.Errorf("the hub does not listen on %s: %w", c.Listen, cmp.Or(err, errSilent))
}

var errSilent = errors.New("it does not start")

// hostOf is all addresses, of both families (net.Listen), where none is said.
func hostOf(a *net.TCPAddr) string {
	if len(a.IP) == 0 {
		return net.IPv4zero.String()
	}
	return a.IP.String()
}

// portOf has the NATS server take a free port where it is asked to: its own default is 0.
func portOf(a *net.TCPAddr) int {
	if a.Port == 0 {
		return server.RANDOM_PORT
	}
	return a.Port
}

// Addr is where it listens.
func (h *Hub) Addr() net.Addr { return h.server.Addr() }

// Token lets in who runs experiments, and JoinToken new agents.
func (h *Hub) Token() string { return h.config.Identity.Token() }

// JoinToken lets new agents in: see [Hub.Token].
func (h *Hub) JoinToken() string { return h.config.Identity.Derive(joining).Token() }

// Close cuts all connections.
func (h *Hub) Close() {
	h.server.Shutdown()
	h.server.WaitForShutdown()
	if err := h.agents.close(); err != nil {
		h.config.Log.Warn("the list of agents may be incomplete", "err", err)
	}
}

// told passes on what the NATS server says, and the first thing that it cannot go on after.
type told struct {
	log    *slog.Logger
	failed chan<- string
}

func (t told) Noticef(format string, v ...any) { t.log.Debug(fmt.Sprintf(format, v...)) }
func (t told) Warnf(format string, v ...any)   { t.log.Debug(fmt.Sprintf(format, v...)) }
func (t told) Errorf(format string, v ...any)  { t.log.Warn(fmt.Sprintf(format, v...)) }

func (t told) Fatalf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	t.log.Debug(text)
	select {
	case t.failed <- text:
	default:
	}
}
func (t told) Debugf(string, ...any) {}
func (t told) Tracef(string, ...any) {}
