package bus

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// To is a way to one agent: it carries requests there, and answers back. Its errors say who is not there.
func To(conn *nats.Conn, agent Here) http.RoundTripper { return &way{conn, agent} }

type way struct {
	conn  *nats.Conn
	agent Here
}

// ErrAway says that an agent is not connected.
var ErrAway = errors.New("its agent is not connected: is it running, and is it the same NATS server?")

// RoundTrip asks the agent.
func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	var text bytes.Buffer
	err := r.Write(&text) // closes the body
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	if text.Len() > int(w.conn.MaxPayload()) {
		return nil, fmt.Errorf("the request has %d bytes, and the NATS server lets %d pass (max_payload)", text.Len(), w.conn.MaxPayload())
	}
	m, err := w.conn.RequestWithContext(r.Context(), forOne+w.agent.ID, text.Bytes())
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, fmt.Errorf("%s: %w", w.agent.Name, ErrAway)
	case err != nil:
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(bytes.NewReader(m.Data)), r)
}

// Times of asking who is there.
const (
	quiet     = 500 * time.Millisecond // without another answer: all have answered
	presence  = 5 * time.Second        // the most it takes
	mostHosts = 10_000
)

// Present asks all agents to say who they are, and gives them by name. One that says what cannot be right
// is left out, and bad says so. Of two of the same name the second one's ID is part of its name.
func Present(ctx context.Context, conn *nats.Conn) (agents []Here, bad []error, err error) {
	inbox := conn.NewInbox()
	answers := make(chan *nats.Msg, mostHosts)
	heard, err := conn.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, nil, fmt.Errorf("ask who is there: %w", err)
	}
	defer func() { _ = heard.Unsubscribe() }()
	if err := conn.PublishRequest(forAll, inbox, nil); err != nil {
		return nil, nil, fmt.Errorf("ask who is there: %w", err)
	}
	ctx, done := context.WithTimeout(ctx, presence)
	defer done()
	still := time.NewTimer(quiet)
	defer still.Stop()
	for waiting := true; waiting && len(agents)+len(bad) < mostHosts; {
		select {
		case m := <-answers:
			still.Reset(quiet)
			if len(m.Data) == 0 && m.Header.Get("Status") == "503" { // no responders
				return nil, nil, nil
			}
			here, err := understood(m.Data)
			if err != nil {
				bad = append(bad, err)
				continue
			}
			agents = append(agents, here)
		case <-still.C:
			waiting = false
		case <-ctx.Done():
			waiting = false
		}
	}
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, nil, err
	}
	slices.SortFunc(agents, func(a, b Here) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	agents = slices.CompactFunc(agents, func(a, b Here) bool { return a.ID == b.ID })
	name := ""
	for i := range agents {
		if agents[i].Name == name {
			agents[i].Name += " " + agents[i].ID
			continue
		}
		name = agents[i].Name
	}
	return agents, bad, nil
}

// understood is what an agent says of itself.
func understood(text []byte) (h Here, err error) {
	if len(text) > mostHere {
		return h, fmt.Errorf("an agent says %d bytes of itself", len(text))
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("an agent says what is no JSON of an agent: %w", err)
	}
	return h, h.Check()
}
