package regular

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/version"
)

// NewsSchema is the version of what a webhook is told.
const NewsSchema = "fullbore/shift/1"

// News is what a webhook is told of one shift, as JSON in the body of a POST.
type News struct {
	Schema string `json:"schema"` // NewsSchema
	record.Shift
	Says    string         `json:"says"`    // in words
	Changes []record.Dated `json:"changes"` // what became different on its hosts, from the run before the new level to the run in which it was found
}

// Times of telling.
const (
	tellWithin = 10 * time.Second
	newsFor    = 24 * time.Hour // what is older is no news: the webhook may be a new one
)

// tell tells the webhook of what it was not told yet. What it does not take is told again later.
func (k *keeper) tell(ctx context.Context) {
	if k.Schedule.Webhook == "" {
		return
	}
	shifts, err := k.store.Untold(ctx, time.Now().Add(-newsFor))
	for i := range shifts {
		if err != nil {
			break
		}
		if err = k.post(ctx, &shifts[i]); err == nil {
			err = k.store.Told(ctx, shifts[i:i+1])
		}
	}
	if ctx.Err() == nil {
		k.warnOnce("webhook", "the webhook was not told of a change; it is later", err)
	}
}

func (k *keeper) post(ctx context.Context, s *record.Shift) error {
	changes, err := k.store.ChangesOf(ctx, s)
	if err != nil {
		return err
	}
	text, err := json.Marshal(News{Schema: NewsSchema, Shift: *s, Says: s.String(), Changes: changes})
	if err != nil {
		return err
	}
	ctx, done := context.WithTimeout(ctx, tellWithin)
	defer done()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, k.Schedule.Webhook, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "fullbore/"+version.String())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, 1<<16) // so that the connection can be used again
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s answers %s", request.URL.Redacted(), response.Status)
	}
	return nil
}
