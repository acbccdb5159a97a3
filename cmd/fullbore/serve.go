package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/fullbore/fullbore/fleet/task"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/printable"
)

type serveCmd struct {
	Bind string `short:"B" placeholder:"ADDRESS" help:"Listen on this address only (default: all of the host's)."`
	Port uint16 `short:"p" default:"5201" placeholder:"PORT" help:"TCP and UDP port (5201); 0 takes a free one."`
	task.Leave
	AllowJobs bool     `help:"Let clients with the token have this host send to other far ends, started together with other hosts ('fullbore fleet run')."`
	Ephemeral bool     `help:"Make a new token for this run instead of keeping one."`
	JSON      bool     `short:"J" name:"json" help:"Print where it listens and its token as one line of JSON, and give iperf3 clients that ask for the server's output JSON too."`
	Metrics   string   `placeholder:"FOLDER" help:"Give Prometheus this host's metrics at https://ADDRESS:PORT/metrics, over TLS only: the last run of each path, running flows, pending changes, tests. FOLDER gets the two files that its scrape_config names (docs/prometheus.md); who has them can read metrics and nothing else."`
	Page      bool     `help:"Show the page of this host's runs to browsers, at https://ADDRESS:PORT/: with the secret that is printed, or the token. Who may see it may start runs too; those that change this host's tunables with --allow-changes only (docs/page.md)."`
	PageName  []string `name:"page-name" placeholder:"HOST" help:"A name by which browsers call this host, besides its own and its addresses; can be given again."`
	AnyPort   bool     `hidden:"" help:"Take another port where this one is taken."`
	OpenAPI   bool     `name:"openapi" help:"Print the OpenAPI document of the control API, and exit."`

	MaxTime    time.Duration `default:"10m" placeholder:"DURATION" help:"Longest test (${default}). This and the next two are for clients without the token."`
	MaxStreams int           `default:"128" placeholder:"N" help:"Most streams of a test in one direction (${default})."`
	MaxClients int           `default:"4" placeholder:"N" help:"Most tests at once (${default}); where there are several, one client may have all but one."`

	IPerf3 iperf3Flags `embed:""`
	Files  nfsFlags    `embed:""`
}

// serveDocument is what serve --json prints once it listens.
type serveDocument struct {
	peer.Listening
	Metrics string     `json:"metrics,omitempty"` // address of the metrics, if there are any
	Page    string     `json:"page,omitempty"`    // its address, with the secret that works once
	NFS     *nfsServed `json:"nfs,omitempty"`     // with --nfs
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
	identity, err := peer.OwnIdentity(c.Ephemeral, log)
	if err != nil {
		return err
	}
	config := peer.Config{Identity: identity, Log: log, Jobs: c.AllowJobs}
	if config.Public, config.Token, err = c.limits(); err != nil {
		return err
	}
	if config.IPerf3, err = c.IPerf3.config(c.JSON); err != nil {
		return err
	}
	if err := c.Allow(app.ctx, &config); err != nil {
		return err
	}
	var shown *servedPage
	if c.Page {
		if shown, err = c.page(app, identity); err != nil {
			return err
		}
		config.Page = shown.pages
		defer shown.end()
	}
	var server *peer.Server // before it is there nobody asks
	if c.Metrics != "" {
		numbers, err := c.metricsFor(identity, log, func() peer.Activity { return server.Activity() })
		if err != nil {
			return err
		}
		defer func() { _ = numbers.Close() }() // the process ends
		config.Metrics = numbers
	}
	server, err = peer.NewServer(config)
	if err != nil {
		return err
	}
	listener, packets, err := peer.Listen(app.ctx, net.JoinHostPort(c.Bind, strconv.Itoa(int(c.Port))))
	if err != nil && c.AnyPort {
		listener, packets, err = peer.Listen(app.ctx, net.JoinHostPort(c.Bind, "0"))
	}
	if err != nil {
		return &hinted{err: err, hint: "is another far end or an iperf3 server running here? fullbore serve --port PORT takes another port", code: exitFailed}
	}
	files, err := c.Files.listen(app.ctx, c.Bind, log)
	if err != nil {
		_ = listener.Close()
		return err
	}
	if err := c.announce(app, listener.Addr(), identity.Token(), shown.listens(listener.Addr()), files.served()); err != nil {
		return err
	}
	if files != nil {
		go func() { // its end is the process's
			if err := files.Serve(app.ctx, files.listener); err != nil {
				log.Error("NFS is no longer served", "err", err) // all else still is
			}
		}()
	}
	return server.Serve(app.ctx, listener, packets)
}

func (c *serveCmd) announce(app *app, at net.Addr, token, page string, files *nfsServed) error {
	if c.JSON {
		return json.NewEncoder(app.stdout).Encode(serveDocument{
			Listening: peer.Listening{Schema: peer.ListeningSchema, Listen: at.String(), Token: token, Changes: c.Changes()}, Metrics: c.metricsURL(at), Page: page, NFS: files,
		})
	}
	may := "reads this host's facts and lifts limits; --allow-changes lets it change tunables too"
	if c.Changes() {
		may = "reads this host's facts and changes its tunables: give it only to who may do that"
	}
	who := "Anyone may measure, also with iperf3 or an ndt7 client."
	if c.IPerf3.authorises() {
		who = "Anyone may measure, also with an ndt7 client; with iperf3, users may."
	}
	where := ""
	if url := c.metricsURL(at); url != "" {
		where = fmt.Sprintf("Metrics: %s\n  for Prometheus with %s and %s of %s.\n", url, credentialsFile, certificateFile, printable.Line(c.Metrics))
	}
	_, err := fmt.Fprintf(app.stdout, "Listening on %s (TCP and UDP). %s\nToken: %s\n  %s.\n%s", at, who, token, may, where)
	if err == nil && page != "" {
		runs := "runs from here that leave this host's tunables alone"
		if c.Changes() {
			runs = "runs from here, which may change this host's tunables"
		}
		_, err = fmt.Fprintf(app.stdout, "Page: %s\n  works once, and lets a browser start %s; so does the token.\n", page, runs)
	}
	if err == nil && files != nil {
		_, err = fmt.Fprint(app.stdout, files.says())
	}
	return err
}

// limits are those of clients without the token, and with it: these are never
// less.
func (c *serveCmd) limits() (public, token peer.Limits, err error) {
	public, token = peer.PublicLimits(), peer.TokenLimits()
	public.Transfer, public.Streams, public.Transfers = c.MaxTime, c.MaxStreams, c.MaxClients
	switch {
	case c.MaxTime < time.Second || c.MaxTime > token.Transfer:
		return public, token, usageError("--max-time: %v: use 1s to %v", c.MaxTime, token.Transfer)
	case c.MaxStreams < 1 || c.MaxStreams > token.Streams:
		return public, token, usageError("--max-streams: %d: use 1 to %d", c.MaxStreams, token.Streams)
	case c.MaxClients < 1 || c.MaxClients > mostClients:
		return public, token, usageError("--max-clients: %d: use 1 to %d", c.MaxClients, mostClients)
	}
	token.Transfers = max(token.Transfers, public.Transfers)
	return public, token, nil
}

// mostClients keeps what all of them may take within the memory of a usual host:
// some 40 MB each of one with 128 streams in both directions.
const mostClients = 100
