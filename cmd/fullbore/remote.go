package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"

	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/remote"
	"github.com/fullbore/fullbore/web/task"
)

// remotes are the far ends that a command has started over ssh, each once. They end with it.
type remotes struct {
	mu      sync.Mutex
	started map[string]*started
}

// started is one of them.
type started struct {
	host    string // as it was named
	remote  *remote.Remote
	serves  peer.Listening
	failure error
	once    sync.Once
}

// overSSH says whether a far end is to be started over ssh.
func overSSH(host string) bool { return strings.HasPrefix(host, remote.Scheme+"://") }

// dialOver starts a far end on ssh://[user@]host[:port], and calls it. No token is needed.
func (a *app) dialOver(target string) (*peer.Client, error) {
	s, err := a.start(target)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(s.serves.Listen)
	if err != nil {
		return nil, fmt.Errorf("%s says that it listens on %q", s.host, s.serves.Listen)
	}
	// Where ssh reached it; behind a port that is forwarded that is an address of another network.
	hosts := []string{s.remote.Address, s.host}
	if hosts[0] == "" {
		hosts = hosts[1:]
	}
	var failed error
	for _, host := range hosts {
		client, err := peer.Dial(a.ctx, net.JoinHostPort(host, port), s.serves.Token)
		if err == nil || a.ctx.Err() != nil {
			return client, err
		}
		if failed == nil {
			failed = err
		}
	}
	if errors.Is(failed, peer.ErrUnreachable) {
		failed = &hinted{err: failed, code: exitFailed, hint: fmt.Sprintf(
			"ssh gets to %[1]s, and data does not: a firewall keeps port %[2]s from this host. Open TCP and UDP port %[2]s there, for example with: "+
				"nft add rule inet filter input meta l4proto { tcp, udp } th dport %[2]s accept; or: ufw allow %[2]s; or: firewall-cmd --add-port=%[2]s/tcp --add-port=%[2]s/udp", s.host, port)}
	}
	return nil, failed
}

// start has the far end run there, if it does not yet.
func (a *app) start(target string) (*started, error) {
	a.remotes.mu.Lock()
	if a.remotes.started == nil {
		a.remotes.started = map[string]*started{}
	}
	s := a.remotes.started[target]
	if s == nil {
		s = &started{}
		a.remotes.started[target] = s
	}
	a.remotes.mu.Unlock()
	s.once.Do(func() { s.failure = s.run(a, target) })
	return s, s.failure
}

func (s *started) run(a *app, target string) error {
	to, err := remote.Parse(target)
	if err != nil {
		return usageError("%w", err)
	}
	s.host = to.Host()
	s.remote, err = remote.Start(a.ctx, to, remote.Options{
		Program: remote.Beside(remote.System{OS: runtime.GOOS, Arch: runtime.GOARCH}, "fullbore-agent", "fullbore"),
		Args:    []string{"serve", "--any-port", "--json", "--ephemeral", "--allow-link-changes", "--allow-jobs"},
		Env:     []string{task.EndsWithStdin + "=1"},
		Watch:   func(text string) { _, _ = fmt.Fprintln(a.stderr, "..", text) },
	})
	if err != nil {
		return err
	}
	for {
		line, err := s.remote.Line(a.ctx)
		if err != nil {
			s.remote.Close()
			return fmt.Errorf("start the far end there: %w", err)
		}
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &s.serves) == nil && s.serves.Schema == peer.ListeningSchema {
			return nil
		}
	}
}

// end ends all of them, at the same time.
func (r *remotes) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range r.started {
		if s.remote != nil && s.failure == nil {
			all.Go(s.remote.Close)
		}
	}
	all.Wait()
}
