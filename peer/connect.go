package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
)

const (
	// connectWithin leaves room for three lost SYNs (sent at 0, 1, 3 and 7 s).
	connectWithin = 10 * time.Second
	// greetWithin bounds the TLS handshake.
	greetWithin = 6 * time.Second
)

// connect opens a TLS connection for control. The first one also settles which
// of the host's addresses is used from then on.
func (c *Client) connect(ctx context.Context, _, _ string) (net.Conn, error) {
	tcp, err := c.dial(ctx, smallSegments)
	if err != nil {
		return nil, err
	}
	c.settle(tcp)
	sniffed := &sniffer{Conn: tcp}
	secured := tls.Client(sniffed, c.tls())
	ctx, done := context.WithTimeout(ctx, greetWithin)
	defer done()
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = tcp.Close()
		return nil, c.greetFailed(err, sniffed.first)
	}
	return secured, nil
}

// tls is how control is secured. With a token the far end's key must have the
// token's pin, and that is checked before anything is sent over the connection.
// Without one nothing secret is sent, there is nothing to hold the certificate
// against, and it is not checked.
func (c *Client) tls() *tls.Config {
	if c.token == nil {
		return tlsTo(nil)
	}
	return c.token.tls(c.target)
}

// dial opens a TCP connection to the far end. Multipath TCP stays off: what is
// measured is one path.
func (c *Client) dial(ctx context.Context, control func(network, address string, raw syscall.RawConn) error) (*net.TCPConn, error) {
	dialer := net.Dialer{Timeout: connectWithin, Control: control}
	dialer.SetMultipathTCP(false)
	conn, err := dialer.DialContext(ctx, "tcp", c.dialAddress())
	if err != nil {
		return nil, c.dialFailed(err)
	}
	return conn.(*net.TCPConn), nil
}

// smallSegments keeps control working where large packets vanish, so that a far
// end can help to find out that they do. Where a system does not have it, that
// has to do without.
func smallSegments(network, address string, raw syscall.RawConn) error {
	err := bulk.Control(bulk.Spec{MSS: path.SafeMSS})(network, address, raw)
	if errors.Is(err, host.ErrUnsupported) {
		return nil
	}
	return err
}

// dialFailed puts into words why there is no connection.
func (c *Client) dialFailed(err error) error {
	var unknown *net.DNSError
	switch {
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return &failure{kind: ErrUnknownHost, says: fmt.Sprintf("host %q is not known: check its name", unknown.Name)}
	case errors.As(err, &unknown):
		return &failure{kind: ErrUnknownHost, says: fmt.Sprintf("host %q cannot be looked up: check this host's name servers, or give an address", unknown.Name), cause: err}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &failure{kind: ErrUnreachable, says: fmt.Sprintf("nothing listens on %s: start `fullbore serve` there", c.target), cause: syscall.ECONNREFUSED}
	case errors.Is(err, os.ErrDeadlineExceeded) || isTimeout(err):
		return &failure{kind: ErrUnreachable, says: fmt.Sprintf("%s does not answer: the host is down, or a firewall drops the port", c.target), cause: err}
	case errors.Is(err, context.Canceled):
		return err
	default:
		return &failure{kind: ErrUnreachable, says: fmt.Sprintf("cannot connect to %s", c.target), cause: err}
	}
}

// greetFailed puts into words why what listens there is not a far end.
func (c *Client) greetFailed(err error, first []byte) error {
	var known *failure
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, errNotTLS):
		return &failure{kind: ErrNotFullbore, says: fmt.Sprintf("%s is not a fullbore far end (%s): start `fullbore serve` there, on another port if need be", c.target, guess(first))}
	case errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET):
		return &failure{kind: ErrNotFullbore, says: fmt.Sprintf("%s closes the connection immediately: something other than `fullbore serve` listens there, or it has too many clients", c.target), cause: err}
	case isTimeout(err):
		return &failure{kind: ErrNotFullbore, says: fmt.Sprintf("%s takes connections but says nothing: something other than `fullbore serve` listens there, or it hangs", c.target), cause: err}
	case errors.Is(err, context.Canceled):
		return err
	default:
		return &failure{kind: ErrNotFullbore, says: fmt.Sprintf("%s does not speak as a fullbore far end does", c.target), cause: err}
	}
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// guess says what else it may be that listens.
func guess(first []byte) string {
	switch {
	case first[0] == 0x09 || first[0] == 0xff: // PARAM_EXCHANGE, ACCESS_DENIED
		return "it looks like an iperf3 server"
	case string(first) == "HTTP":
		return "it is a web server without TLS"
	case string(first) == "SSH-":
		return "it is an ssh server"
	}
	return fmt.Sprintf("it starts with %q", first)
}

var errNotTLS = errors.New("not TLS")

// sniffer looks at the first bytes that come, so that a server of another kind
// is known by them instead of by a timeout.
type sniffer struct {
	net.Conn
	first []byte
}

func (s *sniffer) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	if len(s.first) == 0 && n > 0 {
		s.first = append(s.first, b[:min(n, 4)]...)
		if kind := s.first[0]; kind != 0x16 && kind != 0x15 { // handshake, alert (RFC 8446, 5.1)
			return n, errNotTLS
		}
	}
	return n, err
}
