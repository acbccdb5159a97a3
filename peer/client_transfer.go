package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/fleet/job"
	"github.com/fullbore/fullbore/host"
)

const (
	// heartbeat is the time between looks at the far end during a transfer.
	heartbeat = time.Second
	// dialsAtOnce bounds how many streams connect at the same time: few enough
	// for a listening socket's queue, many enough for a long path.
	dialsAtOnce = 16
	// partWithin bounds telling the far end that a transfer is over.
	partWithin = 2 * time.Second
)

// Transfer runs one transfer with the far end and returns what both ends
// recorded. When it fails after the start, the result holds what was measured
// until then, and each end's Error says why.
//
// watch, if not nil, is called with this end's progress at every sampling interval.
//
// Errors: [ErrLimit], [ErrBusy], [ErrLost], those of [Dial], and the context's.
func (c *Client) Transfer(ctx context.Context, spec bulk.Spec, watch func(bulk.Progress)) (*bulk.Result, error) {
	return c.transfer(ctx, spec, nil, watch)
}

// Signal says when a transfer goes on that waits for others.
type Signal struct {
	Place job.Place                   // that was taken for it
	Ready func(context.Context) error // all streams are connected: it blocks until the far end may be started
	Begin func(context.Context) error // the far end waits: it blocks until the first byte is to go, [bulk.Patience] at most
}

// TransferAt is Transfer that begins when others do. An error of the signal ends it.
func (c *Client) TransferAt(ctx context.Context, spec bulk.Spec, when Signal, watch func(bulk.Progress)) (*bulk.Result, error) {
	return c.transfer(ctx, spec, &when, watch)
}

func (c *Client) transfer(ctx context.Context, spec bulk.Spec, when *Signal, watch func(bulk.Progress)) (*bulk.Result, error) {
	result := &bulk.Result{Spec: spec}
	if err := spec.Check(); err != nil {
		return result, fmt.Errorf("start transfer: %w", err)
	}
	var place job.Place
	if when != nil {
		place = when.Place
	} else {
		var err error
		if place, err = c.Admit(ctx, spec); err != nil {
			return result, fmt.Errorf("start transfer: %w", err)
		}
	}
	place.AttachWithin = min(max(place.AttachWithin, 0), connectWithin)
	small := newSmallFlow(ctx, c.Addr())
	defer small.stop(result)
	conns, err := c.attach(ctx, spec, place)
	if err == nil && when != nil {
		err = when.Ready(ctx)
	}
	if err == nil {
		small.loads(ctx)
		err = c.call(ctx, request{method: http.MethodPost, path: resource("/v1/transfers", place.ID, "start"), patience: place.AttachWithin + c.timing.silent})
	}
	if err != nil {
		closeAll(conns)
		c.part(ctx, place.ID)
		return result, fmt.Errorf("start transfer: %w", err)
	}

	life := watchLife(ctx, c.timing.lost)
	defer life.stop()
	small.begins()
	err = c.move(life, place.ID, spec, conns, when, result, watch)
	if err == nil || ctx.Err() == nil {
		err = c.conclude(life, place.ID, result, err)
	} else {
		c.salvage(ctx, place.ID, result)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if result.Client.Error == "" {
			result.Client.Error = err.Error()
		}
		if !errors.Is(err, ErrLost) {
			c.part(ctx, place.ID)
		}
		return result, err
	}
	return result, nil
}

// Admit takes a place for a transfer at the far end, for this client or for another one that it is
// given to.
func (c *Client) Admit(ctx context.Context, spec bulk.Spec) (place job.Place, err error) {
	err = c.call(ctx, request{method: http.MethodPost, path: "/v1/transfers", body: spec, answer: &place})
	return place, err
}

// attach connects all streams. Only the preamble is sent on them.
func (c *Client) attach(ctx context.Context, spec bulk.Spec, place job.Place) ([]bulk.Conn, error) {
	ctx, done := context.WithTimeout(ctx, place.AttachWithin)
	defer done()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dialsAtOnce)
	conns := make([]bulk.Conn, connections(spec))
	for i := range conns {
		group.Go(func() error {
			conn := bulk.Conn{ID: i + 1, Sender: dialerSends(spec, i+1)}
			var err error
			before := spec
			if !conn.Sender {
				before.Congest = "" // it is the far end's to have
			}
			if conn.TCP, err = c.dial(ctx, bulk.Control(before)); err != nil {
				return err
			}
			conns[i] = conn
			if err := bulk.Prepare(conn.TCP, spec, conn.Sender); err != nil {
				return err
			}
			_, err = conn.TCP.Write(preamble{cookie: place.Cookie, stream: conn.ID}.bytes())
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return conns, fmt.Errorf("connect streams: %w", err)
	}
	return conns, nil
}

func closeAll(conns []bulk.Conn) {
	for _, c := range conns {
		if c.TCP != nil {
			_ = c.TCP.Close()
		}
	}
}

// move runs this end of the transfer, with the heartbeat beside it.
func (c *Client) move(life *life, id string, spec bulk.Spec, conns []bulk.Conn, when *Signal, result *bulk.Result, watch func(bulk.Progress)) error {
	ctx, abandon := context.WithCancelCause(life.ctx)
	defer abandon(nil)
	over := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(heartbeat):
			}
			err := c.call(life.ctx, request{method: http.MethodGet, path: resource("/v1/transfers", id), answer: &standing{}, alive: life.sign})
			if errors.Is(err, ErrGone) || errors.Is(err, syscall.ECONNREFUSED) { // another process than the one that started, or none
				abandon(c.lost(life, err))
			}
		}
	})
	var before int64
	var begin func(context.Context) error
	if when != nil {
		begin = when.Begin
	}
	end, err := bulk.RunAfter(ctx, spec, conns, begin, func(p bulk.Progress) {
		if now := moved(p); now != before {
			before = now
			life.sign()
		}
		if watch != nil {
			watch(p)
		}
	})
	close(over)
	beating.Wait()
	result.Client = end
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// moved is all that an end sent and received so far, in bytes.
func moved(p bulk.Progress) int64 { return p.Sent + p.Received }

// conclude fetches the far end's half. A far end that neither ends the transfer
// nor gives its result is not waited for without end.
func (c *Client) conclude(life *life, id string, result *bulk.Result, ours error) error {
	late := time.Now().Add(c.timing.ending)
	var failing time.Time // since when nothing of use has come
	for {
		now, err := c.result(life.ctx, id, result.Spec, life.sign)
		switch {
		case life.ctx.Err() != nil:
			return c.whyOver(life)
		case errors.Is(err, ErrGone), errors.Is(err, syscall.ECONNREFUSED):
			return c.lost(life, err)
		case errors.Is(err, ErrUnreachable), errors.Is(err, ErrNotFullbore): // perhaps it is just dying
			if failing.IsZero() {
				failing = time.Now()
			}
			if time.Since(failing) > c.timing.lost {
				return c.lost(life, err)
			}
		case err != nil:
			return fmt.Errorf("fetch the far end's result: %w", err)
		case now.End != nil:
			return c.join(result, now.End, ours)
		case time.Now().After(late):
			return c.lost(life, fmt.Errorf("%w: it did not end the transfer within %v", ErrTimeout, c.timing.ending))
		default:
			failing = time.Time{}
		}
		if !sleep(life.ctx, 250*time.Millisecond) {
			return c.whyOver(life)
		}
	}
}

// result asks for the far end's half, which is there once the transfer is done.
func (c *Client) result(ctx context.Context, id string, spec bulk.Spec, alive func()) (now standing, err error) {
	err = c.call(ctx, request{
		method: http.MethodGet, path: resource("/v1/transfers", id, "result"),
		answer: &now, most: resultAnswer(spec), zipped: true, alive: alive,
	})
	return now, err
}

// salvage fetches the far end's half of a transfer that this end stopped: what
// was measured until then is of use with both halves only. Nobody waits long
// for it.
func (c *Client) salvage(ctx context.Context, id string, result *bulk.Result) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), partWithin)
	defer done()
	for {
		now, err := c.result(ctx, id, result.Spec, nil)
		switch {
		case err != nil:
			return
		case now.End != nil:
			if checkEnd(result.Spec, now.End) == nil {
				result.Server = *now.End
			}
			return
		}
		sleep(ctx, 100*time.Millisecond)
	}
}

// join adds the far end's half, and says which error is the most informative: the end
// that failed first knows why, the other only sees its connections break.
func (c *Client) join(result *bulk.Result, far *bulk.End, ours error) error {
	if err := checkEnd(result.Spec, far); err != nil {
		return fmt.Errorf("far end's result: %w", err)
	}
	result.Server = *far
	switch {
	case ours != nil && !cutOff(ours):
		return fmt.Errorf("transfer with %s: %w", c.target, ours)
	case far.Error != "":
		return &failure{kind: ErrRefused, says: fmt.Sprintf("%s ended the transfer early: %s", c.target, oneLine(far.Error))}
	case ours != nil:
		return fmt.Errorf("transfer with %s: %w", c.target, ours)
	}
	return nil
}

// cutOff says that an error is only what the other end's leaving looks like.
func cutOff(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF)
}

// checkEnd says whether what came over the network can be half of a result.
func checkEnd(spec bulk.Spec, far *bulk.End) error {
	if len(far.Streams) > connections(spec) {
		return fmt.Errorf("%d streams of %d", len(far.Streams), connections(spec))
	}
	seen := map[int]bool{}
	for _, s := range far.Streams {
		switch {
		case s.ID < 1 || s.ID > connections(spec) || seen[s.ID]:
			return fmt.Errorf("stream %d is none of this transfer's", s.ID)
		case s.Sender == dialerSends(spec, s.ID):
			return fmt.Errorf("both ends were the sender, or neither, of stream %d", s.ID)
		case s.Bytes < 0 || s.Omitted < 0 || s.Elapsed < 0:
			return fmt.Errorf("stream %d has negative counts", s.ID)
		case s.Early != nil && (*s.Early < 0 || *s.Early > holdsEarly(spec, &s)):
			return fmt.Errorf("%d of %d bytes had arrived early on stream %d", *s.Early, holdsEarly(spec, &s), s.ID)
		case len(s.Samples) > mostSamples(spec):
			return fmt.Errorf("stream %d has %d samples, and there can be %d", s.ID, len(s.Samples), mostSamples(spec))
		}
		seen[s.ID] = true
	}
	if err := host.CheckLinks(far.Links); err != nil {
		return err
	}
	return far.Memory.Check()
}

// holdsEarly is the count of a stream that the bytes which had arrived early are in.
func holdsEarly(spec bulk.Spec, s *bulk.Stream) int64 {
	if spec.OmitsEarly() {
		return s.Omitted
	}
	return s.Bytes
}

// part informs the far end that the transfer is over, so that its place is free
// at once. If that fails, the far end's own deadlines do it.
func (c *Client) part(ctx context.Context, id string) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), partWithin)
	defer done()
	_ = c.call(ctx, request{method: http.MethodDelete, path: resource("/v1/transfers", id)})
}

// lost is the error of a far end that died.
func (c *Client) lost(life *life, cause error) error {
	return &failure{kind: ErrLost, says: fmt.Sprintf("%s went away %.1f s after the transfer started; what was measured until then is kept",
		c.target, time.Since(life.began).Seconds()), cause: cause}
}

// whyOver says why the transfer's life ended before it was complete.
func (c *Client) whyOver(life *life) error {
	cause := context.Cause(life.ctx)
	if errors.Is(cause, errNoSign) {
		return c.lost(life, cause)
	}
	return cause
}
