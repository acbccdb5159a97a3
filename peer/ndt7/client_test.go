package ndt7

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/fullbore/fullbore/bulk"
)

// accepts is a server that does what the specification does not say.
func accepts(do func(ctx context.Context, ws *websocket.Conn)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{Subprotocol}})
		if err != nil {
			return
		}
		defer func() { _ = ws.CloseNow() }()
		ws.SetReadLimit(readLimit)
		do(r.Context(), ws)
	})
}

// drain reads an upload in the background.
func drain(ctx context.Context, ws *websocket.Conn) {
	go func() {
		for {
			_, message, err := ws.Reader(ctx)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, message)
		}
	}()
}

func say(ctx context.Context, ws *websocket.Conn, text string) error {
	return ws.Write(ctx, websocket.MessageText, []byte(text))
}

const plausible = `{"TCPInfo":{"BytesReceived":8192,"ElapsedTime":1000}}`

// Whatever a server does, a test ends, says what was wrong, and keeps what was
// measured.
func TestHostileServer(t *testing.T) {
	t.Parallel() // it mostly waits
	for name, c := range map[string]struct {
		direction bulk.Direction
		do        func(ctx context.Context, ws *websocket.Conn)
		fails     string // the test's error
		client    string // otherwise, in Client.Error
		server    string // and in Server.Error
	}{
		"too long a message": {bulk.Reverse, func(ctx context.Context, ws *websocket.Conn) {
			_ = ws.Write(ctx, websocket.MessageBinary, make([]byte, readLimit+(1<<20)))
			<-ctx.Done()
		}, "", "read limited at", "no measurement"},
		"load in an upload": {bulk.Forward, func(ctx context.Context, ws *websocket.Conn) {
			for range 2 { // the client has counted the first once it sends the second
				_, message, err := ws.Reader(ctx)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, message)
			}
			drain(ctx, ws)
			_ = ws.Write(ctx, websocket.MessageBinary, make([]byte, 1024))
			<-ctx.Done()
		}, "", "sent load in an upload", "no measurement"},
		"a flood of texts": {bulk.Forward, func(ctx context.Context, ws *websocket.Conn) {
			drain(ctx, ws)
			for i := 1; say(ctx, ws, fmt.Sprintf(`{"AppInfo":{"NumBytes":%d,"ElapsedTime":%d}}`, i, i)) == nil; i++ {
			}
		}, "", "", ""},
		"texts without end": {bulk.Forward, func(ctx context.Context, ws *websocket.Conn) {
			drain(ctx, ws)
			_ = say(ctx, ws, `{"Test":"`+strings.Repeat("a", 1<<20)+`"}`)
			time.Sleep(200 * time.Millisecond)
			_ = ws.Close(websocket.StatusNormalClosure, "")
		}, "", "", "longer than"},
		"no JSON": {bulk.Forward, func(ctx context.Context, ws *websocket.Conn) {
			drain(ctx, ws)
			_ = say(ctx, ws, `{{{`)
			time.Sleep(200 * time.Millisecond)
			_ = ws.Close(websocket.StatusNormalClosure, "")
		}, "", "", "cannot be read"},
		"more than was sent": {bulk.Forward, func(ctx context.Context, ws *websocket.Conn) {
			drain(ctx, ws)
			_ = say(ctx, ws, `{"AppInfo":{"NumBytes":9000000000000000,"ElapsedTime":1000}}`)
			time.Sleep(200 * time.Millisecond)
			_ = ws.Close(websocket.StatusNormalClosure, "")
		}, "", "", "says that it received"},
		"only what its kernel knows": {bulk.Forward, func(ctx context.Context, ws *websocket.Conn) {
			drain(ctx, ws)
			_ = say(ctx, ws, plausible)
			time.Sleep(200 * time.Millisecond)
			_ = ws.Close(websocket.StatusNormalClosure, "")
		}, "", "", ""},
		"hangs up at once": {bulk.Reverse, func(context.Context, *websocket.Conn) {}, "nothing was measured", "", ""},
		"ends it at once": {bulk.Reverse, func(_ context.Context, ws *websocket.Conn) {
			_ = ws.Close(websocket.StatusNormalClosure, "")
		}, "the server ended it", "", ""},
		"hangs up halfway": {bulk.Reverse, func(ctx context.Context, ws *websocket.Conn) {
			_ = ws.Write(ctx, websocket.MessageBinary, payload()[:firstMessage])
		}, "", "EOF", "no measurement"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, accepts(c.do), false)
			result, err := Test(within(t, generous), targetOf(s), Options{Direction: c.direction, Duration: time.Second}, nil)
			if !says(err, c.fails) {
				t.Fatalf("fails with %v, want %q", err, c.fails)
			}
			if err != nil {
				return
			}
			if !strings.Contains(result.Client.Error, c.client) || c.client == "" && result.Client.Error != "" {
				t.Errorf("client says %q, want %q", result.Client.Error, c.client)
			}
			if !strings.Contains(result.Server.Error, c.server) || c.server == "" && result.Server.Error != "" {
				t.Errorf("server's end says %q, want %q", result.Server.Error, c.server)
			}
			if bytes := result.Client.Streams[0].Bytes; bytes == 0 {
				t.Error("nothing counted")
			}
		})
	}
}

// says: an error that has the words, or none where there are none.
func says(err error, words string) bool {
	if err == nil || words == "" {
		return err == nil && words == ""
	}
	return strings.Contains(err.Error(), words)
}

// Where there is no ndt7 server, the error says what is there and what to do.
func TestNoServer(t *testing.T) {
	site := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away/upload" {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
			return
		}
		http.Error(w, "only \x1b[31mpages\x1b[0m here", http.StatusNotFound)
	}), false)
	chat := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ws, err := websocket.Accept(w, r, nil); err == nil {
			_ = ws.CloseNow()
		}
	}), false)
	secure := start(t, &Handler{}, true)
	bare := func(target string) string {
		_, rest, _ := strings.Cut(target, "://")
		return "://" + rest
	}
	for name, c := range map[string]struct{ target, says string }{
		"a web site":          {targetOf(site), "it answered 404: only  [31mpages [0m here: is there an ndt7 server"},
		"a redirection":       {targetOf(site) + "/away/upload", "it answered 302"},
		"another WebSocket":   {targetOf(chat), "not for ndt7"},
		"TLS asked of plain":  {"ndt7s" + bare(targetOf(site)), "use ndt7://"},
		"plain asked of TLS":  {"ndt7" + bare(targetOf(secure)), "HTTPS server. use ndt7s://"},
		"unknown certificate": {targetOf(secure), "test without checking it (--insecure), or over plain ndt7://"},
		"nobody":              {"ndt7://127.0.0.1:1", "connection refused"},
		"another protocol":    {"iperf3://127.0.0.1", "not of this protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := Test(within(t, generous), c.target, Options{}, nil)
			if result != nil || err == nil || !says(err, c.says) {
				t.Errorf("says %v, want %q", err, c.says)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for o, words := range map[Options]string{
		{Direction: bulk.Both}:      "one direction at a time",
		{Direction: "sideways"}:     "use forward, reverse",
		{Duration: time.Minute}:     "lasts up to 10s",
		{Duration: -1}:              "duration",
		{Interval: time.Nanosecond}: "interval",
	} {
		if _, err := Test(t.Context(), "127.0.0.1:1", o, nil); err == nil || !says(err, words) {
			t.Errorf("%+v: %v, want %q", o, err, words)
		}
	}
}

func TestTargets(t *testing.T) {
	for target, want := range map[string]string{
		"b":                            "ws://b/ndt/v7/upload",
		"b:5201":                       "ws://b:5201/ndt/v7/upload",
		"ndt7://b":                     "ws://b/ndt/v7/upload",
		"ndt7s://b:5201/":              "wss://b:5201/ndt/v7/upload",
		"WSS://b":                      "wss://b/ndt/v7/upload",
		"2001:db8::1":                  "ws://[2001:db8::1]/ndt/v7/upload",
		"ndt7://[2001:db8::1]:5201":    "ws://[2001:db8::1]:5201/ndt/v7/upload",
		"ndt7://fe80::1%eth0":          "ws://[fe80::1%25eth0]/ndt/v7/upload",
		"ndt7://[fe80::1%eth0]:80":     "ws://[fe80::1%25eth0]:80/ndt/v7/upload",
		"wss://mlab1/ndt/v7/upload":    "wss://mlab1/ndt/v7/upload",
		"ws://b/behind/a/proxy/upload": "ws://b/behind/a/proxy/upload",
		"wss://mlab1/ndt/v7/upload?access_token=x.y&client_name=z": "wss://mlab1/ndt/v7/upload",
		"":                         "no host was given",
		"ndt7://":                  "no host was given",
		"ndt7://:80":               "no host was given",
		"b:0":                      "not a port",
		"b:99999":                  "not a port",
		"ndt7://b:x":               "malformed",
		"http://b":                 "not of this protocol",
		"ndt7://a@b":               "a user",
		"ndt7://b/ndt/v7/download": "not that of the upload",
		"ndt7://b/?k=" + strings.Repeat("v", maxQuery): "are allowed",
	} {
		u, err := parseTarget(target, bulk.Forward)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %q", target, err, want)
			}
			continue
		}
		query := u.Query()
		if query.Get("client_library_name") != "fullbore" || query.Get("client_os") == "" {
			t.Errorf("%q: metadata %v", target, query)
		}
		if strings.Contains(target, "access_token") && (query.Get("access_token") != "x.y" || query.Get("client_name") != "z") {
			t.Errorf("%q: lost its own query: %v", target, query)
		}
		if u.RawQuery = ""; u.String() != want {
			t.Errorf("%q: %s, want %s", target, u, want)
		}
	}
}

func TestHostPort(t *testing.T) {
	for target, want := range map[string]string{
		"b":                         "b 80",
		"ndt7s://b/":                "b 443",
		"ndt7://[2001:db8::1]:5201": "2001:db8::1 5201",
		"ndt7://fe80::1%eth0":       "fe80::1%eth0 80",
	} {
		host, port, err := HostPort(target, bulk.Forward)
		if got := fmt.Sprint(host, " ", port); got != want || err != nil {
			t.Errorf("%q: %s (%v), want %s", target, got, err, want)
		}
	}
}
