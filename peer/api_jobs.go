package peer

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/fullbore/fullbore/fleet/clock"
	"github.com/fullbore/fullbore/fleet/job"
)

// startAt says when a job is to start, by its host's clock.
type startAt struct {
	At clock.Instant `json:"at_ns"`
}

// watched names a job and the phase that its owner knows of.
type watched struct {
	ID    string    `path:"id" maxLength:"100"`
	While job.Phase `query:"while" enum:"connecting,ready,running" doc:"Answer when it is in another phase: without, at once"`
}

// jobAPI is for who has many hosts measure at the same time.
func (s *Server) jobAPI(api huma.API) {
	huma.Register(api, withToken(s.operation(http.MethodGet, "/v1/clock", "clock", "The monotonic clock that jobs start by")),
		func(ctx context.Context, _ *nothing) (*output[clock.Reading], error) {
			received := clock.Now()
			if err := callerOf(ctx).needToken("reading the clock"); err != nil {
				return nil, err
			}
			return give(clock.Reading{Received: received, Answered: clock.Now()}), nil
		})
	create := withToken(s.operation(http.MethodPost, "/v1/jobs", "create-job", "Have this host connect to another far end, to send to it once it is told to start"))
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, func(ctx context.Context, in *input[job.Order]) (*output[job.Status], error) {
		if err := s.mayJob(ctx); err != nil {
			return nil, err
		}
		order, err := s.fitJob(ctx, in.Body)
		if err != nil {
			return nil, err
		}
		status, err := s.jobs.create(s.life, order, s.tasks[order.Kind])
		return give(status), err
	})
	huma.Register(api, withToken(s.operation(http.MethodGet, "/v1/jobs/{id}", "watch-job", "How it stands, once it is no longer in a phase, or after some time; also its owner's heartbeat")),
		func(ctx context.Context, in *watched) (*output[job.Status], error) {
			j, err := s.job(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			return give(j.past(ctx, in.While)), nil
		})
	huma.Register(api, withToken(s.operation(http.MethodPost, "/v1/jobs/{id}/start", "start-job", "Start at an instant of this host's clock")),
		func(ctx context.Context, in *namedInput[startAt]) (*nothing, error) {
			j, err := s.job(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			return nil, j.begin(in.Body.At)
		})
	huma.Register(api, withToken(s.operation(http.MethodDelete, "/v1/jobs/{id}", "end-job", "End it early, or forget what came of it")),
		func(ctx context.Context, in *named) (*nothing, error) {
			j, err := s.job(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			j.cancel(errJobEnded)
			s.jobs.forget(j)
			return nil, nil
		})
}

func (s *Server) job(ctx context.Context, id string) (*ownJob, error) {
	if err := s.mayJob(ctx); err != nil {
		return nil, err
	}
	return s.jobs.by(id)
}

// Clock asks for the far end's clock. Its errors are those of [Client.Facts].
func (c *Client) Clock(ctx context.Context) (r clock.Reading, err error) {
	err = c.call(ctx, request{method: http.MethodGet, path: "/v1/clock", answer: &r})
	return r, err
}

// Prepare has the far end connect to another one.
//
// Errors: [ErrForbidden] without the token, [ErrRefused] where it does no jobs, [ErrLimit],
// [ErrBusy], and those of [Dial].
func (c *Client) Prepare(ctx context.Context, order job.Order) (s job.Status, err error) {
	err = c.call(ctx, request{method: http.MethodPost, path: "/v1/jobs", body: order, answer: &s})
	return s, err
}

// Status asks how a job stands, which also keeps it alive. The answer comes when the job is in another
// phase than this one, or after [job.AnswerWithin]; with "" at once.
func (c *Client) Status(ctx context.Context, id string, while job.Phase) (s job.Status, err error) {
	address := resource("/v1/jobs", id)
	if while != "" && while != job.Done {
		address += "?while=" + url.QueryEscape(string(while))
	}
	if err = c.call(ctx, request{method: http.MethodGet, path: address, answer: &s, most: jobAnswer, patience: statusWithin}); err != nil {
		return s, err
	}
	return s, c.understood(&s)
}

// understood makes how a job stands fit to be shown.
func (c *Client) understood(s *job.Status) error {
	s.Error = oneLine(s.Error)
	if f := s.Finding; f != nil {
		f.Cause, f.Says, f.Action = oneLine(f.Cause), oneLine(f.Says), oneLine(f.Action)
	}
	s.Doing = oneLine(s.Doing)
	if r := s.Report; r != nil {
		for i, line := range r.Says {
			r.Says[i] = oneLine(line)
		}
	}
	if err := s.Check(); err != nil {
		return &failure{kind: ErrNotFullbore, says: c.target + " reports what cannot have come of a job", cause: err}
	}
	return nil
}

// Start has a job start at an instant of the far end's clock.
func (c *Client) Start(ctx context.Context, id string, at clock.Instant) error {
	return c.call(ctx, request{method: http.MethodPost, path: resource("/v1/jobs", id, "start"), body: startAt{at}})
}

// End ends a job, or forgets what came of it.
func (c *Client) End(ctx context.Context, id string) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer done()
	return c.call(ctx, request{method: http.MethodDelete, path: resource("/v1/jobs", id)})
}

// endWithin bounds telling a host that its job is over: else it hears of it by hearing nothing.
const endWithin = 2 * time.Second

// statusWithin is how long a host that is asked how a job stands may be silent: less than [job.HeardWithin], so
// that who asked can ask again before the job ends for want of an owner.
const statusWithin = job.AnswerWithin + 3*time.Second
