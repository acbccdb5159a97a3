package peer

import (
	"context"
	"net/http"
	"time"

	"github.com/fullbore/fullbore/change"
)

// Changes is the far end as a host whose tunables can be changed; nil without
// the token or when the far end does not allow changes.
func (c *Client) Changes() change.Host {
	if !c.hello.Authorised || !c.hello.Changes {
		return nil
	}
	return farChanges{c}
}

// farChanges is change.Host over the control API.
type farChanges struct{ client *Client }

// post asks for something to be done.
func (f farChanges) post(ctx context.Context, path string, body, answer any) error {
	return f.client.call(ctx, request{method: http.MethodPost, path: path, body: body, answer: answer, most: setsAnswer, patience: f.client.timing.working})
}

func (f farChanges) Begin(ctx context.Context, reason string, confirmWithin time.Duration) (string, error) {
	var opened opening
	err := f.post(ctx, "/v1/changes", intent{reason, confirmWithin}, &opened)
	return opened.ID, err
}

func (f farChanges) Apply(ctx context.Context, id string, settings []change.Setting) error {
	return f.post(ctx, resource("/v1/changes", id, "apply"), wanted{settings}, nil)
}

func (f farChanges) PutBack(ctx context.Context, id string, tunables ...string) error {
	if tunables == nil {
		tunables = []string{}
	}
	return f.post(ctx, resource("/v1/changes", id, "put-back"), unwanted{tunables}, nil)
}

func (f farChanges) Renew(ctx context.Context, id string) error {
	return f.post(ctx, resource("/v1/changes", id, "renew"), nil, nil)
}

func (f farChanges) Confirm(ctx context.Context, id string, persist bool) error {
	return f.post(ctx, resource("/v1/changes", id, "confirm"), confirmation{persist}, nil)
}

func (f farChanges) Revert(ctx context.Context, id string) (*change.Set, error) {
	var set change.Set
	if err := f.post(ctx, resource("/v1/changes", id, "revert"), nil, &set); err != nil {
		return nil, err
	}
	return &set, nil
}

func (f farChanges) List(ctx context.Context) ([]change.Set, error) {
	var sets []change.Set
	err := f.client.call(ctx, request{method: http.MethodGet, path: "/v1/changes", answer: &sets, most: setsAnswer, patience: f.client.timing.working})
	return sets, err
}
