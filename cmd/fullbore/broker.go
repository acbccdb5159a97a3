package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/fullbore/fullbore/fleet"
	"github.com/fullbore/fullbore/fleet/agent"
	"github.com/fullbore/fullbore/fleet/bus"
	"github.com/fullbore/fullbore/peer"
)

// brokerFlags are those of experiments.
type brokerFlags struct{ agent.Broker }

// ask connects as one who runs experiments. On the hub's own host that needs no token.
func (b *brokerFlags) ask(ctx context.Context, token string) (*nats.Conn, error) {
	if token == "" && b.Hub != "" {
		token = ownHub()
	}
	l, err := b.Login(token, "experiments", slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	conn, err := bus.Connect(ctx, l, func(error) {}) // a request that comes later says so
	if errors.Is(err, bus.ErrRefused) {
		return nil, &hinted{err: err, hint: "use the token that 'fullbore hub' prints for experiments: the one for agents does not run any", code: exitFailed}
	}
	return conn, err
}

// ownHub is the token of the hub of this host, if there is one.
func ownHub() string {
	dir, err := hubFolder()
	if err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(dir, "identity.pem")); err != nil {
		return "" // it would be made
	}
	identity, err := peer.LoadIdentity(dir)
	if err != nil {
		return ""
	}
	return identity.Token()
}

// agentsThere are those that are connected, each called once; of those that names names, or all.
func agentsThere(ctx context.Context, conn *nats.Conn, names []string) ([]fleet.Member, error) {
	present, bad, err := bus.Present(ctx, conn)
	if err != nil {
		return nil, err
	}
	if len(present) == 0 {
		return nil, errors.Join(append(bad, errors.New("no agent is connected there"))...)
	}
	listed := make([]listedHost, len(present))
	for i, here := range present {
		listed[i] = listedHost{name: here.Name, address: here.Address, agent: here}
	}
	if listed, err = these(listed, names); err != nil {
		return nil, err
	}
	return callEach(listed, func(h listedHost) (*peer.Client, error) {
		return peer.Over(ctx, bus.To(conn, h.agent), h.name, h.address)
	})
}

// callEach calls all hosts, at the same time. Each that cannot be called, or does no jobs, is an error.
func callEach(hosts []listedHost, call func(listedHost) (*peer.Client, error)) ([]fleet.Member, error) {
	members, failed := make([]fleet.Member, len(hosts)), make([]error, len(hosts))
	var calls sync.WaitGroup
	for i, h := range hosts {
		calls.Go(func() {
			client, err := call(h)
			if err != nil {
				failed[i] = fmt.Errorf("%s: %w", h.name, err)
				return
			}
			members[i] = fleet.Member{Name: h.name, Address: h.address, Host: client}
			if overSSH(h.address) {
				members[i].Address = client.Addr().String() // the others go there too
			}
			if !slices.Contains(client.Hello().Features, "jobs") {
				failed[i] = fmt.Errorf("%s does no jobs for others: start it there with fullbore serve --allow-jobs", h.name)
			}
		})
	}
	calls.Wait()
	members = slices.DeleteFunc(members, func(m fleet.Member) bool { return m.Host == nil })
	return members, errors.Join(failed...)
}
