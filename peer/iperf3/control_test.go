package iperf3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCookie(t *testing.T) {
	c := NewCookie()
	if c[36] != 0 || strings.Trim(c.String(), "abcdefghijklmnopqrstuvwxyz234567") != "" || c == NewCookie() {
		t.Errorf("cookie %q", c)
	}
	if again, err := ParseCookie(c[:]); again != c || err != nil {
		t.Errorf("%q, %v", again, err)
	}
	uuid := append([]byte("6F9619FF-8B86-d011-b42d-00cf4fc964ff"), 0)
	if _, err := ParseCookie(uuid); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", c.String(), c.String() + "a", "GET / HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n\r\n", strings.Repeat("\x00", 37), strings.Repeat("é", 18) + "\x00"} {
		if _, err := ParseCookie([]byte(bad)); err == nil {
			t.Errorf("%q was taken for a cookie", bad)
		}
	}
}

// pair is two connected TCP sockets.
func pair(t *testing.T) (here, there *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); s.Close() })
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

func between(t *testing.T) (here *control, there *net.TCPConn) {
	t.Helper()
	conn, there := pair(t)
	here = newControl(context.Background(), conn)
	t.Cleanup(here.close)
	return here, there
}

func TestControlRoundTrip(t *testing.T) {
	client, conn := between(t)
	server := newControl(context.Background(), conn)
	defer server.close()
	for _, s := range []State{ParamExchange, CreateStreams, TestStart, TestRunning, ExchangeResults, DisplayResults} {
		if err := server.writeState(s); err != nil {
			t.Fatal(err)
		}
	}
	for want := range slices.Values([]State{ParamExchange, CreateStreams, TestStart, TestRunning, ExchangeResults, DisplayResults}) {
		if got, err := client.readState(soon); got != want || err != nil {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	if err := server.writeError(IENumStreams, 22); err != nil {
		t.Fatal(err)
	}
	_, err := client.readState(soon)
	if remote, ok := errors.AsType[*RemoteError](err); !ok || *remote != (RemoteError{IENumStreams, 22}) {
		t.Error(err)
	}
	if err == nil || !strings.HasPrefix(err.Error(), "SERVER ERROR - invalid number of parallel streams (min = 1, max = 128), errno: ") {
		t.Error(err)
	}
	big := Results{Streams: []StreamResults{}, ServerOutputText: strings.Repeat("a row\n", 1<<20)}
	go func() { _ = server.writeJSON(big) }()
	var got Results
	if err := client.readJSON(maxResults, soon, &got); err != nil || got.ServerOutputText != big.ServerOutputText {
		t.Errorf("%d bytes, %v", len(got.ServerOutputText), err)
	}
}

func TestControlBusyByReset(t *testing.T) {
	client, server := between(t)
	if err := client.writeCookie(NewCookie()); err != nil {
		t.Fatal(err)
	}
	if err := server.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	server.Close() // with the cookie unread: a reset
	if _, err := client.readState(soon); !errors.Is(err, ErrNoAnswer) {
		t.Error(err)
	}
	// Once the server has begun, it is something else.
	client, server = between(t)
	_, _ = server.Write(states(ParamExchange))
	if s, err := client.readState(soon); s != ParamExchange || err != nil {
		t.Error(s, err)
	}
	server.Close()
	if _, err := client.readState(soon); !errors.Is(err, ErrClosed) || errors.Is(err, ErrNoAnswer) {
		t.Error(err)
	}
}

func TestControlPatience(t *testing.T) {
	const brief = 50 * time.Millisecond
	c, there := between(t)
	if _, err := c.readState(brief); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("silence: %v", err)
	}
	// Nothing was lost by giving up.
	_, _ = there.Write(states(ParamExchange))
	if s, err := c.readState(soon); s != ParamExchange || err != nil {
		t.Error(s, err)
	}
	// What drips is not waited for longer than what does not come at all.
	go func() {
		_, _ = there.Write(numbers(8000))
		for t.Context().Err() == nil {
			if _, err := there.Write([]byte(" ")); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	var p Parameters
	if err := c.readJSON(maxParameters, brief, &p); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("dripping: %v", err)
	}
}

func TestControlEndsWithContext(t *testing.T) {
	stopped := errors.New("stopped")
	calls := map[string]func(*control) error{
		"readState": func(c *control) error { _, err := c.readState(time.Hour); return err },
		"readJSON":  func(c *control) error { return c.readJSON(maxResults, time.Hour, new(Results)) },
		"writeJSON": func(c *control) error { return c.writeJSON(strings.Repeat("x", 64<<20)) }, // more than the sockets hold
	}
	for name, call := range calls {
		for _, when := range []string{"before", "during"} {
			here, there := pair(t)
			ctx, cancel := context.WithCancelCause(context.Background())
			c := newControl(ctx, here)
			defer c.close()
			if when == "before" {
				cancel(stopped)
			} else {
				time.AfterFunc(20*time.Millisecond, func() { cancel(stopped) })
			}
			if err := call(c); !errors.Is(err, stopped) {
				t.Errorf("%s, cancelled %s: %v", name, when, err)
			}
			if name == "writeJSON" {
				continue // something of it is on its way
			}
			// The other end can still be told.
			if err := c.writeState(ClientTerminate); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			var b [1]byte
			if _, err := io.ReadFull(there, b[:]); err != nil || State(b[0]) != ClientTerminate {
				t.Errorf("%s: %v, %v", name, b, err)
			}
		}
	}
}

func TestControlBounds(t *testing.T) {
	for name, sent := range map[string][]byte{
		"nothing":            numbers(0),
		"more than allowed":  numbers(maxParameters + 1),
		"4 GB":               {0xff, 0xff, 0xff, 0xff},
		"a truncated blob":   append(numbers(100), "{}"...),
		"a part of a length": {0, 0},
		"no JSON":            blob("GET / HTTP/1.1"),
		"more than JSON":     blob(`{"tcp":true}{"tcp":true}`),
		"no object":          blob(`[1,2,3]`),
		"null":               blob(`null`),
		"a key twice":        blob(`{"tcp":true,"parallel":1,"parallel":128}`),
		"deep":               blob(strings.Repeat(`[`, 8000)),
		"deep and wrong":     blob(`{"a":` + strings.Repeat(`[`, 4000) + strings.Repeat(`]`, 4000) + `,"b"}`),
		"many keys":          blob(manyKeys(500)),
	} {
		var p Parameters
		if err := playing(t, sent).readJSON(maxParameters, soon, &p); err == nil {
			t.Errorf("%s: taken as %+v", name, p)
		}
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"` + strings.Repeat("k", i%10) + string(rune('0'+i/10)) + `":1`)
	}
	return "{" + b.String()[1:] + "}"
}

// Memory follows what came, not what was announced.
func TestControlMemory(t *testing.T) {
	c, there := between(t)
	_, _ = there.Write(append(numbers(maxResults), bytes.Repeat([]byte(" "), 1000)...))
	_ = there.CloseWrite()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := c.readJSON(maxResults, soon, new(Results))
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrClosed) || grown > maxResults/4 {
		t.Errorf("%d bytes for 1000, %v", grown, err)
	}
}

func TestRemoteError(t *testing.T) {
	reset := ", errno: connection reset by peer"
	if runtime.GOOS != "linux" {
		reset = ", errno: 104"
	}
	for e, want := range map[RemoteError]string{
		{IEAuthTest, 0}:     "SERVER ERROR - test authorization failed",
		{IEDuration, 0}:     "SERVER ERROR - test duration valid values are 0 to 86400 seconds",
		{IEStreamRead, 104}: "SERVER ERROR - unable to read from stream socket" + reset,
		{IEStreamRead, -1}:  "SERVER ERROR - unable to read from stream socket",
		{999, 0}:            "SERVER ERROR - iperf3 error 999",
		{-1, 0}:             "SERVER ERROR - iperf3 error -1",
	} {
		if got := e.Error(); got != want {
			t.Errorf("%d, %d: %q, want %q", e.Number, e.Errno, got, want)
		}
	}
}
