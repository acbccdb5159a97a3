package peer

import (
	"bytes"
	"cmp"
	"compress/gzip"
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

	"github.com/fullbore/fullbore/peer/intake"
	"github.com/fullbore/fullbore/version"
)

// request is one call of the control API.
type request struct {
	method, path string
	body         any           // nil: none
	answer       any           // nil: none
	most         intake.Bounds // of the answer; zero: smallAnswer
	zipped       bool          // the answer may come compressed
	patience     time.Duration // how long it may stay silent; 0: as usual
	alive        func()        // told at each sign of life, may be nil
}

// resource is the address of a named thing.
func resource(collection, name string, verb ...string) string {
	return strings.Join(append([]string{collection, url.PathEscape(name)}, verb...), "/")
}

var (
	errStalled = errors.New("no answer")
	errEndless = errors.New("an answer without an end")
)

// call asks the far end, and gives its problem document as an error. It fails
// when nothing comes for the request's patience, when all of it takes too long,
// and as soon as more comes than there can be.
func (c *Client) call(ctx context.Context, r request) error {
	r.patience = cmp.Or(r.patience, c.timing.silent)
	r.most = cmp.Or(r.most, smallAnswer)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(r.patience, func() { cancel(errStalled) })
	defer stalled.Stop()
	endless := time.AfterFunc(max(r.patience, c.timing.whole), func() { cancel(errEndless) })
	defer endless.Stop()

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
	if err := c.decode(response, heard, r); err != nil {
		if ctx.Err() != nil {
			return c.callFailed(ctx, r, context.Cause(ctx))
		}
		return err
	}
	_, _ = heard.Read(make([]byte, 1)) // to its end, so that the connection can be used again
	if r.alive != nil {
		r.alive()
	}
	return nil
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
	if r.zipped {
		message.Header.Set("Accept-Encoding", "gzip") // the transport itself does not unzip
	}
	if c.token != nil {
		message.Header.Set("Authorization", "Bearer "+c.token.bearer())
	}
	return c.http.Do(message)
}

// decode makes an answer of a response, or an error of a problem document.
func (c *Client) decode(response *http.Response, body io.Reader, r request) error {
	stranger := &failure{kind: ErrNotFullbore, says: fmt.Sprintf("%s speaks TLS but is not a fullbore far end (%s %s answered %s): start `fullbore serve` there, on another port if need be",
		c.target, r.method, r.path, oneLine(response.Status))}
	if r.zipped && response.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := unzip(body, r.most.Bytes)
		if err != nil {
			return c.badAnswer(r, err)
		}
		body = unzipped
	}
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	if response.StatusCode >= 300 {
		var p huma.ErrorModel
		if kind != "application/problem+json" || smallAnswer.Decode(body, &p) != nil {
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
	if err := r.most.Decode(body, r.answer); err != nil {
		return c.badAnswer(r, err)
	}
	return nil
}

// unzip gives what a compressed text says. The text itself is bounded too: of
// blocks that say nothing there could be any number.
func unzip(text io.Reader, most int64) (io.Reader, error) {
	unzipped, err := gzip.NewReader(io.LimitReader(text, most+smallAnswer.Bytes))
	if err != nil {
		return nil, err
	}
	unzipped.Multistream(false)
	return unzipped, nil
}

// badAnswer puts into words why an answer is not taken.
func (c *Client) badAnswer(r request, err error) error {
	if errors.Is(err, intake.ErrTooMuch) {
		return &failure{kind: ErrTooMuch, says: fmt.Sprintf("%s answered %s %s with more data than a far end sends, so the rest was not read: is it the host you mean, and of the same version?", c.target, r.method, r.path), cause: err}
	}
	return &failure{kind: ErrNotFullbore, says: fmt.Sprintf("%s answered %s %s in a form this end does not know", c.target, r.method, r.path), cause: err}
}

// callFailed puts into words why there was no answer.
func (c *Client) callFailed(ctx context.Context, r request, err error) error {
	if known, ok := errors.AsType[*failure](err); ok {
		return known
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStalled):
		return &failure{kind: ErrTimeout, says: fmt.Sprintf("%s stopped answering (nothing for %v): it hangs, or the path to it is cut; try again, and look at `fullbore serve` there", c.target, r.patience)}
	case errors.Is(cause, errEndless):
		return &failure{kind: ErrTimeout, says: fmt.Sprintf("%s did not finish its answer within %v: it hangs, or the path to it is very slow; try again, and look at `fullbore serve` there", c.target, max(r.patience, c.timing.whole))}
	case cause != nil:
		return cause
	}
	if about, ok := errors.AsType[*url.Error](err); ok {
		err = about.Err
	}
	return &failure{kind: ErrUnreachable, says: fmt.Sprintf("%s did not answer", c.target), cause: err}
}
