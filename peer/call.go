package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/fullbore/fullbore/version"
)

const (
	// patience is how long an answer may stay silent, before and within it.
	patience = 10 * time.Second
	// maxAnswer and maxResult bound what is read of an answer, in bytes.
	maxAnswer = 4 << 20
	maxResult = 256 << 20 // TokenLimits' samples take about half of it
)

// request is one call of the control API.
type request struct {
	method, path string
	body         any           // nil: none
	answer       any           // nil: none
	patience     time.Duration // 0: patience
	most         int64         // bytes of the answer; 0: maxAnswer
	alive        func()        // told at each sign of life, may be nil
}

// resource is the address of a named thing.
func resource(collection, name string, verb ...string) string {
	return strings.Join(append([]string{collection, url.PathEscape(name)}, verb...), "/")
}

var errStalled = errors.New("no answer")

// call asks the far end, and gives its problem document as an error. It fails
// when nothing comes for the request's patience, however long all of it takes.
func (c *Client) call(ctx context.Context, r request) error {
	if r.patience == 0 {
		r.patience = patience
	}
	if r.most == 0 {
		r.most = maxAnswer
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(r.patience, func() { cancel(errStalled) })
	defer stalled.Stop()

	response, err := c.send(ctx, r)
	if err != nil {
		return c.callFailed(ctx, r, err)
	}
	defer func() { _ = response.Body.Close() }()
	heard := readerFunc(func(b []byte) (int, error) {
		n, err := response.Body.Read(b)
		if n > 0 {
			stalled.Reset(r.patience)
			if r.alive != nil {
				r.alive()
			}
		}
		return n, err
	})
	text, err := io.ReadAll(io.LimitReader(heard, r.most+1))
	if err != nil {
		return c.callFailed(ctx, r, err)
	}
	if int64(len(text)) > r.most {
		return &failure{kind: ErrRefused, says: fmt.Sprintf("%s answered with more than %d bytes", c.target, r.most)}
	}
	if r.alive != nil {
		r.alive()
	}
	return c.decode(response, text, r)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader = http.NoBody
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(text)
	}
	message, err := http.NewRequestWithContext(ctx, r.method, "https://far-end"+r.path, body)
	if err != nil {
		return nil, err
	}
	message.Header.Set("User-Agent", "fullbore/"+version.String())
	message.Header.Set("Content-Type", "application/json")
	if c.token != nil {
		message.Header.Set("Authorization", "Bearer "+c.token.bearer())
	}
	return c.http.Do(message)
}

// decode makes an answer of a response, or an error of a problem document.
func (c *Client) decode(response *http.Response, text []byte, r request) error {
	stranger := &failure{kind: ErrNotFullbore, says: fmt.Sprintf("%s speaks TLS but is not a fullbore far end (%s %s answered %s): start `fullbore serve` there, on another port if need be",
		c.target, r.method, r.path, oneLine(response.Status))}
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	if response.StatusCode >= 300 {
		var p huma.ErrorModel
		if kind != "application/problem+json" || json.Unmarshal(text, &p) != nil {
			return stranger
		}
		return understand(&p)
	}
	if r.answer == nil {
		return nil
	}
	if kind != "application/json" {
		return stranger
	}
	// Unknown fields are let pass: a newer far end may say more.
	if err := json.Unmarshal(text, r.answer); err != nil {
		return &failure{kind: ErrNotFullbore, says: fmt.Sprintf("%s answered %s %s in a form this end does not know", c.target, r.method, r.path), cause: err}
	}
	return nil
}

// callFailed puts into words why there was no answer.
func (c *Client) callFailed(ctx context.Context, r request, err error) error {
	if known, ok := errors.AsType[*failure](err); ok {
		return known
	}
	if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
		return &failure{kind: ErrUnreachable, says: fmt.Sprintf("%s stopped answering (nothing for %v)", c.target, r.patience)}
	} else if cause != nil {
		return cause
	}
	if about, ok := errors.AsType[*url.Error](err); ok {
		err = about.Err
	}
	return &failure{kind: ErrUnreachable, says: fmt.Sprintf("%s did not answer", c.target), cause: err}
}
