package iperf3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/hostport"
	"github.com/fullbore/fullbore/peer/iperf3/document"
)

// Options is a test as the client asks for it.
type Options struct {
	Spec            bulk.Spec // TCP or UDP. Length 0 is 128 KiB, or for UDP what fits into a packet
	Blocks          int64     // not 0: Spec.Bytes is so many times Spec.Length
	Title, Extra    string    // for the document of either end
	GetServerOutput bool
	Auth            *Credentials
	ConnectTimeout  time.Duration // of each connection, 0: 5 s
	ServerAffinity  *int          // CPU that the server shall run on

	Opened func(document.Record) // if not nil, told of the test once its streams are open: the cookie, and what the path has settled
}

// clientPatience is how long a client waits in each phase.
type clientPatience struct {
	connect time.Duration // a connection: two lost SYNs are repeated after 1 s and 2 s more (RFC 6298)
	answer  time.Duration // the server's next state: iperf3 itself gives up on the first byte of an answer after 10 s (3.15)
	results time.Duration // from the end of the test to its results, which wait behind what is queued on the path: iperf3's limit for an answer as a whole (3.15)

	gap  time.Duration // no server listens: one that runs test after test is away for milliseconds between them
	busy time.Duration // the server is busy: with what is left of the test before, perhaps; nobody waits longer unasked
	word time.Duration // a stream broke: a server that ends a test also says why on the control connection
	last time.Duration // all is said but the server's last state

	silence time.Duration // of the data, where the client waits for a number of bytes: iperf3's own limit (--rcv-timeout)
	read    time.Duration // for the server's process to read what its kernel has acknowledged

	alive net.KeepAliveConfig // of the control connection
}

var usualClientPatience = clientPatience{
	connect: 5 * time.Second, answer: 10 * time.Second, results: 30 * time.Second,
	gap: 300 * time.Millisecond, busy: 2 * time.Second, word: time.Second, last: 2 * time.Second,
	silence: 2 * time.Minute, read: readWithin, alive: keepAlive,
}

// Test runs one test with the iperf3 server at address: host, host:port,
// [address]:port, or an address, with its zone if it is link-local. It returns
// what both ends recorded, also with an error: what was measured until then. A
// server that is busy, or not there for a moment, is tried again for up to 2 s.
//
// watch, if not nil, is called with this end's progress at every sampling interval.
//
// When ctx is done, the server is informed, and Test returns within about 200 ms
// with its cause. Other errors for callers to branch on: [ErrBusy],
// [ErrNoAnswer], [ErrClosed], [ErrServerTerminated], [ErrMessage] and
// *[RemoteError].
func Test(ctx context.Context, address string, o Options, watch func(bulk.Progress)) (*document.Record, error) {
	return test(ctx, address, o, watch, usualClientPatience)
}

func test(ctx context.Context, address string, o Options, watch func(bulk.Progress), wait clientPatience) (*document.Record, error) {
	wait.connect = cmp.Or(o.ConnectTimeout, wait.connect)
	c := &client{Options: o, cookie: NewCookie(), watch: watch, wait: wait}
	c.record = &document.Record{
		Result: &bulk.Result{Spec: o.Spec}, Cookie: c.cookie.String(), Began: time.Now(),
		Blocks: o.Blocks, Title: o.Title, Extra: o.Extra,
	}
	err := c.run(ctx, address)
	if err != nil {
		c.record.Failed = err
		c.record.Result.Client.Error = err.Error()
	}
	return c.record, err
}

// client is one test.
type client struct {
	Options
	target  target
	cookie  Cookie
	control *control
	said    <-chan word // what the server says next, where it is listened for
	watch   func(bulk.Progress)
	wait    clientPatience
	quiet   <-chan struct{} // closed when nothing moves any more, nil: not awaited
	rested  time.Duration   // from the last byte sent to the end of the test
	record  *document.Record
}

// run goes through the phases of a test.
func (c *client) run(ctx context.Context, address string) (err error) {
	if c.target.host, c.target.port, err = hostport.Parse(address, DefaultPort); err != nil {
		return fmt.Errorf("iperf3 server %w", err)
	}
	c.record.Host, c.record.Port = c.target.host, c.target.port
	if err := c.check(); err != nil {
		return fmt.Errorf("start test: %w", err)
	}
	if err := c.reach(ctx); err != nil {
		return err
	}
	defer c.control.close()
	if err := c.agree(); err != nil {
		return c.part(err)
	}
	conns, err := c.openStreams(ctx)
	if err != nil {
		return c.part(err)
	}
	if c.Opened != nil {
		opened := *c.record
		opened.Result = &bulk.Result{Spec: c.Spec}
		c.Opened(opened)
	}
	if err := c.move(ctx, conns); err != nil {
		return c.part(err)
	}
	return nil
}

// check says what of the options cannot be, by the engine's limits and by
// iperf3's.
func (c *client) check() error {
	switch {
	case c.Blocks < 0:
		return fmt.Errorf("%d blocks: must not be negative", c.Blocks)
	case c.Spec.Omit%time.Second != 0:
		return fmt.Errorf("omitted time %v: iperf3 counts whole seconds", c.Spec.Omit)
	case c.Auth != nil && c.Auth.Key == nil:
		return errors.New("a user needs the server's public key")
	}
	if err := c.Spec.Check(); err != nil {
		return err
	}
	return c.parameters().check()
}

// settle fills in what the connection decides, once it is there.
func (c *client) settle() {
	if c.Spec.Length == 0 {
		c.Spec.Length = bulk.DefaultLength
		if c.Spec.Protocol == bulk.UDP {
			c.Spec.Length = c.datagramLength()
		}
	}
	if c.Blocks > 0 {
		c.Spec.Bytes = c.Blocks * int64(c.Spec.Length)
	}
	c.record.Result.Spec = c.Spec
}

// part informs the server that the client ends the test, and why it does.
func (c *client) part(err error) error {
	_ = c.control.writeState(ClientTerminate) // if the server is gone, it knows
	return err
}

// target is the server as the caller named it.
type target struct {
	host string // name or address, without brackets
	port uint16
}

// String is how a person would write it.
func (t target) String() string { return net.JoinHostPort(t.host, strconv.Itoa(int(t.port))) }
