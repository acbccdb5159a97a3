package ndt7

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/version"
)

// dial opens the WebSocket of a test: directly, since a proxy would be measured
// instead of the path.
func dial(ctx context.Context, u *url.URL, insecure bool) (*websocket.Conn, *link, error) {
	ctx, done := context.WithTimeoutCause(ctx, ioPatience, fmt.Errorf("no handshake within %v", ioPatience))
	defer done()
	var opened *link
	connect := func(ctx context.Context, _, address string) (net.Conn, error) {
		var dialer net.Dialer
		dialer.SetMultipathTCP(false) // what is measured is one path
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		opened = &link{Conn: conn, tcp: conn.(*net.TCPConn), closing: func() {}}
		return opened, nil
	}
	transport := &http.Transport{
		DialContext: connect,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if _, err := connect(ctx, network, address); err != nil {
				return nil, err
			}
			name, _, _ := strings.Cut(u.Hostname(), "%")                                                                                // a zone is no part of a name
			secure := tls.Client(opened.tcp, &tls.Config{ServerName: name, InsecureSkipVerify: insecure, MinVersion: tls.VersionTLS12}) //nolint:gosec // asked for
			if err := secure.HandshakeContext(ctx); err != nil {
				_ = opened.tcp.Close()
				return nil, err
			}
			opened.Conn = secure
			return opened, nil
		},
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
		DisableKeepAlives:      true, // what answers without a WebSocket is done with
	}
	ws, answer, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{ //nolint:bodyclose // the library does
		HTTPClient: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		HTTPHeader:   http.Header{"User-Agent": {"fullbore/" + strings.ReplaceAll(version.String(), " ", "-")}},
		Subprotocols: []string{Subprotocol},
	})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, nil, explain(u, answer, err)
	}
	if ws.Subprotocol() != Subprotocol {
		_ = ws.CloseNow()
		return nil, nil, fmt.Errorf("connect to %s: it opened a WebSocket, but not for ndt7", u.Host)
	}
	ws.SetReadLimit(readLimit)
	return ws, opened, nil
}

// explain says why there is no WebSocket, and what to do.
func explain(u *url.URL, answer *http.Response, err error) error {
	if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("connect to %s: %w", u.Host, refusal(answer))
	}
	if request, ok := errors.AsType[*url.Error](err); ok { // it says the whole address again
		err = request.Err
	}
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	hint := ""
	switch {
	case errors.As(err, &authority), errors.As(err, &name), errors.As(err, &invalid):
		hint = "; `fullbore serve` has a certificate of its own: test without checking it (--insecure), or over plain ndt7://"
	case errors.Is(err, http.ErrSchemeMismatch):
		hint = "; it does not speak TLS on this port: use ndt7://"
	case u.Scheme == "ws" && errors.Is(err, io.EOF):
		hint = "; it may speak only TLS on this port: use ndt7s://"
	}
	return fmt.Errorf("connect to %s: %w%s", u.Host, err, hint)
}

// refusal is an answer other than a WebSocket.
func refusal(answer *http.Response) error {
	if answer.StatusCode == http.StatusServiceUnavailable || answer.StatusCode == http.StatusTooManyRequests {
		busy := &Busy{}
		if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 && seconds <= 86400 {
			busy.After = time.Duration(seconds) * time.Second
		}
		return busy
	}
	says := ""
	if answer.Body != nil {
		if line, _, _ := bufio.NewReader(io.LimitReader(answer.Body, 300)).ReadLine(); len(line) > 0 {
			says = ": " + printable.Line(strings.ToValidUTF8(string(line), "\uFFFD"))
		}
	}
	if strings.Contains(says, "HTTPS") { // as Go's servers say that they expect TLS
		return fmt.Errorf("it answered %d%s use ndt7s://", answer.StatusCode, says)
	}
	return fmt.Errorf("it answered %d%s: is there an ndt7 server at this port and path?", answer.StatusCode, says)
}
