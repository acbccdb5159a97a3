package ndt7

import (
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/coder/websocket"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
)

// What a download looks like to who only reads: messages as the specification
// has them, not too many measurements, and a closing handshake at the end.
func TestDownloadOnTheWire(t *testing.T) {
	t.Parallel()
	s := startServer(t, &Handler{Longest: 2 * time.Second}, false)
	ws := open(t, s.Server, DownloadPath)
	var total int64
	var texts []Measurement
	size := firstMessage
	for {
		kind, message, err := ws.Reader(t.Context())
		if code := websocket.CloseStatus(err); code != -1 {
			if code != websocket.StatusNormalClosure {
				t.Errorf("closed with %v", err)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(message)
		if err != nil {
			t.Fatal(err)
		}
		if kind == websocket.MessageText {
			var m Measurement
			if err := json.Unmarshal(b, &m); err != nil {
				t.Fatalf("%s: %v", b, err)
			}
			texts = append(texts, m)
			continue
		}
		if len(b) != size || size > largestMessage {
			t.Fatalf("message of %d bytes after %d, want %d", len(b), total, size)
		}
		total += int64(len(b))
		size = messageSize(size, total)
	}
	if came := s.came(t); came.Err != nil || came.Bytes > total {
		t.Errorf("the server has %+v, %d bytes came", came, total)
	}
	if len(texts) < 3 || len(texts) > 2*textsPerSecond {
		t.Errorf("%d measurements in 2 s", len(texts))
	}
	for i, m := range texts {
		if m.ConnectionInfo == nil || m.AppInfo == nil || m.Origin != "server" || m.Test != "download" {
			t.Errorf("measurement %+v", m)
		}
		if i > 0 && (m.elapsed() < texts[i-1].elapsed() || m.AppInfo.NumBytes < texts[i-1].AppInfo.NumBytes) {
			t.Errorf("measurement %d goes back", i)
		}
	}
}

// A message doubles while it is small beside what was sent, and is never larger
// than what M-Lab's clients read.
func TestMessageSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, total := firstMessage, int64(0)
		for range rapid.IntRange(1, 3000).Draw(t, "messages") {
			total += int64(size)
			next := messageSize(size, total)
			if next > largestMessage || next != size && (next != 2*size || int64(size) > total/16) {
				t.Fatalf("%d after %d, total %d", next, size, total)
			}
			size = next
		}
	})
}

func TestEarlyExit(t *testing.T) {
	s := startServer(t, &Handler{}, false)
	if err := readAll(t, open(t, s.Server, DownloadPath+"?early_exit=250")); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Error(err)
	}
	if came := s.came(t); came.Err != nil || came.Bytes < 250_000_000 {
		t.Errorf("%+v", came)
	}
}

// Whatever a client does, its test ends and its place is free within moments.
func TestHostileClient(t *testing.T) {
	const soon = 300 * time.Millisecond
	for name, c := range map[string]struct {
		path  string
		do    func(t *testing.T, ws *websocket.Conn)
		want  error // nil: clients may do that
		bytes bool  // some load counted
		slow  bool  // it takes more than a moment
	}{
		"load in a download": {path: DownloadPath, want: errBinary, do: func(t *testing.T, ws *websocket.Conn) {
			_ = ws.Write(t.Context(), websocket.MessageBinary, make([]byte, 1024))
			_ = readAll(t, ws)
		}},
		"a flood of texts": {path: UploadPath, want: errTexts, do: func(t *testing.T, ws *websocket.Conn) {
			go func() { _ = readAll(t, ws) }()
			for ws.Write(t.Context(), websocket.MessageText, []byte(`{"AppInfo":{"NumBytes":1,"ElapsedTime":1}}`)) == nil {
			}
		}},
		"a text that is no measurement": {path: UploadPath, want: nil, do: func(t *testing.T, ws *websocket.Conn) {
			_ = ws.Write(t.Context(), websocket.MessageText, []byte(`{{{`))
			_ = ws.Close(websocket.StatusNormalClosure, "")
		}},
		"a message that is too long": {path: UploadPath, want: websocket.ErrMessageTooBig, bytes: true, slow: true, do: func(t *testing.T, ws *websocket.Conn) {
			go func() { _ = readAll(t, ws) }()
			_ = ws.Write(t.Context(), websocket.MessageBinary, make([]byte, readLimit+(1<<20)))
		}},
		"the longest message there may be": {path: UploadPath, want: nil, bytes: true, slow: true, do: func(t *testing.T, ws *websocket.Conn) {
			go func() { _ = readAll(t, ws) }()
			_ = ws.Write(t.Context(), websocket.MessageBinary, make([]byte, readLimit))
			_ = ws.CloseNow()
		}},
		"reads nothing":          {path: DownloadPath, want: errVanished, bytes: true, do: func(*testing.T, *websocket.Conn) {}},
		"sends nothing":          {path: UploadPath, want: errVanished, do: func(*testing.T, *websocket.Conn) {}},
		"hangs up on a download": {path: DownloadPath, want: nil, do: func(_ *testing.T, ws *websocket.Conn) { _ = ws.CloseNow() }},
		"hangs up on an upload":  {path: UploadPath, want: nil, do: func(_ *testing.T, ws *websocket.Conn) { _ = ws.CloseNow() }},
		"says goodbye in an upload": {path: UploadPath, want: nil, do: func(_ *testing.T, ws *websocket.Conn) {
			_ = ws.Close(websocket.StatusGoingAway, "tab closed")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &Handler{patience: soon}
			if c.slow {
				h.patience = 0
			}
			s := startServer(t, h, false)
			began := time.Now()
			c.do(t, open(t, s.Server, c.path))
			came := s.came(t)
			if !errors.Is(came.Err, c.want) || c.want == nil && came.Err != nil {
				t.Errorf("ends with %v, want %v", came.Err, c.want)
			}
			if c.bytes && came.Bytes == 0 {
				t.Error("no load counted")
			}
			if took := time.Since(began); took > 9*time.Second { // not by the test's own end
				t.Errorf("its place was taken for %v", took)
			}
		})
	}
}

// readAll reads until the connection ends, and says why it did.
func readAll(t *testing.T, ws *websocket.Conn) error {
	for {
		_, message, err := ws.Reader(t.Context())
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, message)
	}
}

// An upload ends as M-Lab's server ends it, whatever is still under way.
func TestUploadOnTheWire(t *testing.T) {
	s := startServer(t, &Handler{Longest: 500 * time.Millisecond}, false)
	ws := open(t, s.Server, UploadPath)
	sent := make(chan int64, 1)
	go func() {
		var n int64
		for ws.Write(t.Context(), websocket.MessageBinary, payload()[:1<<16]) == nil {
			n += 1 << 16
		}
		sent <- n
	}()
	var last Measurement
	for {
		kind, text, err := ws.Read(t.Context())
		if err != nil {
			if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
				t.Error(err)
			}
			break
		}
		if kind != websocket.MessageText {
			t.Fatal("load in an upload")
		}
		if err := json.Unmarshal(text, &last); err != nil {
			t.Fatal(err)
		}
	}
	came := s.came(t)
	if last.AppInfo == nil || last.AppInfo.NumBytes != came.Bytes || last.Test != testName(bulk.Forward) {
		t.Errorf("the last measurement is %+v, the server counted %d bytes", last.AppInfo, came.Bytes)
	}
	if n := <-sent; came.Bytes > n+(1<<16) {
		t.Errorf("%d bytes counted, %d sent", came.Bytes, n)
	}
}
