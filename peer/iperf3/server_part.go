package iperf3

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// part ends a client's session, and says why a test has ended early.
func (t *session) part(ctx context.Context, err error) {
	var refusal *Refusal
	switch {
	case err == nil, errors.Is(err, ErrClosed):
		_ = t.conn.TCP.Close()
		return
	case errors.Is(err, ErrClientTerminated), t.told:
	case ctx.Err() != nil:
		t.terminate()
		return
	case errors.As(err, &refusal):
		_ = t.control.writeError(t.understood(refusal.Number), 0)
	default:
		_ = t.control.writeError(IEMessage, 0)
	}
	t.leave(t.conn.TCP)
}

// terminate tells the client that the server was stopped, and waits until it has left.
func (t *session) terminate() {
	_ = t.control.writeState(ServerTerminate)
	t.told = true
	t.leave(t.conn.TCP)
}

// understood is a number that the client's version has words for, and words
// that fit: it prints no others.
func (t *session) understood(n Number) Number {
	var minor int
	if _, err := fmt.Sscanf(t.asked.ClientVersion, "3.%d", &minor); err != nil {
		return n
	}
	for _, since := range []struct {
		number, before Number
		minor          int
	}{
		{IEMaxServerTestDurationExceeded, IEDuration, 20},
		{IEServerTestDurationExpired, IEDuration, 21},
		{IENoMsg, IEStreamRead, 10},
	} {
		if n == since.number && minor < since.minor {
			return since.before
		}
	}
	return n
}

// tell passes on how the test ended.
func (t *session) tell(err error) {
	switch {
	case t.Ended == nil:
	case t.record.Result == nil:
		t.Ended(nil, err)
	default:
		t.Ended(&t.record.Result.Server, err)
	}
}

// report logs one line a test: who, what, goodput.
func (t *session) report(err error) {
	result := t.record.Result
	if result == nil {
		t.Log.Info("iperf3 client refused", "client", t.client, "err", err)
		return
	}
	spec := result.Spec
	attributes := []any{
		"client", t.client, "protocol", "iperf3 " + strings.ToUpper(string(spec.Protocol)), "direction", spec.Direction, "streams", spec.Streams,
		"took", time.Since(t.began).Round(time.Millisecond),
	}
	if t.user != "" {
		attributes = append(attributes, "user", t.user)
	}
	if spec.Direction != bulk.Reverse {
		attributes = append(attributes, "goodput", result.Goodput(bulk.Forward))
	}
	if spec.Direction != bulk.Forward && err == nil {
		attributes = append(attributes, "reverse_goodput", result.Goodput(bulk.Reverse)) // as the client counted
	}
	for _, s := range result.Server.Streams[:min(1, len(result.Server.Streams))] { // they are all alike
		for _, note := range []string{s.PathNote, s.CPUNote} {
			if note != "" {
				attributes = append(attributes, "note", note)
			}
		}
	}
	if err != nil {
		t.Log.Warn("transfer ended early", append(attributes, "err", err)...)
		return
	}
	t.Log.Info("transfer done", attributes...)
}
