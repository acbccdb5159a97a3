// Command fullbore-agent is fullbore's far end, and its agent of a hub, alone: what `fullbore serve` and
// `fullbore agent` do, without what only the other verbs need. It is what goes to other hosts over ssh.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/fleet/agent"
	"github.com/fullbore/fullbore/fleet/task"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/version"
	page "github.com/fullbore/fullbore/web/task"
)

// cli is the command line. Flags are those of `fullbore serve` and `fullbore agent`.
type cli struct {
	Serve    serveCmd    `cmd:"" help:"Be the far end."`
	Agent    agentCmd    `cmd:"" help:"Be one of many hosts: dial a hub, and measure when it is asked to."`
	Watchdog watchdogCmd `cmd:"" hidden:"" help:"Revert a change set that is not confirmed."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
}

func main() {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // until the process ends
	parsed := kong.Parse(&cli{}, kong.Name("fullbore-agent"), kong.Description("A far end, or an agent of a hub: what `fullbore serve` and `fullbore agent` do, alone."), kong.UsageOnError())
	parsed.BindTo(page.EndsWithPage(ctx), (*context.Context)(nil))
	if err := parsed.Run(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "fullbore-agent:", err)
		os.Exit(1)
	}
}

func newLog() *slog.Logger { return slog.New(slog.NewTextHandler(os.Stderr, nil)) }

type serveCmd struct {
	Bind    string `short:"B" placeholder:"ADDRESS" help:"Listen on this address only (default: all of the host's)."`
	Port    uint16 `short:"p" default:"5201" placeholder:"PORT" help:"TCP and UDP port (5201); 0 takes a free one."`
	AnyPort bool   `hidden:"" help:"Take another port where this one is taken."`
	task.Leave
	AllowJobs bool `help:"Let clients with the token have this host send to other far ends ('fullbore fleet run')."`
	Ephemeral bool `help:"Make a new token for this run instead of keeping one."`
	JSON      bool `short:"J" name:"json" help:"Print where it listens and its token as one line of JSON."`
}

func (c *serveCmd) Run(ctx context.Context) error {
	log := newLog()
	identity, err := peer.OwnIdentity(c.Ephemeral, log)
	if err != nil {
		return err
	}
	config := peer.Config{Identity: identity, Log: log, Jobs: c.AllowJobs}
	if err := c.Allow(ctx, &config); err != nil {
		return err
	}
	server, err := peer.NewServer(config)
	if err != nil {
		return err
	}
	listener, packets, err := peer.Listen(ctx, net.JoinHostPort(c.Bind, strconv.Itoa(int(c.Port))))
	if err != nil && c.AnyPort {
		listener, packets, err = peer.Listen(ctx, net.JoinHostPort(c.Bind, "0"))
	}
	if err != nil {
		return err
	}
	says := peer.Listening{Schema: peer.ListeningSchema, Listen: listener.Addr().String(), Token: identity.Token(), Changes: config.Changes != nil}
	if c.JSON {
		err = json.NewEncoder(os.Stdout).Encode(says)
	} else {
		_, err = fmt.Printf("Listening on %s (TCP and UDP).\nToken: %s\n", says.Listen, says.Token)
	}
	if err != nil {
		return err
	}
	return server.Serve(ctx, listener, packets)
}

type agentCmd struct{ agent.Command }

func (c *agentCmd) Run(ctx context.Context) error {
	log := newLog()
	identity, err := peer.OwnIdentity(false, log)
	if err != nil {
		return err
	}
	return c.Command.Run(ctx, os.Stdout, log, identity)
}

// watchdogCmd is started by change, as the verb of fullbore is.
type watchdogCmd struct {
	Dir   string `required:"" help:"Where the journals are."`
	Owned bool   `help:"Standard input ends with the process that owns the change set."`
	ID    string `arg:""`
}

func (c *watchdogCmd) Run(ctx context.Context) error {
	manager, err := change.NewManager(c.Dir, change.Kernel{})
	if err != nil {
		return err
	}
	var owner io.Reader
	if c.Owned {
		owner = os.Stdin
	}
	return manager.Watch(ctx, c.ID, owner, os.Stdout)
}

type versionCmd struct{}

func (c *versionCmd) Run() error {
	_, err := fmt.Println("fullbore", version.String())
	return err
}
