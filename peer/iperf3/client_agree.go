package iperf3

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/fullbore/fullbore/bulk"
)

// usualDatagram is iperf3's length of a datagram where the path's MSS is not
// known: it fits into an Ethernet packet.
const usualDatagram = 1460

// agree sends the server the test's parameters, and waits until it is ready
// for the streams.
func (c *client) agree() error {
	c.settle()
	p := c.parameters()
	if c.Auth != nil {
		var err error
		if p.AuthToken, err = c.Auth.token(); err != nil {
			return fmt.Errorf("start test with %s: %w", c.target, err)
		}
	}
	if text, err := json.Marshal(p); err != nil || len(text) > maxParameters {
		return fmt.Errorf("start test with %s: its parameters take %d bytes, iperf3 servers accept %d: make the title or the extra data shorter", c.target, len(text), maxParameters)
	}
	if err := c.control.writeJSON(p); err != nil {
		return c.refused("before it had the test's parameters", err)
	}
	if err := c.expect(CreateStreams, c.wait.answer); err != nil {
		return c.refused("when it had the test's parameters", err)
	}
	return nil
}

// datagramLength is iperf3's choice: a datagram as long as a segment of the
// control connection has data, so that it is not divided on the path.
func (c *client) datagramLength() int {
	info, err := bulk.Inspect(c.control.conn.(*net.TCPConn))
	if err != nil || info.SndMSS == 0 {
		return usualDatagram
	}
	return int(info.SndMSS)
}

// refused puts into words why the server does not go on with a test that has
// not started.
func (c *client) refused(when string, err error) error {
	var said *RemoteError
	switch {
	case errors.As(err, &said):
		return fmt.Errorf("%s refuses the test: %w%s", c.target, err, c.hint(said.Number))
	case errors.Is(err, ErrClosed):
		// Up to 3.19 a server closes without a word about parameters that it
		// does not allow, from 3.21 on where authorization fails.
		return fmt.Errorf("%s closed the connection %s: it does not allow one of the options, or not this user; its own output says more: %w", c.target, when, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%s says nothing %s: it hangs: %w", c.target, when, err)
	}
	return fmt.Errorf("start test with %s: %w", c.target, err)
}

// hint is what to do about a refusal.
func (c *client) hint(n Number) string {
	switch {
	case n == IEAuthTest && c.Auth == nil:
		return "; it wants a user name, a password and its public key"
	case n == IEAuthTest && c.Auth.PKCS1:
		return "; check user name, password, public key and both clocks; since 3.17 servers use another padding than PKCS1"
	case n == IEAuthTest:
		return "; check user name, password, public key and both clocks; up to 3.16 servers use PKCS1 padding"
	case n == IESetBuf2:
		return "; its net.core.rmem_max or wmem_max does not allow such a window"
	}
	return ""
}

// parameters is the test as the server is asked for it, except the user.
func (c *client) parameters() Parameters {
	p := ParametersOf(c.Spec)
	if c.Blocks > 0 {
		p.Time, p.Num, p.BlockCount = 0, 0, c.Blocks
	}
	if c.ServerAffinity != nil {
		p.Affinity = c.ServerAffinity
	}
	p.Title, p.ExtraData, p.GetServerOutput = c.Title, c.Extra, oneIf(c.GetServerOutput)
	return p
}
