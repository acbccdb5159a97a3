package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/peer/iperf3"
	"github.com/fullbore/fullbore/peer/iperf3/document"
	"github.com/fullbore/fullbore/peer/ndt7"
)

// farEnd is what transfers are run with, one after the other.
type farEnd interface {
	// blank is a record before its transfer: what was asked for, and of whom.
	blank() document.Record
	// test runs a transfer, and gives its record, also with an error. opened is
	// called with it before data moves, with all that is known by then.
	test(ctx context.Context, opened func(document.Record), watch func(bulk.Progress)) (*document.Record, error)
	Close() error
}

// open finds the far end, and checks that it can do what the flags ask.
func (e *Endpoint) open(app *app, flags *transferFlags, spec bulk.Spec) (farEnd, error) {
	kind, address, err := e.parse()
	if err != nil {
		return nil, err
	}
	if kind == sshProtocol && flags.speaksIperf3() != "" {
		return nil, usageError("%s is for far ends that serve iperf3: start fullbore serve or iperf3 there, and name it without ssh://", flags.speaksIperf3())
	}
	if kind == fullboreProtocol && flags.speaksIperf3() != "" {
		kind = iperf3Protocol // on the same port
	}
	if e.Insecure && kind != ndt7sProtocol {
		return nil, usageError("--insecure is for ndt7s://: nothing else here has certificates")
	}
	if kind == ndt7Protocol || kind == ndt7sProtocol {
		return e.openNDT7(flags, spec)
	}
	if address, err = e.within(app.ctx, address); err != nil {
		return nil, err
	}
	if kind == iperf3Protocol {
		return e.openIperf3(app, flags, spec, address)
	}
	ctx, stop := e.patience(app.ctx)
	defer stop()
	dial := func() (*peer.Client, error) { return peer.Dial(ctx, address, e.Token) }
	if kind == sshProtocol {
		dial = func() (*peer.Client, error) { return app.dialOver(address) }
	}
	client, err := dial()
	switch {
	case err != nil && ctx.Err() != nil && app.ctx.Err() == nil:
		return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case errors.Is(err, peer.ErrNotFullbore):
		return nil, &hinted{err: err, hint: "for an iperf3 server: fullbore test iperf3://" + address, code: exitFailed}
	case err != nil:
		return nil, err
	}
	return &fullboreEnd{client, newAsked(address, flags, spec)}, nil
}

// asked is what a record has before its transfer.
type asked struct {
	address string
	record  document.Record
}

func newAsked(address string, flags *transferFlags, spec bulk.Spec) asked {
	r := document.Record{
		Result: &bulk.Result{Spec: spec}, Host: address, Port: peer.DefaultPort,
		Blocks: flags.blocks(), Title: flags.Title, Extra: flags.Extra,
	}
	if host, service, err := net.SplitHostPort(address); err == nil {
		port, _ := strconv.ParseUint(service, 10, 16)
		r.Host, r.Port = host, uint16(port)
	}
	return asked{address, r}
}

func (a *asked) blank() document.Record {
	r := a.record
	r.Began = time.Now()
	return r
}

// fullboreEnd is `fullbore serve`.
type fullboreEnd struct {
	client *peer.Client
	asked
}

func (f *fullboreEnd) Close() error { return f.client.Close() }

func (f *fullboreEnd) test(ctx context.Context, opened func(document.Record), watch func(bulk.Progress)) (*document.Record, error) {
	record := f.blank()
	opened(record)
	result, err := f.client.Transfer(ctx, record.Result.Spec, watch)
	record.Result = result
	return &record, err
}

// iperf3End is a stock iperf3 server, or one that speaks as it does.
type iperf3End struct {
	asked
	options iperf3.Options
}

func (e *Endpoint) openIperf3(app *app, flags *transferFlags, spec bulk.Spec, address string) (farEnd, error) {
	far := &iperf3End{newAsked(address, flags, spec), iperf3.Options{
		Spec: spec, Blocks: flags.blocks(), Title: flags.Title, Extra: flags.Extra,
		GetServerOutput: flags.ServerOutput, ConnectTimeout: time.Duration(e.Connect) * time.Millisecond,
	}}
	if spec.ServerCPUs != "" {
		cpu, err := strconv.Atoi(spec.ServerCPUs)
		if err != nil {
			return nil, usageError("the far end's CPUs %q: iperf3's protocol takes the number of one", spec.ServerCPUs)
		}
		far.options.ServerAffinity = &cpu
	}
	var err error
	far.options.Auth, err = flags.credentials(app)
	return far, err
}

func (f *iperf3End) Close() error { return nil }

func (f *iperf3End) test(ctx context.Context, opened func(document.Record), watch func(bulk.Progress)) (*document.Record, error) {
	options := f.options
	options.Opened = opened
	return iperf3.Test(ctx, f.address, options, watch)
}

// credentials are those of --username, nil without it.
func (c *transferFlags) credentials(app *app) (*iperf3.Credentials, error) {
	switch {
	case c.User == "" && c.PublicKey == "":
		return nil, nil
	case c.User == "" || c.PublicKey == "":
		return nil, usageError("--username and --rsa-public-key-path belong together")
	}
	text, err := os.ReadFile(c.PublicKey)
	if err != nil {
		return nil, usageError("--rsa-public-key-path: %w", err)
	}
	key, err := iperf3.ParsePublicKey(text)
	if err != nil {
		return nil, usageError("--rsa-public-key-path: %s: %w", c.PublicKey, err)
	}
	password := os.Getenv("IPERF3_PASSWORD")
	if password == "" {
		if password, err = askPassword(app); err != nil {
			return nil, err
		}
	}
	return &iperf3.Credentials{User: c.User, Password: password, Key: key, PKCS1: c.PKCS1}, nil
}

// askPassword reads a line from the terminal that it does not show.
func askPassword(app *app) (string, error) {
	terminal, ok := app.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(terminal.Fd())) {
		return "", usageError("--username needs a password: set IPERF3_PASSWORD, or run on a terminal")
	}
	_, _ = fmt.Fprint(app.stderr, "Password: ")
	password, err := term.ReadPassword(int(terminal.Fd()))
	_, _ = fmt.Fprintln(app.stderr)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	return string(password), nil
}

// ndt7End is a server of M-Lab's ndt7.
type ndt7End struct {
	asked
	options ndt7.Options
}

// openNDT7 refuses what the protocol has no place for.
func (e *Endpoint) openNDT7(flags *transferFlags, spec bulk.Spec) (farEnd, error) {
	if flags.speaksIperf3() != "" {
		return nil, usageError("%s needs iperf3's protocol, and %s is an ndt7 server", flags.speaksIperf3(), e.Host)
	}
	if e.V4 || e.V6 || e.Connect != 0 {
		return nil, usageError("--version4, --version6 and --connect-timeout have no effect on an ndt7 test: leave them out")
	}
	possible := bulk.Spec{Direction: spec.Direction, Streams: 1, Duration: spec.Duration}
	if spec != possible || spec.Direction == bulk.Both {
		return nil, usageError("ndt7 moves data over one connection in one direction: of the flags that describe a transfer only --time and --reverse have a meaning")
	}
	host, port, err := ndt7.HostPort(e.Host, spec.Direction)
	if err != nil {
		return nil, usageError("%w", err)
	}
	far := &ndt7End{newAsked(e.Host, flags, spec), ndt7.Options{Direction: spec.Direction, Duration: spec.Duration, InsecureSkipVerify: e.Insecure}}
	far.record.Host, far.record.Port = host, port
	return far, nil
}

func (f *ndt7End) Close() error { return nil }

func (f *ndt7End) test(ctx context.Context, opened func(document.Record), watch func(bulk.Progress)) (*document.Record, error) {
	record := f.blank()
	opened(record)
	result, err := ndt7.Test(ctx, f.address, f.options, watch)
	if result != nil {
		record.Result = result
	}
	return &record, err
}
