package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/metrics"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/web"
	"github.com/fullbore/fullbore/web/live"
	"github.com/fullbore/fullbore/web/task"
)

// pageCmd serves the page.
type pageCmd struct {
	Bind    string   `default:"127.0.0.1:5280" placeholder:"ADDRESS:PORT" help:"Listen there (${default}); port 0 takes a free one. Elsewhere than on the loopback it is encrypted, and nobody sees anything without the secret."`
	Name    []string `placeholder:"HOST" help:"A name by which browsers call this host, besides its own and its addresses; can be given again."`
	OpenAPI bool     `name:"openapi" help:"Print the OpenAPI document of the page's API, and exit."`
	JSON    bool     `help:"Print where it listens as one line of JSON, and again each time the secret was used."`
}

// pageDocument is what page --json prints.
type pageDocument struct {
	Schema  string `json:"schema"`  // "fullbore/page/1"
	Address string `json:"address"` // with the secret: whoever opens it first may start runs
}

func (c *pageCmd) Run(app *app) error {
	if c.OpenAPI {
		document, err := web.OpenAPI()
		if err != nil {
			return fmt.Errorf("make OpenAPI document: %w", err)
		}
		_, err = fmt.Fprintf(app.stdout, "%s\n", document)
		return err
	}
	listener, err := net.Listen("tcp", c.Bind)
	if err != nil {
		return &hinted{err: fmt.Errorf("listen for browsers: %w", err), hint: "is another page running here? --bind 127.0.0.1:0 takes a free port", code: exitFailed}
	}
	at := listener.Addr().(*net.TCPAddr)
	options := web.AccessOptions{Open: at.IP.IsLoopback(), Names: names(c.Name)}
	scheme := "http"
	if !options.Open {
		identity, err := peer.OwnIdentity(false, slog.New(slog.NewTextHandler(app.stderr, nil)))
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		listener, scheme = tls.NewListener(listener, identity.TLS()), "https"
	}
	announce := func(secret string) {
		c.announce(app.stdout, scheme+"://"+named(at)+"/enter?secret="+secret)
	}
	options.Renewed = announce
	pages, err := startPages(app, options, false)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if !c.JSON {
		_, _ = fmt.Fprintf(app.stdout, "The page is at %s://%s/. Who opens it by this address may start and stop runs; it works once:\n", scheme, named(at))
	}
	announce(pages.access.Secret())
	return pages.serve(app, listener)
}

// announce prints an address that works once.
func (c *pageCmd) announce(out io.Writer, address string) {
	if c.JSON {
		_ = json.NewEncoder(out).Encode(pageDocument{"fullbore/page/1", address})
		return
	}
	_, _ = fmt.Fprintln(out, "  ", address) // a reader that is gone cannot open it either
}

// names are those by which browsers may call this host.
func names(more []string) []string {
	if own, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(own, ".")
		more = append(more, own, short)
	}
	return more
}

// named is an address as a browser is given it: of all of a host's, by its name.
func named(at *net.TCPAddr) string {
	if at.IP.IsUnspecified() {
		host, err := os.Hostname()
		if err != nil {
			host = "localhost"
		}
		return net.JoinHostPort(host, fmt.Sprint(at.Port))
	}
	return at.String()
}

// pages is the page with what goes on behind it.
type pages struct {
	*web.Page
	access  *web.Access
	hub     *live.Hub
	tasks   *task.Tasks
	numbers *metrics.Metrics
}

// Close frees what the page has open.
func (p *pages) Close() error { return errors.Join(p.Page.Close(), p.numbers.Close()) }

// startPages makes the page of this host's record, with what can be started from it:
// only what leaves the tunables alone, if these are fixed.
func startPages(app *app, options web.AccessOptions, fixed bool) (*pages, error) {
	log := slog.New(slog.NewTextHandler(app.stderr, nil))
	place, err := record.Place()
	if err != nil {
		return nil, err
	}
	options.Log = log
	p := &pages{access: web.NewAccess(options), hub: live.NewHub()}
	p.tasks = task.New(task.Options{
		Place: place, Fixed: fixed, Observe: p.hub.Observer,
		Changed: func(t task.Task) { p.hub.Publish(live.OfTask(t.ID), t) },
		Gone:    func(id string) { p.hub.Forget(live.OfTask(id)) },
	})
	name, _ := os.Hostname() // a host without one has no page of its own
	p.numbers = metrics.New(metrics.ThisHost(log))
	p.Page = web.New(web.Config{
		Place: place, Access: p.access, Hub: p.hub, Tasks: p.tasks, Host: name, Log: log,
		Changes: func() ([]change.Set, error) {
			manager, err := localChanges()
			if err != nil {
				return nil, err
			}
			return manager.Journals()
		},
		Metrics: p.numbers,
	})
	return p, nil
}

// serve answers until the context ends, and then ends what was started.
func (p *pages) serve(app *app, listener net.Listener) error {
	server := &http.Server{
		Handler: p, ReadHeaderTimeout: web.RequestWithin, ReadTimeout: web.RequestWithin, WriteTimeout: web.AnswerWithin, IdleTimeout: web.IdleFor,
		MaxHeaderBytes: web.MostHeader, ErrorLog: slog.NewLogLogger(p.Log.Handler(), slog.LevelDebug),
	}
	group, ctx := errgroup.WithContext(app.ctx)
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve the page: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		p.endTasks(app)
		parting, done := context.WithTimeout(context.WithoutCancel(ctx), parting)
		defer done()
		if server.Shutdown(parting) != nil {
			_ = server.Close()
		}
		return p.Close()
	})
	return group.Wait()
}

// parting is how long browsers may take for what they have asked for.
const parting = time.Second

// endTasks stops what was started, says what is awaited, and ends all streams.
func (p *pages) endTasks(app *app) {
	p.tasks.Close(func(t task.Task) {
		_, _ = fmt.Fprintf(app.stderr, "fullbore: waiting for %s, which puts back what it changed\n", strings.Join(append([]string{"fullbore"}, t.Command...), " "))
	})
	p.hub.Close()
}
