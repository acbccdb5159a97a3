package ndt7

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/coder/websocket"

	"github.com/fullbore/fullbore/bulk"
)

// Options are what a caller can choose of a test. The zero value uploads for
// ten seconds.
type Options struct {
	Direction          bulk.Direction // Forward ("" too): upload, Reverse: download
	Duration           time.Duration  // up to ten seconds; 0: ten
	Interval           time.Duration  // between samples; 0: bulk.DefaultInterval
	InsecureSkipVerify bool           // do not check the server's certificate
}

// spec is the transfer that the options describe.
func (o Options) spec() (bulk.Spec, error) {
	spec := bulk.Spec{Direction: o.Direction, Streams: 1, Duration: o.Duration, Interval: o.Interval}
	if spec.Direction == "" {
		spec.Direction = bulk.Forward
	}
	if spec.Duration == 0 {
		spec.Duration = usualDuration
	}
	if spec.Interval == 0 {
		spec.Interval = bulk.DefaultInterval
	}
	switch {
	case spec.Direction == bulk.Both:
		return spec, errors.New("ndt7 tests one direction at a time: use forward or reverse")
	case spec.Duration > usualDuration:
		return spec, fmt.Errorf("an ndt7 test lasts up to %v, not %v", usualDuration, spec.Duration)
	}
	return spec, spec.Check()
}

// lastWords is how long the end of a test may take, the server's last
// measurement first of all: several round trips on the longest terrestrial path,
// behind a full queue.
const lastWords = 2 * time.Second

// Test runs one test with an ndt7 server: host[:port] or [address]:port, behind
// ndt7:// for HTTP, port 80 unless given, or ndt7s:// for TLS, port 443; or the
// whole URL of a test, ws:// or wss://. watch, if not nil, is called at every
// interval.
//
// The result's far end is what the server's last measurement says: of an
// upload, what it received by then, as its application counts it, or, where it
// says only that, its kernel (TCPInfo.BytesReceived, with what TLS and
// WebSocket add). A server need not send any; then Server has no streams and
// says so in its Error.
//
// A connection that breaks ends a test early and does not make it fail, as the
// specification asks: the reason is in Client.Error. An error means that
// nothing was measured ([Busy]: try later), or that ctx ended.
func Test(ctx context.Context, target string, o Options, watch func(bulk.Progress)) (*bulk.Result, error) {
	spec, err := o.spec()
	if err != nil {
		return nil, err
	}
	u, err := parseTarget(target, spec.Direction)
	if err != nil {
		return nil, err
	}
	ws, link, err := dial(ctx, u, o.InsecureSkipVerify)
	if err != nil {
		return nil, err
	}
	c := &client{ws: ws, link: link, record: newRecord(spec, link.tcp, watch)}
	err = c.run(ctx)
	result := c.record.result(u.Hostname())
	switch {
	case ctx.Err() != nil:
		return result, context.Cause(ctx)
	case c.record.bytes.Load() == 0:
		if err == nil {
			err = errors.New("the server ended it")
		}
		return nil, fmt.Errorf("%s with %s: nothing was measured: %w", testName(spec.Direction), u.Host, err)
	case err != nil:
		result.Client.Error = err.Error()
	}
	return result, nil
}

// client is one test at the client.
type client struct {
	ws     *websocket.Conn
	link   *link
	record *record
}

// run sees the test through and closes the connection. nil: it lasted as long
// as it should, or the server ended it as it may.
func (c *client) run(ctx context.Context) error {
	limit := time.AfterFunc(LongestTest, c.cut)
	defer limit.Stop()
	defer context.AfterFunc(ctx, c.cut)()
	c.link.closing = c.record.look
	defer c.record.sample()()
	if c.record.spec.Direction == bulk.Reverse {
		return c.download()
	}
	return c.upload()
}

// cut ends the connection and all that reads or writes it.
func (c *client) cut() {
	_ = c.link.tcp.SetLinger(0)
	_ = c.link.tcp.Close()
}

// part closes the connection. The closing handshake is a courtesy that has not
// much time: M-Lab's Go client leaves without it.
func (c *client) part(err error) {
	c.record.end()
	courtesy := time.AfterFunc(lastWords, c.cut)
	defer courtesy.Stop()
	if err == nil {
		_ = c.ws.Close(websocket.StatusNormalClosure, "")
	}
	_ = c.ws.CloseNow()
}

// download reads until the time is up or the server ends the test, which it
// does after ten seconds; what waits in the path's queue then takes longer.
func (c *client) download() error {
	stop := LongestTest
	if c.record.spec.Duration < usualDuration {
		stop = c.record.spec.Duration
	}
	err := c.receive(func(n int) error {
		c.record.count(n)
		if c.record.now() >= stop {
			return errEnough
		}
		return nil
	})
	c.part(err)
	return err
}

// upload writes until the time is up or the server ends the test.
func (c *client) upload() error {
	heard := make(chan error, 1)
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		heard <- c.receive(func(int) error { return errLoad })
	}()
	err := c.send(listening)
	c.record.end()
	if err == nil {
		c.await(listening)
	} else {
		select {
		case <-listening: // the end that reads knows better why
			err = <-heard
		case <-time.After(lastWords):
		}
	}
	c.part(err)
	<-listening
	return err
}

// await waits until the server has reported all that was sent, which takes until
// its next measurement, or has left, as it does after ten seconds.
func (c *client) await(left <-chan struct{}) {
	const look = 10 * time.Millisecond
	for patience := lastWords; patience > 0 && !c.record.complete(); patience -= look {
		select {
		case <-left:
			return
		case <-time.After(look):
		}
	}
}

// send writes load until the time is up, or the connection ends.
func (c *client) send(ended <-chan struct{}) error {
	if err := c.link.gathering(true); err != nil {
		return err
	}
	var total int64
	for size := firstMessage; c.record.now() < c.record.spec.Duration; size = messageSize(size, total) {
		select {
		case <-ended:
			return io.EOF
		default:
		}
		err := c.ws.Write(context.Background(), websocket.MessageBinary, payload()[:size])
		if err == nil {
			err = c.link.Flush()
		}
		if err != nil {
			return err
		}
		total += int64(size)
		c.record.count(size)
	}
	return c.link.gathering(false)
}

var (
	errEnough = errors.New("the time is up")
	errLoad   = errors.New("the server sent load in an upload test")
)

// receive reads until load, which is called with the length of each piece that
// came, gives an error, or the test ends otherwise: nil, if the server ended it
// by a closing handshake, as it may at any time, or load had enough.
func (c *client) receive(load func(n int) error) error {
	buffer := make([]byte, readLength)
	for {
		kind, message, err := c.ws.Reader(context.Background())
		switch code := websocket.CloseStatus(err); {
		case code == websocket.StatusNormalClosure, code == websocket.StatusNoStatusRcvd:
			return nil
		case err != nil:
			return err
		}
		if kind == websocket.MessageText {
			if err := c.hear(message, buffer); err != nil {
				return err
			}
			continue
		}
		for err == nil {
			var n int
			if n, err = message.Read(buffer); n > 0 {
				if err := load(n); err != nil {
					if errors.Is(err, errEnough) {
						return nil
					}
					return err
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// hear reads a text message; what is too long for a measurement is dropped.
func (c *client) hear(message io.Reader, buffer []byte) error {
	n, err := io.ReadFull(message, buffer[:maxText+1])
	if err == nil {
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, message, buffer[maxText+1:])
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	c.record.hear(buffer[:n])
	return nil
}
