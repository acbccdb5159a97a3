package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"

	"github.com/fullbore/fullbore/peer"
	"github.com/fullbore/fullbore/web"
)

// servedPage is the page that a far end shows.
type servedPage struct {
	*pages
	ended func()
	mu    sync.Mutex
	at    *net.TCPAddr // nil until it listens
}

// page makes the page of serve: encrypted, and nobody sees anything of it who has
// neither the secret nor the token.
func (c *serveCmd) page(app *app, identity *peer.Identity) (*servedPage, error) {
	s := &servedPage{}
	options := web.AccessOptions{Names: names(c.PageName), Accepts: identity.Accepts, Renewed: func(secret string) {
		if c.JSON {
			_ = json.NewEncoder(app.stdout).Encode(pageDocument{"fullbore/page/1", s.address(secret)})
			return
		}
		_, _ = fmt.Fprintf(app.stdout, "Page: %s\n", s.address(secret))
	}}
	var err error
	if s.pages, err = startPages(app, options, !c.Changes()); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	ctx, stop := context.WithCancel(app.ctx)
	go func() {
		defer close(done)
		<-ctx.Done()
		s.endTasks(app)
	}()
	s.ended = func() {
		stop()
		<-done
	}
	return s, nil
}

// listens tells where, and gives the first address with a secret.
func (s *servedPage) listens(at net.Addr) string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	s.at, _ = at.(*net.TCPAddr)
	s.mu.Unlock()
	return s.address(s.access.Secret())
}

func (s *servedPage) address(secret string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		return ""
	}
	return "https://" + named(s.at) + "/enter?secret=" + secret
}

// end waits until what was started from the page has ended.
func (s *servedPage) end() {
	s.ended()
	_ = s.Close() // the process ends
}
