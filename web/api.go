package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/version"
	"github.com/fullbore/fullbore/web/live"
	"github.com/fullbore/fullbore/web/task"
)

// Every operation gives these.
type (
	none          struct{}
	output[T any] struct{ Body T }
	byID          struct {
		ID string `path:"id" maxLength:"64" doc:"identifier of a run or a task"`
	}
	runQuery struct {
		Host     string    `query:"host" maxLength:"300" doc:"that sent or received"`
		Kind     string    `query:"kind" enum:"test,diagnose,tune,compare,sweep,nfs-test,nfs-diagnose,nfs-tune,fleet,watch" doc:"verb"`
		Tag      string    `query:"tag" maxLength:"300"`
		Scenario string    `query:"scenario" maxLength:"300" doc:"of the lab"`
		Since    time.Time `query:"since" doc:"started then or later"`
		After    string    `query:"after" maxLength:"80" doc:"next of the answer before: the runs that follow it"`
		Most     int       `query:"most" minimum:"1" maximum:"1000" default:"50"`
	}
	runsAnswer struct {
		Runs []record.Header `json:"runs"`
		Next string          `json:"next,omitempty" doc:"for after: there are more"`
	}
	trendQuery struct {
		From     string    `query:"from" required:"true" maxLength:"300"`
		To       string    `query:"to" required:"true" maxLength:"300"`
		Kind     string    `query:"kind" enum:"test,diagnose,tune,compare,sweep,nfs-test,nfs-diagnose,nfs-tune,fleet" default:"test"`
		Scenario string    `query:"scenario" maxLength:"300"`
		Since    time.Time `query:"since"`
	}
)

func give[T any](body T) *output[T] { return &output[T]{body} }

// api adds the operations for programs: what the pages show, and what their forms do.
func (p *Page) api() huma.API {
	api := humago.New(p.router, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "fullbore page", Version: version.String(),
				Description: "What the page shows, and what its forms do. Reading needs nothing on this host's loopback; all else needs the page's cookie, with the header Origin for what changes something, or on `serve --page` the token as a bearer. Events as they come are at /events, as text/event-stream.",
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token":  {Type: "http", Scheme: "bearer"},
					"cookie": {Type: "apiKey", In: "cookie", Name: "fullbore-PORT"},
				},
			},
		},
		OpenAPIPath:                  "/api/openapi",
		RejectUnknownQueryParameters: true,
		Formats:                      huma.DefaultFormats,
		DefaultFormat:                "application/json",
	})
	p.recordAPI(api)
	p.taskAPI(api)
	return api
}

// OpenAPI is the OpenAPI 3.1 document of the page's API.
func OpenAPI() ([]byte, error) {
	p := &Page{router: http.NewServeMux()}
	return json.MarshalIndent(p.api().OpenAPI(), "", "  ")
}

func operation(method, address, id, summary string) huma.Operation {
	return huma.Operation{
		Method: method, Path: address, OperationID: id, Summary: summary, MaxBodyBytes: mostBody, BodyReadTimeout: RequestWithin,
		Errors: []int{http.StatusForbidden}, Security: []map[string][]string{{}, {"cookie": {}}, {"token": {}}},
	}
}

// starting marks an operation that changes something.
func starting(o huma.Operation) huma.Operation {
	o.Security = []map[string][]string{{"cookie": {}}, {"token": {}}}
	return o
}

// store opens the record for an operation.
func (p *Page) storeFor(ctx context.Context) (*record.Store, error) {
	store, err := p.record(ctx)
	if err != nil {
		return nil, huma.Error503ServiceUnavailable(p.noRecord(err))
	}
	return store, nil
}

func (p *Page) recordAPI(api huma.API) {
	huma.Register(api, operation(http.MethodGet, "/api/runs", "list-runs", "Kept runs, the latest first"), func(ctx context.Context, q *runQuery) (*output[runsAnswer], error) {
		store, err := p.storeFor(ctx)
		if err != nil {
			return nil, err
		}
		by := record.Filter{Host: q.Host, Kind: record.Kind(q.Kind), Tag: q.Tag, Scenario: q.Scenario, Since: q.Since, Most: q.Most + 1}
		if by.After, err = mark(q.After); err != nil {
			return nil, huma.Error422UnprocessableEntity("after: " + err.Error())
		}
		runs, err := store.List(ctx, by)
		if err != nil {
			return nil, err
		}
		answer := runsAnswer{Runs: append([]record.Header{}, runs[:min(len(runs), q.Most)]...)}
		if len(runs) > q.Most {
			answer.Next = markText(record.MarkOf(&runs[q.Most-1]))
		}
		return give(answer), nil
	})
	huma.Register(api, operation(http.MethodGet, "/api/runs/{id}", "get-run", "What is known of one run; all of it, with its samples, is at /runs/{id}/run.json"), func(ctx context.Context, q *byID) (*output[record.Header], error) {
		if now, ok := p.Hub.Run(q.ID); ok {
			return give(now.Header), nil
		}
		store, err := p.storeFor(ctx)
		if err != nil {
			return nil, err
		}
		h, err := store.Get(ctx, q.ID)
		if errors.Is(err, record.ErrNoRun) {
			return nil, huma.Error404NotFound("no such run is kept")
		}
		return give(h), err
	})
	huma.Register(api, operation(http.MethodGet, "/api/running", "list-running", "Runs that go on now and were started here"), func(context.Context, *none) (*output[[]live.Row], error) {
		return give(append([]live.Row{}, p.Hub.Running()...)), nil
	})
	huma.Register(api, operation(http.MethodGet, "/api/paths", "list-paths", "Paths that were measured, the latest first"), func(ctx context.Context, _ *none) (*output[[]record.Path], error) {
		store, err := p.storeFor(ctx)
		if err != nil {
			return nil, err
		}
		all, err := store.Paths(ctx, mostPaths)
		return give(append([]record.Path{}, all...)), err
	})
	huma.Register(api, operation(http.MethodGet, "/api/trend", "get-trend", "One path over time: its levels, and the changes that fell into it"), func(ctx context.Context, q *trendQuery) (*output[*record.Trend], error) {
		store, err := p.storeFor(ctx)
		if err != nil {
			return nil, err
		}
		t, err := store.Trend(ctx, record.Filter{From: q.From, To: q.To, Kind: record.Kind(q.Kind), Since: q.Since}, q.Scenario)
		return give(t), err
	})
	huma.Register(api, operation(http.MethodGet, "/api/hosts", "list-hosts", "Hosts that took part in runs, the latest first"), func(ctx context.Context, _ *none) (*output[[]record.Seen], error) {
		store, err := p.storeFor(ctx)
		if err != nil {
			return nil, err
		}
		all, err := store.Hosts(ctx, mostPaths)
		return give(append([]record.Seen{}, all...)), err
	})
}

func (p *Page) taskAPI(api huma.API) {
	huma.Register(api, operation(http.MethodGet, "/api/tasks", "list-tasks", "What was started here and runs, waits, or has just ended"), func(context.Context, *none) (*output[[]task.Task], error) {
		if p.Tasks == nil {
			return give([]task.Task{}), nil
		}
		return give(append([]task.Task{}, p.Tasks.List()...)), nil
	})
	huma.Register(api, operation(http.MethodGet, "/api/tasks/{id}", "get-task", "One of them"), func(_ context.Context, q *byID) (*output[task.Task], error) {
		if p.Tasks == nil {
			return nil, huma.Error404NotFound(errNothing.Error())
		}
		t, err := p.Tasks.Get(q.ID)
		if err != nil {
			return nil, huma.Error404NotFound(err.Error())
		}
		return give(t), nil
	})
	create := starting(operation(http.MethodPost, "/api/tasks", "start-task", "Start a run, or let it wait for its turn"))
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, func(_ context.Context, in *struct{ Body task.Request }) (*output[task.Task], error) {
		if p.Tasks == nil {
			return nil, huma.Error503ServiceUnavailable(errNothing.Error())
		}
		t, err := p.Tasks.Start(in.Body)
		if err != nil {
			return nil, huma.NewError(statusOf(err), err.Error())
		}
		return give(t), nil
	})
	huma.Register(api, starting(operation(http.MethodPost, "/api/tasks/{id}/stop", "stop-task", "Stop it as Ctrl-C does: what was changed is put back first")), func(_ context.Context, q *byID) (*none, error) {
		if p.Tasks == nil {
			return nil, huma.Error404NotFound(errNothing.Error())
		}
		if err := p.Tasks.Stop(q.ID); err != nil {
			return nil, huma.Error404NotFound(err.Error())
		}
		return nil, nil
	})
}

// problemOf answers a program (RFC 9457).
func problemOf(w http.ResponseWriter, status int, what string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(huma.ErrorModel{Status: status, Title: http.StatusText(status), Detail: what}) // a program that is gone needs no answer
}
