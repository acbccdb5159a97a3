package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/fullbore/fullbore/peer"
)

type serveCmd struct {
	Bind         string `placeholder:"ADDRESS" help:"Listen on this address only (default: all of the host's)."`
	Port         uint16 `short:"p" default:"5201" help:"TCP and UDP port; 0 takes a free one."`
	AllowChanges bool   `help:"Let clients with the token change this host's tunables. What they do not confirm is put back."`
	Ephemeral    bool   `help:"Make a new token for this run instead of keeping one."`
	JSON         bool   `name:"json" help:"Print where it listens and its token as one line of JSON."`
	OpenAPI      bool   `name:"openapi" help:"Print the OpenAPI document of the control API, and exit."`
}

// serveDocument is what serve --json prints once it listens.
type serveDocument struct {
	Schema  string `json:"schema"` // "fullbore/serve/1"
	Listen  string `json:"listen"` // address:port, TCP and UDP
	Token   string `json:"token"`
	Changes bool   `json:"changes"` // allowed with the token
}

func (c *serveCmd) Run(app *app) error {
	if c.OpenAPI {
		document, err := peer.OpenAPI()
		if err != nil {
			return fmt.Errorf("make OpenAPI document: %w", err)
		}
		_, err = fmt.Fprintf(app.stdout, "%s\n", document)
		return err
	}
	log := slog.New(slog.NewTextHandler(app.stderr, nil))
	identity, err := c.identity(log)
	if err != nil {
		return err
	}
	config := peer.Config{Identity: identity, Log: log}
	if c.AllowChanges {
		changes, err := localChanges()
		if err != nil {
			return fmt.Errorf("allow changes: %w", err)
		}
		if err := changes.Expire(app.ctx); err != nil {
			log.Warn("earlier changes may still be live: see fullbore status", "err", err)
		}
		config.Changes = changes
	}
	server, err := peer.NewServer(config)
	if err != nil {
		return err
	}
	listener, packets, err := peer.Listen(app.ctx, net.JoinHostPort(c.Bind, strconv.Itoa(int(c.Port))))
	if err != nil {
		return &hinted{err: err, hint: "is another far end or an iperf3 server running here? fullbore serve --port PORT takes another port", code: exitFailed}
	}
	if err := c.announce(app, listener.Addr(), identity.Token()); err != nil {
		return err
	}
	return server.Serve(app.ctx, listener, packets)
}

// identity is the kept one, so that the token outlives a restart. A host where
// nothing can be kept is still a far end.
func (c *serveCmd) identity(log *slog.Logger) (*peer.Identity, error) {
	if c.Ephemeral {
		return peer.NewIdentity()
	}
	dir, err := peer.DefaultDir()
	if err == nil {
		var kept *peer.Identity
		if kept, err = peer.LoadIdentity(dir); err == nil {
			return kept, nil
		}
	}
	log.Warn("the token holds for this run only", "err", err)
	return peer.NewIdentity()
}

func (c *serveCmd) announce(app *app, at net.Addr, token string) error {
	if c.JSON {
		return json.NewEncoder(app.stdout).Encode(serveDocument{
			Schema: "fullbore/serve/1", Listen: at.String(), Token: token, Changes: c.AllowChanges,
		})
	}
	may := "reads this host's facts and lifts limits; --allow-changes lets it change tunables too"
	if c.AllowChanges {
		may = "reads this host's facts and changes its tunables: give it only to who may do that"
	}
	_, err := fmt.Fprintf(app.stdout, "Listening on %s (TCP and UDP). Anyone may measure.\nToken: %s\n  %s.\n", at, token, may)
	return err
}
