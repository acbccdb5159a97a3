package iperf3

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// An exchange is what went over the control connection between iperf3 3.12's
// client and server, with the options that its name tells: testdata/exchange.
type exchange struct {
	client, server []byte // as each end sent it
}

func readExchange(t testing.TB, name string) exchange {
	t.Helper()
	var e exchange
	for suffix, to := range map[string]*[]byte{".client": &e.client, ".server": &e.server} {
		b, err := os.ReadFile(filepath.Join("testdata", "exchange", name+suffix))
		if err != nil {
			t.Fatal(err)
		}
		*to = b
	}
	return e
}

func exchangeNames(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/exchange/*.client")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d exchanges, %v", len(files), err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".client")
	}
	return files
}

// playing is a control connection whose other end sends exactly that, takes what
// comes, and closes.
func playing(t testing.TB, sent []byte) *control {
	t.Helper()
	here, there := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, there) }()
	go func() {
		_, _ = there.Write(sent)
		_ = there.Close()
	}()
	c := newControl(context.Background(), here)
	t.Cleanup(c.close)
	return c
}

const soon = 5 * time.Second // more than any of these takes

// heard is what one end of a test makes of the other.
type heard struct {
	States     []State
	Parameters *Parameters
	Results    *Results
	Err        error
}

// asServer reads a client in the server's order, behind the cookie.
func (h *heard) asServer(c *control) {
	h.Parameters = new(Parameters)
	_ = c.writeState(ParamExchange)
	if h.Err = c.readJSON(maxParameters, soon, h.Parameters); h.Err != nil {
		return
	}
	if h.state(c); h.Err != nil {
		return
	}
	if h.results(c, maxClientResults); h.Err == nil {
		h.state(c)
	}
}

// asClient reads a server in the client's order.
func (h *heard) asClient(c *control) {
	for h.Err == nil {
		if h.state(c); h.Err == nil && h.States[len(h.States)-1] == ExchangeResults {
			h.results(c, maxResults)
		}
	}
}

func (h *heard) results(c *control, most int) {
	var r Results
	if h.Err = c.readJSON(most, soon, &r); h.Err == nil {
		h.Results = &r
	}
}

func (h *heard) state(c *control) {
	s, err := c.readState(soon)
	if h.Err = err; err == nil {
		h.States = append(h.States, s)
	}
}

func TestExchangeReadByServer(t *testing.T) {
	tcp := bulk.Spec{Protocol: bulk.TCP, Direction: bulk.Forward, Streams: 1, Duration: time.Second, Length: 128 << 10}
	udp := bulk.Spec{Protocol: bulk.UDP, Direction: bulk.Forward, Streams: 1, Duration: time.Second, Length: 32768, Rate: 2e6}
	with := func(spec bulk.Spec, change func(*bulk.Spec)) bulk.Spec { change(&spec); return spec }
	for name, want := range map[string]bulk.Spec{
		"tcp":          tcp,
		"tcp-parallel": with(tcp, func(s *bulk.Spec) { s.Streams = 4 }),
		"tcp-reverse":  with(tcp, func(s *bulk.Spec) { s.Direction = bulk.Reverse }),
		"tcp-bidir":    with(tcp, func(s *bulk.Spec) { s.Direction, s.Streams = bulk.Both, 2 }),
		"tcp-bytes":    with(tcp, func(s *bulk.Spec) { s.Duration, s.Bytes = 0, 1<<20 }),
		"tcp-blocks":   with(tcp, func(s *bulk.Spec) { s.Duration, s.Bytes, s.Length = 0, 10*4096, 4096 }),
		"tcp-omit":     with(tcp, func(s *bulk.Spec) { s.Omit, s.Streams = time.Second, 2 }),
		"tcp-options": with(tcp, func(s *bulk.Spec) {
			s.SendBuf, s.RecvBuf, s.MSS, s.NoDelay, s.TOS, s.Length = 65536, 65536, 1000, true, 0x10, 8192
			s.Congest, s.Rate, s.Burst, s.Pace, s.ServerCPUs = "cubic", 50*unit.Rate(1e6), 5, 100*unit.Rate(1e6), "1"
		}),
		"tcp-texts":       tcp,
		"tcp-zerocopy":    with(tcp, func(s *bulk.Spec) { s.Direction, s.SendPath = bulk.Reverse, bulk.SendFile }),
		"tcp-output-text": tcp,
		"tcp-output-json": tcp,
		"udp":             udp,
		"udp-reverse":     with(udp, func(s *bulk.Spec) { s.Direction, s.Streams = bulk.Reverse, 2 }),
		"udp-bidir":       with(udp, func(s *bulk.Spec) { s.Direction = bulk.Both }),
		"udp-omit":        with(udp, func(s *bulk.Spec) { s.Omit = time.Second }),
		"udp-options":     with(udp, func(s *bulk.Spec) { s.Length, s.Counters64, s.DontFragment = 1000, true, true }),
		"auth":            tcp,
	} {
		t.Run(name, func(t *testing.T) {
			sent := readExchange(t, name).client
			if _, err := ParseCookie(sent[:cookieSize]); err != nil {
				t.Error(err)
			}
			var got heard
			got.asServer(playing(t, sent[cookieSize:]))
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			if diff := cmp.Diff([]State{TestEnd, IperfDone}, got.States); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			spec, notes, err := got.Parameters.Spec()
			if err != nil || len(notes) > 0 {
				t.Errorf("notes %q, %v", notes, err)
			}
			if diff := cmp.Diff(want, spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExchangeReadByClient(t *testing.T) {
	for name, states := range map[string][]State{
		"tcp":            {ParamExchange, CreateStreams, TestStart, TestRunning, ExchangeResults, DisplayResults},
		"auth-wrong":     {ParamExchange},
		"server-stopped": {ParamExchange, CreateStreams, TestStart, TestRunning},
	} {
		var got heard
		got.asClient(playing(t, readExchange(t, name).server))
		if diff := cmp.Diff(states, got.States); diff != "" {
			t.Errorf("%s: states (-want +got):\n%s", name, diff)
		}
	}
	for name, want := range map[string]error{
		"tcp":              ErrClosed, // by the end of the recording
		"auth-wrong":       &RemoteError{Number: IEAuthTest},
		"window-too-large": &RemoteError{Number: IESetBuf2},
		"server-stopped":   ErrServerTerminated,
		"rate-exceeded":    ErrClosed,
	} {
		var got heard
		got.asClient(playing(t, readExchange(t, name).server))
		if !sameError(got.Err, want) {
			t.Errorf("%s: %v, want %v", name, got.Err, want)
		}
	}
	var got heard
	sent := readExchange(t, "client-stopped").client
	got.asServer(playing(t, sent[cookieSize:]))
	if !errors.Is(got.Err, ErrClientTerminated) {
		t.Errorf("client-stopped: %v", got.Err)
	}
}

// sameError compares a typed error by its numbers, others by what they are.
func sameError(got, want error) bool {
	if w, ok := errors.AsType[*RemoteError](want); ok {
		g, ok := errors.AsType[*RemoteError](got)
		return ok && *g == *w
	}
	return errors.Is(got, want)
}

func TestExchangeServerOutput(t *testing.T) {
	var text, doc heard
	text.asClient(playing(t, readExchange(t, "tcp-output-text").server))
	if !strings.Contains(text.Results.ServerOutputText, "Accepted connection from 127.0.0.1") {
		t.Errorf("text: %q", text.Results.ServerOutputText)
	}
	doc.asClient(playing(t, readExchange(t, "tcp-output-json").server))
	var server struct{ Start struct{ Version string } }
	if err := json.Unmarshal(doc.Results.ServerOutputJSON, &server); err != nil || server.Start.Version != "iperf 3.12" {
		t.Errorf("document: %+v, %v", server, err)
	}
}

// What is written is what iperf3 writes: every recorded blob, read and written
// again, has the same keys and values.
func TestExchangeWrittenAgain(t *testing.T) {
	blobs := 0
	for _, name := range exchangeNames(t) {
		e := readExchange(t, name)
		var server, client heard
		server.asServer(playing(t, e.client[cookieSize:]))
		client.asClient(playing(t, e.server))
		for _, blob := range []struct {
			sent []byte
			read any
			have bool
		}{
			{e.client, server.Parameters, true},
			{e.client, server.Results, server.Results != nil},
			{e.server, client.Results, client.Results != nil},
		} {
			if !blob.have {
				continue
			}
			blobs++
			written, err := json.Marshal(blob.read)
			if err != nil {
				t.Fatal(err)
			}
			want := findBlob(t, blob.sent, blob.read)
			if diff := cmp.Diff(generic(t, want), generic(t, written)); diff != "" {
				t.Errorf("%s: %T (-iperf3 +ours):\n%s", name, blob.read, diff)
			}
		}
	}
	if blobs < 50 {
		t.Errorf("only %d blobs", blobs)
	}
}

// findBlob is the recorded JSON of that kind.
func findBlob(t *testing.T, sent []byte, kind any) []byte {
	t.Helper()
	begin := []byte(`{"cpu_util_total"`)
	if _, ok := kind.(*Parameters); ok {
		begin = []byte(`{"`)
	}
	at := bytes.Index(sent, begin)
	if at < 0 {
		t.Fatalf("no %T", kind)
	}
	var blob json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(sent[at:])).Decode(&blob); err != nil {
		t.Fatal(err)
	}
	// Debian 12 writes -1 so.
	return bytes.ReplaceAll(blob, []byte("18446744073709551615"), []byte("-1"))
}

func generic(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
