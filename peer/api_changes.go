package peer

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/fullbore/fullbore/change"
)

// changeAPI is change.Host over HTTP. A client that goes away does not cut short
// what it asked for: half a change set is worse than all of it, and the
// deadline is there for the rest.
func (s *Server) changeAPI(api huma.API) {
	open := withToken(s.operation(http.MethodPost, "/v1/changes", "begin-changes", "Open a change set, which reverts by itself unless it is renewed or confirmed"))
	open.DefaultStatus = http.StatusCreated
	huma.Register(api, open, func(ctx context.Context, in *input[intent]) (*output[opening], error) {
		if err := s.mayChange(ctx); err != nil {
			return nil, err
		}
		id, err := s.changes.Begin(context.WithoutCancel(ctx), in.Body.Reason, in.Body.ConfirmWithin)
		return give(opening{id}), answer(err)
	})
	huma.Register(api, withToken(s.operation(http.MethodPost, "/v1/changes/{id}/apply", "apply-changes", "Set values and read them back")),
		func(ctx context.Context, in *namedInput[wanted]) (*nothing, error) {
			if err := s.mayChange(ctx); err != nil {
				return nil, err
			}
			for _, wanted := range in.Body.Settings {
				if err := s.mayTouch(wanted.Tunable); err != nil {
					return nil, err
				}
			}
			return nil, answer(s.changes.Apply(context.WithoutCancel(ctx), in.ID, in.Body.Settings))
		})
	huma.Register(api, withToken(s.operation(http.MethodPost, "/v1/changes/{id}/put-back", "put-back-changes", "Restore some of the set's tunables")),
		func(ctx context.Context, in *namedInput[unwanted]) (*nothing, error) {
			if err := s.mayChange(ctx); err != nil {
				return nil, err
			}
			if err := s.mayTouchSet(ctx, in.ID); err != nil {
				return nil, err
			}
			return nil, answer(s.changes.PutBack(context.WithoutCancel(ctx), in.ID, in.Body.Tunables...))
		})
	huma.Register(api, withToken(s.operation(http.MethodPost, "/v1/changes/{id}/renew", "renew-changes", "Move the deadline")),
		func(ctx context.Context, in *named) (*nothing, error) {
			if err := s.mayChange(ctx); err != nil {
				return nil, err
			}
			if err := s.mayTouchSet(ctx, in.ID); err != nil {
				return nil, err
			}
			return nil, answer(s.changes.Renew(context.WithoutCancel(ctx), in.ID))
		})
	huma.Register(api, withToken(s.operation(http.MethodPost, "/v1/changes/{id}/confirm", "confirm-changes", "Keep what is set")),
		func(ctx context.Context, in *namedInput[confirmation]) (*nothing, error) {
			if err := s.mayChange(ctx); err != nil {
				return nil, err
			}
			if err := s.mayTouchSet(ctx, in.ID); err != nil {
				return nil, err
			}
			return nil, answer(s.changes.Confirm(context.WithoutCancel(ctx), in.ID, in.Body.Persist))
		})
	huma.Register(api, withToken(s.operation(http.MethodPost, "/v1/changes/{id}/revert", "revert-changes", "Restore everything the set touched")),
		func(ctx context.Context, in *named) (*output[*change.Set], error) {
			if err := s.mayChange(ctx); err != nil {
				return nil, err
			}
			if err := s.mayTouchSet(ctx, in.ID); err != nil {
				return nil, err
			}
			set, err := s.changes.Revert(context.WithoutCancel(ctx), in.ID)
			return give(set), answer(err)
		})
	huma.Register(api, withToken(s.operation(http.MethodGet, "/v1/changes", "list-changes", "All change sets of this host, newest first")),
		func(ctx context.Context, _ *nothing) (*output[[]change.Set], error) {
			if err := s.mayChange(ctx); err != nil {
				return nil, err
			}
			sets, err := s.changes.List(ctx)
			return give(sets), answer(err)
		})
}

func (s *Server) mayChange(ctx context.Context) error {
	if err := callerOf(ctx).needToken("changing tunables"); err != nil {
		return err
	}
	if s.changes == nil {
		return problem(ErrForbidden, "this far end does not allow changes: start `fullbore serve --allow-changes` there")
	}
	return nil
}
