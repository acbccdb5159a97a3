package ndt7

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func withContext(ctx context.Context, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		test, done := context.WithCancelCause(r.Context())
		defer context.AfterFunc(ctx, func() { done(context.Cause(ctx)) })()
		h.ServeHTTP(w, r.WithContext(test))
	})
}

// What a server answers to a request, by the specification and as M-Lab's does.
func TestHandshake(t *testing.T) {
	h := &Handler{Longest: 10 * time.Millisecond}
	s := start(t, h, false)
	const ours = "Sec-WebSocket-Protocol: " + Subprotocol
	for name, c := range map[string]struct {
		target string
		header []string
		want   int
	}{
		"download":                    {DownloadPath, []string{ours}, 101},
		"upload":                      {UploadPath, []string{ours}, 101},
		"one of several subprotocols": {UploadPath, []string{"Sec-WebSocket-Protocol: chat, " + Subprotocol}, 101},
		"no subprotocol":              {DownloadPath, nil, 400},
		"another subprotocol":         {DownloadPath, []string{"Sec-WebSocket-Protocol: net.measurementlab.ndt.v8"}, 400},
		"no such test":                {"/ndt/v7/sideload", []string{ours}, 400},
		"metadata":                    {DownloadPath + "?client_name=a&client_os=b", []string{ours}, 101},
		"a key without a value":       {DownloadPath + "?client_name", []string{ours}, 101},
		"a key twice":                 {DownloadPath + "?client_name=a&client_name=b", []string{ours}, 101},
		"enough":                      {DownloadPath + "?early_exit=250", []string{ours}, 101},
		"enough, twice":               {DownloadPath + "?early_exit=250&early_exit=9", []string{ours}, 101},
		"enough, of another kind":     {DownloadPath + "?early_exit=500", []string{ours}, 400},
		"enough, of no kind":          {DownloadPath + "?early_exit", []string{ours}, 400},
		"4096 bytes of query":         {DownloadPath + "?k=" + strings.Repeat("v", 4094), []string{ours}, 101},
		"4097 bytes of query":         {DownloadPath + "?k=" + strings.Repeat("v", 4095), []string{ours}, 400},
		"malformed query":             {DownloadPath + "?k=%zz", []string{ours}, 400},
		"not UTF-8":                   {DownloadPath + "?k=%ff", []string{ours}, 400},
		"page of this host":           {DownloadPath, []string{ours, "Origin: http://127.0.0.1:3000"}, 101},
		"page of another host":        {DownloadPath, []string{ours, "Origin: https://example.com"}, 403},
		"page of no host":             {DownloadPath, []string{ours, "Origin: null"}, 403},
		"another WebSocket version":   {DownloadPath, []string{ours, "Sec-WebSocket-Version: 12"}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, s.Listener.Addr().String(), c.target, c.header)
			if answer.StatusCode != c.want {
				t.Errorf("answers %s, want %d", answer.Status, c.want)
			}
			if c.want != 101 {
				return
			}
			if got := answer.Header.Get("Sec-WebSocket-Protocol"); got != Subprotocol {
				t.Errorf("subprotocol %q", got)
			}
			if got := answer.Header.Get("Sec-WebSocket-Extensions"); got != "" {
				t.Errorf("extensions %q: load must not be compressed", got)
			}
		})
	}
}

// Whose page it is that asks, by what it cannot choose.
func TestForeign(t *testing.T) {
	for name, c := range map[string]struct {
		host, origin string
		want         bool
	}{
		"no page":                     {"192.0.2.1:5201", "", false},
		"this host, another port":     {"192.0.2.1:5201", "https://192.0.2.1", false},
		"this host, IPv6":             {"[2001:db8::1]:5201", "http://[2001:db8::1]:8080", false},
		"localhost":                   {"localhost:5201", "http://LOCALHOST:3000", false},
		"another address":             {"192.0.2.1:5201", "http://192.0.2.2:5201", true},
		"another name":                {"192.0.2.1:5201", "https://example.com", true},
		"a name that was made to fit": {"example.com:5201", "http://example.com:5201", true},
		"no host":                     {"192.0.2.1:5201", "null", true},
		"no host, none asked":         {"", "null", true},
		"malformed":                   {"192.0.2.1:5201", "http://[", true},
	} {
		r := &http.Request{Host: c.host, Header: http.Header{"Origin": {c.origin}}}
		if got := foreign(r); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// ask sends a WebSocket handshake as it stands in RFC 6455.
func ask(t *testing.T, address, target string, header []string) *http.Response {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, generous)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(generous))
	lines := []string{
		"GET " + target + " HTTP/1.1", "Host: " + address, "Connection: Upgrade", "Upgrade: websocket",
		"Sec-WebSocket-Key: DOdm+5/Cm3WwvhfcAlhJoQ==", "Sec-WebSocket-Extensions: permessage-deflate",
	}
	if !strings.Contains(strings.Join(header, ""), "Version") {
		lines = append(lines, "Sec-WebSocket-Version: 13")
	}
	if _, err := fmt.Fprintf(conn, "%s\r\n\r\n", strings.Join(append(lines, header...), "\r\n")); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// A plain request for a test is answered, not hung up on.
func TestNoWebSocket(t *testing.T) {
	s := start(t, &Handler{}, false)
	for _, path := range []string{DownloadPath, UploadPath, "/"} {
		answer, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}

// Places are asked for, given back, and their lack is answered so that clients
// come again. Pages of other hosts have few.
func TestPlaces(t *testing.T) {
	taken := 0
	h := &Handler{Longest: 10 * time.Second, Foreign: 1, Admit: func(*http.Request) (func(), error) {
		if taken == 1 {
			return nil, &Busy{After: 2500 * time.Millisecond}
		}
		taken++
		return func() { taken-- }, nil
	}}
	s := startServer(t, h, false)
	address := s.Listener.Addr().String()
	const ours, page = "Sec-WebSocket-Protocol: " + Subprotocol, "Origin: https://example.com"

	first := open(t, s.Server, UploadPath)
	if answer := ask(t, address, UploadPath, []string{ours}); answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "3" {
		t.Errorf("without a place: %s, %v", answer.Status, answer.Header)
	}
	_, err := Test(within(t, generous), targetOf(s.Server), Options{}, nil)
	if busy := new(Busy); !errors.As(err, &busy) || busy.After != 3*time.Second {
		t.Errorf("the client says %v", err)
	}
	if h.foreign.Load() != 0 {
		t.Error("who got no place is still counted")
	}
	_ = first.CloseNow()
	s.came(t)

	h.Admit = nil
	if answer := ask(t, address, UploadPath, []string{ours, page}); answer.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("a page's first: %s", answer.Status)
	}
	if answer := ask(t, address, UploadPath, []string{ours, page}); answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a page's second: %s", answer.Status)
	}
	if answer := ask(t, address, UploadPath, []string{ours}); answer.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("another client meanwhile: %s", answer.Status)
	}
}
