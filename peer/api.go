package peer

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/version"
)

// maxRequest bounds a request's body: no request is near it.
const maxRequest = 64 << 10

// resultWait is how long a request for a result waits at the far end before it
// is asked to try again.
const resultWait = 2 * time.Second

// Every operation takes and gives these.
type (
	nothing       struct{}
	input[T any]  struct{ Body T }
	output[T any] struct{ Body T }
	named         struct {
		ID string `path:"id" maxLength:"100"`
	}
	namedInput[T any] struct {
		ID   string `path:"id" maxLength:"100"`
		Body T
	}
)

func give[T any](body T) *output[T] { return &output[T]{body} }

// api builds the control API on a router.
func (s *Server) api(router *http.ServeMux) huma.API {
	api := humago.New(router, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "fullbore far end",
				Version:     version.String(),
				Description: "Control of transfers, probes and change sets. Streams of a transfer are TCP connections to the same port.",
			},
			Components: &huma.Components{
				Schemas:         huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}},
			},
		},
		OpenAPIPath:                  "/v1/openapi",
		RejectUnknownQueryParameters: true,
		Formats:                      huma.DefaultFormats,
		DefaultFormat:                "application/json",
	})
	s.helloAPI(api)
	s.processorAPI(api)
	s.transferAPI(api)
	s.probeAPI(api)
	s.changeAPI(api)
	s.jobAPI(api)
	s.resultAPI(api)
	s.leaveAPI(api)
	return api
}

// OpenAPI is the OpenAPI 3.1 document of the control API, as a far end serves
// it at /v1/openapi.json.
func OpenAPI() ([]byte, error) {
	return json.MarshalIndent(new(Server).api(http.NewServeMux()).OpenAPI(), "", "  ")
}

func (s *Server) operation(method, address, id, summary string) huma.Operation {
	return huma.Operation{
		Method: method, Path: address, OperationID: id, Summary: summary,
		MaxBodyBytes: maxRequest, BodyReadTimeout: s.patience.request,
		Errors: []int{http.StatusUnauthorized, http.StatusTooManyRequests},
	}
}

// withToken marks an operation that needs the token.
func withToken(o huma.Operation) huma.Operation {
	o.Security = []map[string][]string{{"token": {}}}
	o.Errors = append(o.Errors, http.StatusForbidden)
	return o
}

func (s *Server) helloAPI(api huma.API) {
	huma.Register(api, s.operation(http.MethodGet, "/v1/hello", "hello", "Who is there, and what it allows"),
		func(ctx context.Context, _ *nothing) (*output[Hello], error) {
			return give(s.hello(callerOf(ctx))), nil
		})
	huma.Register(api, withToken(s.operation(http.MethodGet, "/v1/facts", "facts", "Facts of the far end's host")),
		func(ctx context.Context, _ *nothing) (*output[*host.Facts], error) {
			if err := callerOf(ctx).needToken("reading the host's facts"); err != nil {
				return nil, err
			}
			facts, err := s.facts(ctx)
			if err != nil {
				return nil, problem(ErrFailed, "the far end cannot read its host's facts: %s; correct it there", err)
			}
			return give(s.withReserved(facts)), nil
		})
}

func (s *Server) transferAPI(api huma.API) {
	create := s.operation(http.MethodPost, "/v1/transfers", "create-transfer", "Make place for a transfer")
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, func(ctx context.Context, in *input[bulk.Spec]) (made *output[job.Place], err error) {
		defer func() {
			if err != nil {
				s.tally.refused(ofFullbore)
			}
		}()
		caller := callerOf(ctx)
		if err := in.Body.Check(); err != nil {
			return nil, problem(ErrLimit, "%s", err)
		}
		if err := caller.mayCongest(in.Body); err != nil {
			return nil, err
		}
		limits := s.limits(caller)
		spec, err := limits.fit(in.Body)
		if err != nil {
			return nil, err
		}
		t, err := s.transfers.create(s.life, spec, caller.from, limits)
		if err != nil {
			return nil, answer(err)
		}
		return give(job.Place{ID: t.id, Cookie: t.cookie, AttachWithin: s.patience.attach}), nil
	})

	huma.Register(api, s.operation(http.MethodPost, "/v1/transfers/{id}/start", "start-transfer", "Start when all streams are there; answers when the far end runs"),
		func(ctx context.Context, in *named) (*nothing, error) {
			t, err := s.transfer(in.ID)
			if err != nil {
				return nil, err
			}
			return nil, answer(t.start(ctx))
		})

	huma.Register(api, s.operation(http.MethodGet, "/v1/transfers/{id}", "watch-transfer", "How it stands; also the client's heartbeat"),
		func(_ context.Context, in *named) (*output[standing], error) {
			t, err := s.transfer(in.ID)
			if err != nil {
				return nil, err
			}
			return give(t.standing(false)), nil
		})

	huma.Register(api, s.operation(http.MethodGet, "/v1/transfers/{id}/result", "transfer-result", "Waits a little for the result; ask again while it is not done"),
		func(ctx context.Context, in *named) (*output[standing], error) {
			t, err := s.transfer(in.ID)
			if err != nil {
				return nil, err
			}
			select {
			case <-t.done:
			case <-ctx.Done():
			case <-time.After(resultWait):
			}
			return give(t.standing(true)), nil
		})

	huma.Register(api, s.operation(http.MethodDelete, "/v1/transfers/{id}", "end-transfer", "End it early, or forget its result"),
		func(_ context.Context, in *named) (*nothing, error) {
			t, err := s.transfer(in.ID)
			if err != nil {
				return nil, err
			}
			s.transfers.end(t)
			return nil, nil
		})
}

func (s *Server) transfer(id string) (*transfer, error) {
	t := s.transfers.byID(id)
	if t == nil {
		return nil, problem(ErrGone, "no such transfer: results are kept for %v", keepResult)
	}
	t.touch()
	return t, nil
}

func (t *transfer) standing(withEnd bool) standing {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := standing{Phase: t.phase, Bytes: t.moved.Load()}
	if withEnd && t.phase == Done {
		now.End = &t.end
	}
	return now
}

func (s *Server) probeAPI(api huma.API) {
	huma.Register(api, s.operation(http.MethodPost, "/v1/probes", "open-probe", "A ticket for path probes over UDP from the caller's address"),
		func(ctx context.Context, _ *nothing) (*output[path.Ticket], error) {
			if s.responder == nil {
				return nil, problem(ErrRefused, "this far end answers no path probes: it has no UDP port")
			}
			from := callerOf(ctx).from
			if !from.IsValid() {
				return nil, problem(ErrRefused, "path probes go straight to a far end: this request came another way, by which its sender's address is not known")
			}
			ticket, err := s.responder.Open(from.Addr())
			return give(ticket), answer(err)
		})
	huma.Register(api, s.operation(http.MethodGet, "/v1/probes/{id}", "observed-probe", "What the far end saw and did for a ticket"),
		func(_ context.Context, in *named) (*output[path.Observed], error) {
			if s.responder == nil {
				return nil, problem(ErrGone, "no such probe")
			}
			observed, err := s.responder.Observed(in.ID)
			return give(observed), answer(err)
		})
}

// caller is who sent a request.
type caller struct {
	from       netip.AddrPort
	authorised bool // it knows the secret
	guest      bool // only of a leave: this host does not act on others for it
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

func (c caller) needToken(what string) error {
	if c.authorised {
		return nil
	}
	return problem(ErrForbidden, "%s needs the token that `fullbore serve` prints there", what)
}

// needOwn refuses who has no token of its own.
func (c caller) needOwn(what string) error {
	if err := c.needToken(what); err != nil || !c.guest {
		return err
	}
	return problem(ErrForbidden, "%s needs this far end's own token: a leave is for measuring and changing here", what)
}

// mayCongest refuses a stranger a congestion control, for what this host is to
// send, that not everyone may use on it.
func (c caller) mayCongest(spec bulk.Spec) error {
	if c.authorised || spec.Direction == bulk.Forward { // then it is the client's own host that sets it
		return nil
	}
	if err := bulk.CongestionAllowed(spec.Congest); err != nil {
		return problem(ErrLimit, "%s: use one of these, or the token that `fullbore serve` printed", err)
	}
	return nil
}
