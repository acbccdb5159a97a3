package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/agent"
	"github.com/fullbore/fullbore/fleet/hub"
	"github.com/fullbore/fullbore/fleet/regular"
	"github.com/fullbore/fullbore/fleet/schedule"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/statedir"
)

type hubCmd struct {
	Bind     string `short:"B" placeholder:"ADDRESS" help:"Listen on this address only (default: all of the host's)."`
	Port     uint16 `short:"p" default:"5202" placeholder:"PORT" help:"TCP port (5202); 0 takes a free one."`
	Schedule string `placeholder:"FILE" help:"Run these experiments again and again, and keep what they come to (docs/fleet.md)."`
	NATS     string `name:"nats" placeholder:"URL,..." help:"With --schedule: be no hub, but meet the agents at servers of the organisation's own NATS cluster."`
	Creds    string `placeholder:"FILE" help:"With --nats: the credentials file that its administrator made."`
	JSON     bool   `short:"J" name:"json" help:"Print where it listens and its tokens as one line of JSON."`
}

// hubDocument is what hub --json prints once it listens.
type hubDocument struct {
	Schema string `json:"schema"` // "fullbore/hub/1"
	Listen string `json:"listen"` // address:port, TCP
	Join   string `json:"join"`   // lets agents in
	Token  string `json:"token"`  // lets experiments be run
}

// hubFolder is where a hub keeps its identity and its agents.
func hubFolder() (string, error) { return statedir.For("hub") }

func (c *hubCmd) Run(app *app) error {
	log := slog.New(slog.NewTextHandler(app.stderr, nil))
	var plan *schedule.Schedule
	var place string // of the record
	if c.Schedule != "" {
		var err error
		if plan, err = schedule.Load(c.Schedule); err != nil {
			return &hinted{err: err, code: exitUsage}
		}
		if place, err = record.Place(); err != nil {
			return err
		}
		if place == record.Nowhere {
			return &hinted{err: record.ErrNowhere, hint: "a schedule needs a record: name a file or a PostgreSQL database with " + record.Variable, code: exitFailed}
		}
	}
	if c.NATS != "" {
		if plan == nil {
			return usageError("--nats is for --schedule: to agents and experiments the servers are a hub as they are")
		}
		return c.keep(app, plan, place, agent.Broker{NATS: c.NATS, Creds: c.Creds}, "", log)
	}
	if c.Creds != "" {
		return usageError("--creds is for --nats")
	}
	h, err := c.start(log)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := c.announce(app, h); err != nil {
		return err
	}
	if plan != nil {
		return c.keep(app, plan, place, agent.Broker{Hub: reachedHere(h.Addr().(*net.TCPAddr))}, h.Token(), log)
	}
	<-app.ctx.Done()
	return nil
}

func (c *hubCmd) start(log *slog.Logger) (*hub.Hub, error) {
	dir, err := hubFolder()
	if err != nil {
		return nil, err
	}
	identity, err := peer.LoadIdentity(dir)
	if err != nil {
		return nil, fmt.Errorf("the hub's identity: %w", err)
	}
	at, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(c.Bind, strconv.Itoa(int(c.Port))))
	if err != nil {
		return nil, usageError("--bind: %w", err)
	}
	h, err := hub.Start(hub.Config{Listen: at, Identity: identity, Dir: dir, Log: log})
	if err != nil {
		return nil, &hinted{err: err, hint: "is another hub running here? fullbore hub --port PORT takes another port", code: exitFailed}
	}
	return h, nil
}

// reachedHere is where this process reaches its own hub.
func reachedHere(at *net.TCPAddr) string {
	if at.IP.IsUnspecified() {
		return net.JoinHostPort("localhost", strconv.Itoa(at.Port))
	}
	return at.String()
}

// keep runs the schedule with the agents that are connected there, until the hub is stopped.
func (c *hubCmd) keep(app *app, plan *schedule.Schedule, place string, b agent.Broker, token string, log *slog.Logger) error {
	login, err := b.Login(token, "schedule", log)
	if err != nil {
		return err
	}
	conn, err := agent.Connect(app.ctx, login, func(error) {}) // a request that comes later says so
	if err != nil {
		if app.ctx.Err() != nil {
			return nil // it was stopped, and may be at any time
		}
		return err
	}
	defer conn.Close()
	return regular.Run(app.ctx, regular.Config{
		Schedule: plan, Place: place, Command: withoutSecrets(app.args), Log: log,
		Hosts: func(ctx context.Context) ([]fleet.Member, func(), error) {
			members, err := agentsThere(ctx, conn, nil)
			return members, func() { hangUp(members) }, err
		},
	})
}

func (c *hubCmd) announce(app *app, h *hub.Hub) error {
	at := h.Addr().String()
	if c.JSON {
		return json.NewEncoder(app.stdout).Encode(hubDocument{"fullbore/hub/1", at, h.JoinToken(), h.Token()})
	}
	port := h.Addr().(*net.TCPAddr).Port
	_, err := fmt.Fprintf(app.stdout, `Hub on %s (TCP, TLS). On each host, with this hub's address:
  fullbore agent --hub HOST:%d --token %s
To run experiments from another host (on this one no token is needed):
  fullbore fleet run --hub HOST:%d --token %s
`, at, port, h.JoinToken(), port, h.Token())
	return err
}

// agentCmd is one of the hosts that dial it.
type agentCmd struct{ agent.Command }

func (c *agentCmd) Run(app *app) error {
	log := slog.New(slog.NewTextHandler(app.stderr, nil))
	identity, err := peer.OwnIdentity(false, log)
	if err != nil {
		return err
	}
	return c.Command.Run(app.ctx, app.stdout, log, identity)
}
