package peer

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/fleet/shelf"
	"github.com/fullbore/fullbore/peer/intake"
)

// waiting is which results a host keeps.
type waiting struct {
	Keys []string `json:"keys" doc:"Of at most 2,000 results: experiment, round and flow"`
}

// keyed names a result.
type keyed struct {
	Key string `path:"key" maxLength:"100"`
}

// resultAPI is for who keeps what came of jobs. A result stays here until it is removed, whoever asked for it before.
func (s *Server) resultAPI(api huma.API) {
	huma.Register(api, withToken(s.operation(http.MethodGet, "/v1/results", "results", "What came of jobs, and waits here to be kept elsewhere")),
		func(ctx context.Context, _ *nothing) (*output[waiting], error) {
			if err := s.mayResults(ctx); err != nil {
				return nil, err
			}
			return give(waiting{append([]string{}, s.jobs.shelf.Keys()...)}), nil
		})
	huma.Register(api, withToken(s.operation(http.MethodGet, "/v1/results/{key}", "result", "One of them")),
		func(ctx context.Context, in *keyed) (*output[*job.Result], error) {
			if err := s.mayResults(ctx); err != nil {
				return nil, err
			}
			r, err := s.jobs.shelf.Get(in.Key)
			if err != nil {
				return nil, shelfProblem(err)
			}
			return give(r), nil
		})
	huma.Register(api, withToken(s.operation(http.MethodDelete, "/v1/results/{key}", "drop-result", "Remove one that is kept elsewhere now")),
		func(ctx context.Context, in *keyed) (*nothing, error) {
			if err := s.mayResults(ctx); err != nil {
				return nil, err
			}
			return nil, shelfProblem(s.jobs.shelf.Drop(in.Key))
		})
}

// mayResults says whether the caller may have results, and there are any.
func (s *Server) mayResults(ctx context.Context) error {
	if err := s.mayJob(ctx); err != nil {
		return err
	}
	if s.jobs.shelf == nil {
		return problem(ErrRefused, "this far end keeps no results")
	}
	return nil
}

func shelfProblem(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, shelf.ErrNone):
		return problem(ErrGone, "%s", err)
	}
	return problem(ErrFailed, "%s", err)
}

// resultKeys bounds the answer that lists results.
var resultKeys = intake.Bounds{Bytes: shelf.Most * 100, Elements: shelf.Most, Members: 16}

// Results are the keys of what waits at the far end to be kept elsewhere. Errors: [ErrForbidden], [ErrRefused]
// where nothing is kept, and those of [Client.Facts].
func (c *Client) Results(ctx context.Context) ([]string, error) {
	var w waiting
	err := c.call(ctx, request{method: http.MethodGet, path: "/v1/results", answer: &w, most: resultKeys})
	return w.Keys, err
}

// Result is one of them: [ErrGone] where it is not there any more.
func (c *Client) Result(ctx context.Context, key string) (*job.Result, error) {
	r := new(job.Result)
	if err := c.call(ctx, request{method: http.MethodGet, path: resource("/v1/results", key), answer: r, most: jobAnswer}); err != nil {
		return nil, err
	}
	if err := c.understood(&r.Status); err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, &failure{kind: ErrNotFullbore, says: c.target + " reports a result that cannot be", cause: err}
	}
	return r, nil
}

// Drop removes one that is kept elsewhere now. One that is not there any more is no error.
func (c *Client) Drop(ctx context.Context, key string) error {
	err := c.call(ctx, request{method: http.MethodDelete, path: resource("/v1/results", key)})
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}
