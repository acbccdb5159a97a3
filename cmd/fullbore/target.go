package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/peer"
)

// Target is the far end that most verbs need: a host, or a scenario's.
type Target struct {
	optionalTarget
	fromFlag
}

// optionalTarget is one that need not be named.
type optionalTarget struct {
	Host  string `arg:"" optional:"" help:"Far end: host or host:port where 'fullbore serve' runs, or ssh://[USER@]HOST[:PORT], where it is started for this command."`
	Lab   string `placeholder:"SCENARIO" help:"Use the two hosts of a scenario instead (name or file; see 'fullbore lab list')."`
	Token string `env:"FULLBORE_TOKEN" placeholder:"TOKEN" help:"What the far end's 'serve' printed: allows to read its facts and change its tunables."`
}

// AfterApply is called by kong once the command line is read.
func (t *Target) AfterApply() error {
	return errors.Join(oneTarget(t.Host, t.Lab), t.checkFrom(t.Lab))
}

func oneTarget(host, lab string) error {
	switch {
	case host == "" && lab == "":
		return errors.New("name the far end, or a scenario with --lab")
	case host != "" && lab != "":
		return fmt.Errorf("both the far end %s and the scenario %s were given: use one", host, lab)
	}
	return nil
}

// connections checks the number of connections of a transfer.
func connections(n int) error {
	if n < 1 || n > bulk.MaxStreams {
		return fmt.Errorf("--parallel %d: use 1 to %d", n, bulk.MaxStreams)
	}
	return nil
}

// dial connects to the far end.
func (f *optionalTarget) dial(app *app) (*peer.Client, error) {
	if overSSH(f.Host) {
		return app.dialOver(f.Host)
	}
	if scheme, _, ok := strings.Cut(f.Host, "://"); ok {
		return nil, usageError("%s://: this takes a far end that runs 'fullbore serve', or ssh://HOST; 'fullbore test' also takes iperf3 and ndt7 servers", scheme)
	}
	return peer.Dial(app.ctx, f.Host, f.Token)
}

// Endpoint is the far end of test and compare, which speak other protocols too,
// and take it as iperf3 does.
type Endpoint struct {
	Host    string `arg:"" optional:"" help:"Far end: HOST or HOST:PORT where 'fullbore serve' runs, ssh://[USER@]HOST[:PORT], where it is started for this command, iperf3://HOST, ndt7://HOST or ndt7s://HOST."`
	Client  string `short:"c" placeholder:"HOST" help:"The same as HOST."`
	Port    uint16 `short:"p" placeholder:"PORT" help:"The far end's port (5201)."`
	V4      bool   `short:"4" name:"version4" xor:"version" help:"Use IPv4 only."`
	V6      bool   `short:"6" name:"version6" xor:"version" help:"Use IPv6 only."`
	Connect int    `name:"connect-timeout" placeholder:"MS" help:"Give up connecting after this many milliseconds."`
	Lab     string `placeholder:"SCENARIO" help:"Use the two hosts of a scenario instead (name or file; see 'fullbore lab list')."`
	Token   string `env:"FULLBORE_TOKEN" placeholder:"TOKEN" help:"What the far end's 'serve' printed: lifts its limits."`

	fromFlag

	Insecure bool `help:"With ndt7s://, do not check the far end's certificate: that of 'fullbore serve' is its own."`
}

// AfterApply is called by kong once the command line is read.
func (e *Endpoint) AfterApply() error {
	if e.Host != "" && e.Client != "" {
		return fmt.Errorf("both %s and --client %s were given: name the far end once", e.Host, e.Client)
	}
	e.Host = cmp.Or(e.Host, e.Client)
	if e.Connect < 0 {
		return fmt.Errorf("--connect-timeout %d: must not be negative", e.Connect)
	}
	return errors.Join(oneTarget(e.Host, e.Lab), e.checkFrom(e.Lab))
}

// protocol is what a far end speaks.
type protocol string

const (
	fullboreProtocol protocol = "fullbore"
	iperf3Protocol   protocol = "iperf3"
	ndt7Protocol     protocol = "ndt7"  // over plain HTTP
	ndt7sProtocol    protocol = "ndt7s" // over TLS
	sshProtocol      protocol = "ssh"   // fullbore's own, started there
)

// parse takes the far end apart: what it speaks, and host, host:port or
// [address]:port.
func (e *Endpoint) parse() (protocol, string, error) {
	scheme, address, ok := strings.Cut(e.Host, "://")
	if !ok {
		scheme, address = string(fullboreProtocol), e.Host
	}
	switch p := protocol(strings.ToLower(scheme)); p {
	case fullboreProtocol, iperf3Protocol:
		address, err := e.withPort(strings.TrimSuffix(address, "/"))
		return p, address, err
	case ndt7Protocol, ndt7sProtocol:
		if e.Port != 0 {
			return p, "", usageError("--port: write the port behind the host: %s://HOST:%d", p, e.Port)
		}
		return p, address, nil
	case sshProtocol:
		if e.Port != 0 {
			return p, "", usageError("--port: write ssh's port behind the host: ssh://HOST:%d", e.Port)
		}
		if e.V4 || e.V6 {
			return p, "", usageError("-4 and -6 are not for ssh://: data goes where ssh reaches the host")
		}
		return p, e.Host, nil
	default:
		return p, "", usageError("far end %q: %s:// is no protocol known here; use HOST, iperf3://HOST, ndt7://HOST or ndt7s://HOST", e.Host, scheme)
	}
}

// withPort adds --port to an address that has none.
func (e *Endpoint) withPort(address string) (string, error) {
	if e.Port == 0 {
		return address, nil
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
	if _, err := netip.ParseAddr(bare); err != nil && strings.Contains(address, ":") {
		return "", usageError("the port is in %s and in --port %d: give it once", address, e.Port)
	}
	return net.JoinHostPort(bare, strconv.Itoa(int(e.Port))), nil
}

// within looks the host up where only one version of IP is allowed, and gives
// the address to connect to.
func (e *Endpoint) within(ctx context.Context, address string) (string, error) {
	if !e.V4 && !e.V6 {
		return address, nil
	}
	host, port := strings.TrimSuffix(strings.TrimPrefix(address, "["), "]"), ""
	literal, err := netip.ParseAddr(host)
	if err != nil {
		if h, p, splitErr := net.SplitHostPort(address); splitErr == nil {
			host, port = h, p
			literal, err = netip.ParseAddr(host)
		}
	}
	network, version := "ip4", "IPv4"
	if e.V6 {
		network, version = "ip6", "IPv6"
	}
	if err != nil {
		found, err := net.DefaultResolver.LookupNetIP(ctx, network, host)
		if err != nil {
			return "", fmt.Errorf("look up %s address of %s: %w", version, host, err)
		}
		literal = found[0].Unmap()
	} else if literal.Unmap().Is4() != e.V4 {
		return "", usageError("%s is not an %s address", host, version)
	}
	if port == "" {
		return literal.String(), nil
	}
	return net.JoinHostPort(literal.String(), port), nil
}

// patience is the context of connecting.
func (e *Endpoint) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	if e.Connect == 0 {
		return context.WithCancel(ctx)
	}
	within := time.Duration(e.Connect) * time.Millisecond
	return context.WithTimeoutCause(ctx, within, fmt.Errorf("no connection with %s within %v", e.Host, within))
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
