package peer

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// leaves let others in for a while, each with a secret of its own: they may do what who has the token may, but for having
// this host act on others. With one a host that does a job needs no other host's token.
type leaves struct {
	mu    sync.Mutex
	known map[string]*leave // by identifier
}

type leave struct {
	secret secretHash
	until  time.Time
}

// Bounds of leaves.
const (
	mostLeaves   = 64        // at once
	longestLeave = time.Hour // as long as a job
)

// add gives a leave that ends by itself.
func (l *leaves) add(secret secretHash, within time.Duration) (id string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for id, one := range l.known {
		if !now.Before(one.until) {
			delete(l.known, id)
		}
	}
	if len(l.known) >= mostLeaves {
		return "", problem(ErrBusy, "%d leaves are given, the most at once", mostLeaves)
	}
	if l.known == nil {
		l.known = map[string]*leave{}
	}
	id = randomName()
	l.known[id] = &leave{secret, now.Add(within)}
	return id, nil
}

// accepts says whether that is the secret of a leave that has not ended.
func (l *leaves) accepts(bearer string) (ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for _, one := range l.known { // all of them, so that the time it takes tells nothing
		ok = one.secret.accepts(bearer) && now.Before(one.until) || ok
	}
	return ok
}

func (l *leaves) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, id)
}

// leaveFor asks for a leave.
type leaveFor struct {
	Within time.Duration `json:"within_ns" minimum:"1000000000" maximum:"3600000000000" doc:"It ends by itself after this time"`
}

// Leave lets somebody else in.
type Leave struct {
	ID    string `json:"id"`
	Token string `json:"token" doc:"For who is let in. It pins this far end's key, as all tokens do"`
}

// leaveAPI is for who has one host do something at another one.
func (s *Server) leaveAPI(api huma.API) {
	create := withToken(s.operation(http.MethodPost, "/v1/leaves", "give-leave", "Let somebody else do for a while what the token allows, but for jobs"))
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, func(ctx context.Context, in *input[leaveFor]) (*output[Leave], error) {
		if err := callerOf(ctx).needOwn("giving leave"); err != nil {
			return nil, err
		}
		t := token{pin: s.identity.token.pin}
		_, _ = rand.Read(t.secret[:]) // never fails
		id, err := s.leaves.add(hashSecret(t.secret), in.Body.Within)
		return give(Leave{id, t.String()}), err
	})
	huma.Register(api, withToken(s.operation(http.MethodDelete, "/v1/leaves/{id}", "end-leave", "End it before its time")),
		func(ctx context.Context, in *named) (*nothing, error) {
			if err := callerOf(ctx).needOwn("ending a leave"); err != nil {
				return nil, err
			}
			s.leaves.end(in.ID)
			return nil, nil
		})
}

// Leave has the far end let somebody else in for a while, from a second to an hour. Its errors are [ErrForbidden] without the token, [ErrBusy], and those of
// [Dial].
func (c *Client) Leave(ctx context.Context, within time.Duration) (l Leave, err error) {
	err = c.call(ctx, request{method: http.MethodPost, path: "/v1/leaves", body: leaveFor{min(max(within, time.Second), longestLeave)}, answer: &l})
	return l, err
}

// EndLeave ends a leave before its time.
func (c *Client) EndLeave(ctx context.Context, id string) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer done()
	return c.call(ctx, request{method: http.MethodDelete, path: resource("/v1/leaves", id)})
}
