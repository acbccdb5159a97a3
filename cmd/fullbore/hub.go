package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/fullbore/fullbore/fleet/agent"
	"github.com/fullbore/fullbore/fleet/hub"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/statedir"
)

type hubCmd struct {
	Bind string `short:"B" placeholder:"ADDRESS" help:"Listen on this address only (default: all of the host's)."`
	Port uint16 `short:"p" default:"5202" placeholder:"PORT" help:"TCP port (5202); 0 takes a free one."`
	JSON bool   `short:"J" name:"json" help:"Print where it listens and its tokens as one line of JSON."`
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
	dir, err := hubFolder()
	if err != nil {
		return err
	}
	identity, err := peer.LoadIdentity(dir)
	if err != nil {
		return fmt.Errorf("the hub's identity: %w", err)
	}
	at, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(c.Bind, strconv.Itoa(int(c.Port))))
	if err != nil {
		return usageError("--bind: %w", err)
	}
	h, err := hub.Start(hub.Config{Listen: at, Identity: identity, Dir: dir, Log: slog.New(slog.NewTextHandler(app.stderr, nil))})
	if err != nil {
		return &hinted{err: err, hint: "is another hub running here? fullbore hub --port PORT takes another port", code: exitFailed}
	}
	defer h.Close()
	if err := c.announce(app, h); err != nil {
		return err
	}
	<-app.ctx.Done()
	return nil
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
	return c.Command.Run(app.ctx, app.stdout, log, identity, agent.Diagnose)
}
