// Package agent is a host that cannot be called, and calls: it dials a hub, or NATS servers of the
// organisation's own, and measures when it is asked to there.
package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/fullbore/fullbore/fleet/bus"
	"github.com/fullbore/fullbore/fleet/task"
	"github.com/fullbore/fullbore/hostport"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/statedir"
	"github.com/fullbore/fullbore/version"
)

// Command is an agent as a command line has it: a host that dials a hub, and measures when it is asked to.
type Command struct {
	Broker
	Token   string `env:"FULLBORE_TOKEN" placeholder:"TOKEN" help:"What the hub printed for agents. It is kept here."`
	Name    string `placeholder:"NAME" help:"What people call this host (its host name)."`
	Address string `placeholder:"ADDRESS[:PORT]" help:"Where other hosts reach this one (the address that goes to the hub, and --port)."`
	Bind    string `short:"B" placeholder:"ADDRESS" help:"Take transfers on this address only (default: all of the host's)."`
	Port    uint16 `short:"p" default:"5201" placeholder:"PORT" help:"TCP and UDP port of transfers (5201); 0 takes a free one."`
	JSON    bool   `short:"J" name:"json" help:"Print what this agent is, once it is connected, as one line of JSON."`
	task.Leave
}

// What an agent's folder has, besides its key.
const (
	keptToken   = "token"   // that it joined with
	keptResults = "results" // that no hub has fetched yet
)

// Run dials in, and answers until the context ends. It is a far end too, of an identity. Errors that are [ErrUsage] are of the command line.
func (c *Command) Run(ctx context.Context, stdout io.Writer, log *slog.Logger, identity *peer.Identity) error {
	if err := c.Check(); err != nil {
		return err
	}
	dir, err := statedir.For("agent")
	if err != nil {
		return err
	}
	key, err := bus.LoadKey(dir)
	if err != nil {
		return err
	}
	if c.Hub != "" {
		if c.Token, err = tokenIn(dir, c.Token); err != nil {
			return err
		}
	}
	name, err := c.name()
	if err != nil {
		return err
	}
	login, err := c.Login(c.Token, name, log)
	if err != nil {
		return err
	}
	login.Key = key
	config := peer.Config{Identity: identity, Log: log, Jobs: true, Results: filepath.Join(dir, keptResults)}
	if err := c.Allow(ctx, &config); err != nil {
		return err
	}
	server, err := peer.NewServer(config)
	if err != nil {
		return err
	}
	listener, packets, err := peer.Listen(ctx, net.JoinHostPort(c.Bind, strconv.Itoa(int(c.Port))))
	if err != nil {
		return fmt.Errorf("%w: is another far end or an iperf3 server running here? --port takes another port", err)
	}
	here := bus.Here{Schema: bus.Schema, ID: key.ID(), Name: name, Version: version.String(), Since: time.Now().UTC().Truncate(time.Second)}
	if here.Address, err = c.reachedAt(login.URL, listener.Addr().(*net.TCPAddr).Port); err != nil {
		return errors.Join(err, listener.Close(), packets.Close())
	}
	if err := here.Check(); err != nil {
		return errors.Join(usage("%w", err), listener.Close(), packets.Close())
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.Serve(ctx, listener, packets) })
	group.Go(func() error {
		return c.answer(ctx, stdout, login, bus.Agent{Here: here, Handler: server.Carried(), Log: log})
	})
	return group.Wait()
}

// answer connects, however long that takes, and answers until the context ends.
func (c *Command) answer(ctx context.Context, stdout io.Writer, login bus.Login, agent bus.Agent) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	conn, err := Connect(ctx, login, end)
	if err != nil {
		if ctx.Err() != nil { // it is stopped, as services are
			return nil
		}
		return err
	}
	defer conn.Close()
	if err := c.announce(stdout, login.URL, agent.Here); err != nil {
		return err
	}
	err = agent.Serve(ctx, conn)
	if cause := context.Cause(ctx); errors.Is(cause, bus.ErrRefused) {
		return cause
	}
	return err
}

// Connect tries until the server is there: after a power cut an agent may be up before it. A server that
// does not let it in, or is another one than the token is of, is an error at once.
func Connect(ctx context.Context, login bus.Login, lost func(error)) (*nats.Conn, error) {
	for said := ""; ; {
		conn, err := bus.Connect(ctx, login, lost)
		if err == nil || ctx.Err() != nil || errors.Is(err, bus.ErrRefused) || errors.Is(err, peer.ErrWrongHost) {
			return conn, err
		}
		if says := err.Error(); says != said {
			login.Log.Warn("not connected yet: tried again now and then", "err", err)
			said = says
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// again is how long an agent waits before it tries again to reach a server that is not there.
const again = 5 * time.Second

func (c *Command) announce(stdout io.Writer, url string, here bus.Here) error {
	if c.JSON {
		return json.NewEncoder(stdout).Encode(here)
	}
	_, err := fmt.Fprintf(stdout, "Agent %s at %s: transfers on %s (TCP and UDP). ID %s.\n", here.Name, url, here.Address, here.ID)
	return err
}

// tokenIn is the one given, which is kept in a folder, or else the one kept there.
func tokenIn(dir, given string) (string, error) {
	path := filepath.Join(dir, keptToken)
	if given == "" {
		kept, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return "", nil
		}
		return strings.TrimSpace(string(kept)), err
	}
	if err := statedir.Keep(path, []byte(given+"\n")); err != nil {
		return "", fmt.Errorf("keep the hub's token: %w", err)
	}
	return given, nil
}

func (c *Command) name() (string, error) {
	if c.Name != "" {
		return c.Name, nil
	}
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "", usage("this host has no name: give one with --name")
	}
	return name, nil
}

// reachedAt is where other hosts reach this one's far end: at the address that this host goes to the server
// from, unless it is told another one.
func (c *Command) reachedAt(servers string, port int) (string, error) {
	if c.Address != "" {
		host, told, err := hostport.Parse(c.Address, uint16(port))
		if err != nil {
			return "", usage("--address %w", err)
		}
		return net.JoinHostPort(host, strconv.Itoa(int(told))), nil
	}
	if c.Bind != "" {
		return net.JoinHostPort(c.Bind, strconv.Itoa(port)), nil
	}
	first, _, _ := strings.Cut(servers, ",")
	u, err := url.Parse(strings.TrimSpace(first))
	if err != nil || u.Hostname() == "" {
		return "", usage("--nats %q: use nats://HOST:PORT", first)
	}
	conn, err := net.Dial("udp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "4222"))) // sends nothing
	if err != nil {
		return "", fmt.Errorf("find the address of this host that goes to %s: %w: give it with --address", u.Host, err)
	}
	defer func() { _ = conn.Close() }()
	return net.JoinHostPort(conn.LocalAddr().(*net.UDPAddr).IP.String(), strconv.Itoa(port)), nil
}
