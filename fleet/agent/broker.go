package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"

	"github.com/fullbore/fullbore/fleet/bus"
	"github.com/fullbore/fullbore/hostport"
	"github.com/fullbore/fullbore/peer"
)

// DefaultPort is where a hub listens.
const DefaultPort = 5202

// ErrUsage says that the command line is wrong.
var ErrUsage = errors.New("the command line is wrong")

// misused is such an error, in its own words.
type misused struct{ error }

func (m misused) Is(target error) bool { return target == ErrUsage }
func (m misused) Unwrap() error        { return m.error }

func usage(format string, args ...any) error { return misused{fmt.Errorf(format, args...)} }

// Broker names the NATS server that agents and experiments meet at, as flags of a command line.
type Broker struct {
	Hub   string `placeholder:"HOST[:PORT]" help:"Host where 'fullbore hub' runs."`
	NATS  string `name:"nats" placeholder:"URL,..." help:"Instead of a hub, servers of the organisation's own NATS cluster: nats://HOST:4222 or tls://HOST:4222."`
	Creds string `placeholder:"FILE" help:"With --nats: the credentials file that its administrator made."`
}

// Login is how to get into the server that was named. Without a token it is the hub of this very host, or
// one where this host's key is known.
func (b *Broker) Login(token, name string, log *slog.Logger) (l bus.Login, err error) {
	l = bus.Login{Name: name, Log: log, Creds: b.Creds}
	if b.NATS != "" {
		l.URL = b.NATS
		if _, err := os.Stat(b.Creds); b.Creds != "" && err != nil {
			return l, usage("--creds: %w", err)
		}
		return l, nil
	}
	host, port, err := hostport.Parse(b.Hub, DefaultPort)
	if err != nil {
		return l, usage("--hub %w", err)
	}
	at := net.JoinHostPort(host, strconv.Itoa(int(port)))
	l.URL = "nats://" + at
	if token == "" {
		return l, usage("the hub %s needs a token: give with --token what 'fullbore hub' printed there", at)
	}
	if l.TLS, l.Token, err = peer.Pinned(at, token); err != nil {
		return l, usage("--token: %w", err)
	}
	return l, nil
}

// Check says which of the two was forgotten.
func (b *Broker) Check() error {
	switch {
	case b.Hub == "" && b.NATS == "":
		return usage("name the hub with --hub HOST, or NATS servers with --nats URL")
	case b.Hub != "" && b.NATS != "":
		return usage("both --hub and --nats were given: use one")
	case b.Creds != "" && b.NATS == "":
		return usage("--creds is for --nats: a hub has --token")
	}
	return nil
}
