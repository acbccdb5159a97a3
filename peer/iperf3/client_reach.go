package iperf3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// reach connects for control and waits until the server takes this client. It
// tries again where a moment may help: a server closes its listening socket
// between two tests, and is busy until the one before is cleaned up.
func (c *client) reach(ctx context.Context) error {
	began := time.Now()
	wasThere := false
	for pause := 20 * time.Millisecond; ; pause *= 2 {
		err := c.knock(ctx)
		limit := c.wait.gap
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrBusy) || errors.Is(err, ErrNoAnswer):
			wasThere = true
		case !errors.Is(err, syscall.ECONNREFUSED):
			return c.unreached(err)
		}
		if wasThere {
			limit = c.wait.busy
		}
		if time.Since(began)+pause > limit {
			return c.unreached(err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// knock tries it once.
func (c *client) knock(ctx context.Context) error {
	conn, err := c.dial(ctx, c.target.String(), bulk.Spec{})
	switch {
	case errors.Is(err, syscall.ECONNRESET): // after the handshake: a busy server was quick
		return ErrNoAnswer
	case err != nil:
		return err
	}
	c.control = newControl(ctx, conn)
	if err := c.greet(conn); err != nil {
		c.control.close()
		return err
	}
	return nil
}

func (c *client) greet(conn *net.TCPConn) error {
	if err := conn.SetKeepAliveConfig(c.wait.alive); err != nil {
		return fmt.Errorf("set keep-alive: %w", err)
	}
	c.record.Began = time.Now()
	// A busy server answers and closes without reading: writing may fail while
	// the answer is there.
	if err := c.control.writeCookie(c.cookie); err != nil && !errors.Is(err, ErrNoAnswer) {
		return err
	}
	return c.expect(ParamExchange, c.wait.answer)
}

// expect waits for a state that must come next.
func (c *client) expect(want State, patience time.Duration) error {
	got, err := c.control.readState(patience)
	if err != nil {
		return err
	}
	return checkState(got, want)
}

func checkState(got, want State) error {
	if got != want {
		return fmt.Errorf("%w: %v instead of %v", ErrMessage, got, want)
	}
	return nil
}

// dial opens a TCP connection with the options that must be set before the
// handshake. Multipath TCP stays off: what is measured is one path.
func (c *client) dial(ctx context.Context, address string, spec bulk.Spec) (*net.TCPConn, error) {
	dialer := net.Dialer{Timeout: c.wait.connect, Control: bulk.Control(spec)}
	dialer.SetMultipathTCP(false)
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// unreached puts into words why no test can begin.
func (c *client) unreached(err error) error {
	var unknown *net.DNSError
	var dialling *net.OpError
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return fmt.Errorf("host %q is not known: check its name: %w", c.target.host, err)
	case errors.As(err, &unknown):
		return fmt.Errorf("host %q cannot be looked up: check this host's name servers, or give an address: %w", c.target.host, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens on %s: start `iperf3 -s -p %d` or `fullbore serve` there: %w", c.target, c.target.port, syscall.ECONNREFUSED)
	case errors.Is(err, ErrBusy):
		return fmt.Errorf("%s: %w, or start another server on another port (iperf3 serves one client at a time, fullbore several)", c.target, err)
	case errors.As(err, &dialling) && dialling.Op == "dial" && dialling.Timeout():
		return fmt.Errorf("%s does not answer: the host is down, or a firewall drops the port: %w", c.target, err)
	case errors.As(err, &dialling) && dialling.Op == "dial":
		return fmt.Errorf("cannot connect to %s: %w", c.target, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%s takes connections but says nothing: it hangs, or something other than an iperf3 server listens there: %w", c.target, err)
	}
	return fmt.Errorf("%s: %w", c.target, err)
}
