package iperf3

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// move runs the test proper, from the server's start to the results.
func (c *client) move(ctx context.Context, conns []bulk.Conn) error {
	err := c.hear(TestStart, c.wait.answer)
	if err == nil {
		err = c.expect(TestRunning, c.wait.answer)
	}
	if err != nil {
		closeStreams(conns)
		return c.refused("when all streams were there", err)
	}
	running, err := c.start(ctx, conns)
	if err != nil {
		return fmt.Errorf("start test with %s: %w", c.target, err)
	}
	err = c.see(ctx, running)
	running.Close()
	if err != nil {
		return err
	}
	return c.finish()
}

// see watches the test until it is over, and exchanges the results.
func (c *client) see(ctx context.Context, running transfer) error {
	began := time.Now()
	c.listen(func() {})
	var over error // why the test ends before its time
	select {
	case <-running.Due():
		over = running.Failed()
	case <-c.quiet:
		if c.Spec.Protocol != bulk.UDP {
			over = fmt.Errorf("no data moves any more: %w", os.ErrDeadlineExceeded)
		}
	case w := <-c.said:
		over = c.ended(w, began)
		c.said = nil
	case <-ctx.Done():
		over = context.Cause(ctx)
	}
	if over == nil {
		over = c.end(ctx, running)
	}
	c.record.Result.Client = running.Stop()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case over != nil && c.said != nil:
		return c.why(over, began)
	case over != nil:
		return over
	}
	return c.conclude()
}

// word is what the other end says while this one waits for more than that.
type word struct {
	state State
	err   error
}

// longest is more than any test takes: then the client says that it is over.
const longest = 3 * bulk.MaxDuration

// listen waits for the server's next word, and calls heard when it is there.
func (c *client) listen(heard func()) {
	said := make(chan word, 1)
	c.said = said
	go func() {
		state, err := c.control.readState(longest)
		said <- word{state, err}
		heard()
	}()
}

// hear is expect where listen was called before.
func (c *client) hear(want State, patience time.Duration) error {
	select {
	case w := <-c.said:
		if w.err != nil {
			return w.err
		}
		return checkState(w.state, want)
	case <-time.After(patience):
		return fmt.Errorf("no answer within %v: %w", patience, os.ErrDeadlineExceeded)
	}
}

// ended is why the server has ended the test before its time.
func (c *client) ended(w word, began time.Time) error {
	var said *RemoteError
	what, err := "the control connection broke", w.err
	switch {
	case err == nil:
		what, err = "the exchange broke", fmt.Errorf("%w: %v came while data moved", ErrMessage, w.state)
	case errors.Is(err, ErrServerTerminated), errors.As(err, &said):
		what = "the server ended the test"
	case errors.Is(err, ErrClosed):
		what = "the server went away"
	}
	return fmt.Errorf("%s: %s %.1f s after its start; what was measured until then is kept: %w", c.target, what, time.Since(began).Seconds(), err)
}

// why is the reason that a stream broke: the server's own, if it gives one.
func (c *client) why(broken error, began time.Time) error {
	select {
	case w := <-c.said:
		return c.ended(w, began)
	case <-time.After(c.wait.word):
		return fmt.Errorf("%s: the data broke off %.1f s after the start; what was measured until then is kept: %w", c.target, time.Since(began).Seconds(), broken)
	}
}
