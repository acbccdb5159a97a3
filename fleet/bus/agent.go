package bus

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// partingWithin bounds the wait for what is under way when an agent ends.
const partingWithin = 2 * time.Second

// Agent answers for a host over a connection to a NATS server.
type Agent struct {
	Here    Here         // what it says of itself
	Handler http.Handler // answers requests, of whom the server has let ask
	Log     *slog.Logger
}

// Serve answers until the context ends, and says then that it is gone. What is under way is answered first.
// The connection may be lost and made again meanwhile; it is the caller's.
func (a *Agent) Serve(ctx context.Context, conn *nats.Conn) error {
	if err := a.Here.Check(); err != nil {
		return err
	}
	here, err := json.Marshal(a.Here)
	if err != nil {
		return err
	}
	places := make(chan struct{}, mostAtOnce)
	requests, err := conn.Subscribe(forOne+a.Here.ID, func(m *nats.Msg) {
		select {
		case places <- struct{}{}:
			go func() {
				defer func() { <-places }()
				a.answer(ctx, m, int(conn.MaxPayload()))
			}()
		default:
			_ = m.Respond(refusal(http.StatusServiceUnavailable, "the agent is busy with %d requests", mostAtOnce)) // who asked is gone, or asks again
		}
	})
	if err != nil {
		return fmt.Errorf("take requests: %w", err)
	}
	calls, err := conn.Subscribe(forAll, func(m *nats.Msg) { _ = m.Respond(here) })
	if err != nil {
		return fmt.Errorf("take calls of all agents: %w", err)
	}
	every := time.NewTicker(HereEvery)
	defer every.Stop()
	for {
		if err := conn.Publish(fromOne+a.Here.ID+sayHere, here); err != nil {
			a.Log.Debug("cannot say that this host is here", "err", err) // it does with the next one
		}
		select {
		case <-every.C:
			continue
		case <-ctx.Done():
		}
		_, _ = requests.Unsubscribe(), calls.Unsubscribe()
		parting, done := context.WithTimeout(context.WithoutCancel(ctx), partingWithin)
		for range mostAtOnce { // those under way
			select {
			case places <- struct{}{}:
			case <-parting.Done():
			}
		}
		done()
		_ = conn.Publish(fromOne+a.Here.ID+sayGone, here)
		_ = conn.FlushTimeout(time.Second) // who does not hear it hears nothing more of it
		return nil
	}
}

// answer has the handler answer one request.
func (a *Agent) answer(ctx context.Context, m *nats.Msg, most int) {
	text := a.handled(ctx, m.Data)
	if len(text) > most {
		text = refusal(http.StatusInternalServerError, "the answer has %d bytes, and the NATS server lets %d pass (max_payload)", len(text), most)
	}
	if err := m.Respond(text); err != nil {
		a.Log.Warn("an answer does not go out", "err", err)
	}
}

func (a *Agent) handled(ctx context.Context, data []byte) (text []byte) {
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data)))
	if err != nil {
		return refusal(http.StatusBadRequest, "this is no request: %v", err)
	}
	defer func() {
		if r := recover(); r != nil { // as net/http does: one request is no reason to leave
			a.Log.Error("a request went wrong", "method", request.Method, "path", request.URL.Path, "why", r)
			text = refusal(http.StatusInternalServerError, "the agent went wrong over it; its log says more")
		}
	}()
	w := &recorded{header: http.Header{}}
	a.Handler.ServeHTTP(w, request.WithContext(ctx))
	return w.text(request)
}

// refusal is an answer of the carrier's own, as the control API words its problems (RFC 9457).
func refusal(status int, format string, args ...any) []byte {
	w := &recorded{header: http.Header{"Content-Type": {"application/problem+json"}}, status: status}
	_ = json.NewEncoder(&w.body).Encode(map[string]any{"status": status, "title": http.StatusText(status), "detail": fmt.Sprintf(format, args...)})
	return w.text(nil)
}

// recorded is an answer that is kept until it is whole.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorded) Header() http.Header { return w.header }

func (w *recorded) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *recorded) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// text is the answer as HTTP/1.1 has it.
func (w *recorded) text(request *http.Request) []byte {
	w.WriteHeader(http.StatusOK)
	response := http.Response{
		ProtoMajor: 1, ProtoMinor: 1, StatusCode: w.status, Header: w.header, Request: request,
		ContentLength: int64(w.body.Len()), Body: io.NopCloser(&w.body),
	}
	var text strings.Builder
	_ = response.Write(&text) // into memory
	return []byte(text.String())
}
