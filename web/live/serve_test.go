package live

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// served is a hub behind a real server.
func served(t *testing.T, h *Hub, change ...func(*httptest.Server)) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	for _, c := range change {
		c(server)
	}
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(h.Close) // first: the server waits for its streams
	return server.URL
}

// readersOf is how many browsers a hub has.
func readersOf(h *Hub) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.readers
}

// until waits for something that comes by itself.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("this has not come: ", what)
		}
	}
}

// A run that is recorded reaches the browser as it goes: from the command's recorder through the
// relay to the stream, each thing under its name.
func TestRunReachesBrowser(t *testing.T) {
	h := NewHub()
	url := served(t, h)
	next, response := watching(t, url+"?task=t1&runs")
	for key, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
		if got := response.Header.Get(key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
	relay, err := record.NewRelay(filepath.Join(t.TempDir(), "record.db"), nil, h.Observer("t1"))
	if err != nil {
		t.Fatal(err)
	}
	defer relay.Close()
	r := record.Start(relay.Place(), record.Header{Kind: record.Tune, From: "a", To: "b"})
	if list := next(); list.name != "runs" || !strings.Contains(list.data, r.ID()) {
		t.Errorf("%+v", list)
	}
	r.Event(record.Phase, "measure\n\nevent: end\ndata: </script>")
	r.Progress(bulk.Progress{At: time.Second, Streams: []bulk.Look{{ID: 1, Sender: true, Sample: bulk.Sample{Bytes: 125e6}}}})
	r.Transfer(time.Now(), record.Transfer{Phase: "measure", Result: &bulk.Result{Spec: bulk.Spec{Direction: bulk.Reverse, Streams: 1, Duration: time.Second},
		Client: bulk.End{Streams: []bulk.Stream{{ID: 1, Bytes: 125e6, Elapsed: time.Second, Samples: make([]bulk.Sample, 1000)}}},
		Server: bulk.End{Streams: []bulk.Stream{{ID: 1, Sender: true, Retransmits: 3, Peaks: bulk.Peaks{MeanRTT: 150_000}}}}}})
	if err := r.End(record.Outcome{State: record.Done, Goodput: 1e9, Verdict: "healthy", Document: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for len(got) < 6 || got["runs"] != "[]" {
		e := next()
		got[e.name] = e.data
	}
	id := `{"run":"` + r.ID() + `",`
	for name, want := range map[string]string{
		"begin":    id + `"task":"t1","header":{"schema":"fullbore/run/1","id":"` + r.ID() + `","kind":"tune","state":"running",`,
		"step":     `"kind":"phase","text":"measure\n\nevent: end\ndata: \u003c/script\u003e"}`,
		"progress": `"transfer_ns":1000000000,"sends_bps":1000000000,"receives_bps":0,"count":1,"streams":[{"id":1,"sender":true,"bps":1000000000}]}`,
		"transfer": `"phase":"measure","direction":"reverse","streams":1,"elapsed_ns":1000000000,"reverse_bps":1000000000,"retransmits":3,"rtt_ns":150000000}`,
		"end":      id + `"state":"done","goodput_bps":1000000000,"verdict":"healthy"}`,
	} {
		if !strings.Contains(got[name], want) || !strings.HasPrefix(got[name], id) {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
}

// A browser that comes late is sent what was before. One that lost its connection goes on where it
// was, and one that was with a page that has ended since begins anew.
func TestComesAgain(t *testing.T) {
	h := NewHub()
	url := served(t, h) + "?run=r"
	h.tell("t", "r", begins("r"))
	h.tell("t", "r", step("one"))
	next, _ := watching(t, url)
	next()
	second := next()
	h.tell("t", "r", step("two"))
	again := func(id string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Last-Event-ID", id) }
	}
	next, _ = watching(t, url, again(second.id))
	if e := next(); e.name != "step" || !strings.Contains(e.data, "two") {
		t.Errorf("%+v", e)
	}
	next, _ = watching(t, url+"&after="+second.id)
	if e := next(); !strings.Contains(e.data, "two") {
		t.Errorf("%+v", e)
	}
	for _, id := range []string{NewHub().epoch + "-2", h.epoch + "-99", h.epoch, "-", "x\x80"} {
		next, _ = watching(t, url, again(id))
		sameWords(t, names(next, 4), "reset", "begin", "step", "step")
	}
}

// What cannot be answered is refused, with what to do.
func TestRefusedStreams(t *testing.T) {
	h := NewHub()
	url := served(t, h)
	for query, says := range map[string]string{
		"":                                 "say what to watch",
		"?run=":                            "no identifier",
		"?run=a/b":                         "no identifier",
		"?task=" + strings.Repeat("a", 65): "no identifier",
		"?run=1&run=2&run=3&run=4&run=5&task=1&task=2&task=3&task=4": "9 runs and tasks: ask for 8 at most",
	} {
		response := get(t, url+query)
		if response.code != http.StatusBadRequest || !strings.Contains(response.body, says) {
			t.Errorf("%s: %+v, want %s", query, response, says)
		}
	}
	response, err := http.Post(url+"?runs", "text/plain", nil)
	if err != nil || response.StatusCode != http.StatusMethodNotAllowed {
		t.Error(response, err)
	}
	h.mu.Lock()
	h.readers = MostReaders
	h.mu.Unlock()
	if response := get(t, url+"?runs"); response.code != http.StatusServiceUnavailable || response.later == "" || !strings.Contains(response.body, "1000 pages are live") {
		t.Errorf("%+v", response)
	}
}

type answer struct {
	code        int
	body, later string
}

func get(t *testing.T, url string) answer {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text := make([]byte, 1000)
	n, _ := response.Body.Read(text)
	return answer{response.StatusCode, string(text[:n]), response.Header.Get("Retry-After")}
}

// The deadlines that a server has for its requests do not end a stream, and where nothing happens a
// comment keeps it open.
func TestOutlivesDeadlines(t *testing.T) {
	h := NewHub()
	h.times.heartbeat = 20 * time.Millisecond
	url := served(t, h, func(s *httptest.Server) {
		s.Config.ReadTimeout, s.Config.WriteTimeout = 50*time.Millisecond, 50*time.Millisecond
	})
	_, response := watching(t, url+"?runs")
	text := ""
	for strings.Count(text, ":\n\n") < 10 { // 200 ms
		chunk := make([]byte, 100)
		n, err := response.Body.Read(chunk)
		if text += string(chunk[:n]); err != nil {
			t.Fatalf("%q, then %v", text, err)
		}
	}
	if !strings.HasPrefix(text, "retry: 2000\n\n") {
		t.Errorf("%q", text)
	}
}

// Two hundred browsers see a run to its end, and when they go nothing is left of them.
func TestTwoHundredBrowsers(t *testing.T) {
	h := NewHub()
	h.times.pace = time.Millisecond
	url := served(t, h) + "?run=r&runs"
	h.tell("t", "r", begins("r"))
	ctx, gone := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 200 {
		next, _ := watching(t, url, func(r *http.Request) { *r = *r.WithContext(ctx) })
		all.Go(func() {
			points := 0
			for e := next(); e.name != "end"; e = next() {
				if e.name == "progress" {
					points++
				}
			}
			if points != 50 {
				t.Errorf("%d points of 50", points)
			}
		})
	}
	until(t, "all are there", func() bool { return readersOf(h) == 200 })
	for i := range 50 {
		h.tell("t", "r", point(i))
	}
	h.tell("t", "r", ends(record.Done))
	all.Wait()
	gone()
	until(t, "all have gone", func() bool { return readersOf(h) == 0 })
	if h.Watched(Runs) {
		t.Error("the list is watched by nobody")
	}
}

// A browser that takes nothing any more, though its connection is open, is held to be gone after a
// time; the run does not wait for it, and others see all of it.
func TestVanishedBrowser(t *testing.T) {
	h := NewHub()
	h.times.writeWithin, h.times.pace = 50*time.Millisecond, time.Millisecond
	url := served(t, h, func(s *httptest.Server) {
		s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			_ = c.(*net.TCPConn).SetWriteBuffer(4 << 10)
			return ctx
		}
	})
	h.tell("t", "r", begins("r"))
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	if _, err := fmt.Fprintf(conn, "GET /?run=r HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	until(t, "it is there", func() bool { return readersOf(h) == 1 })
	for i := 0; readersOf(h) > 0; i++ {
		h.tell("t", "r", step(strings.Repeat("x", longest)))
		if i == MostSteps { // 40 MB, and the clock: it is not waited for
			until(t, "it has gone", func() bool { return readersOf(h) == 0 })
		}
	}
	next, _ := watching(t, url+"?run=r")
	sameWords(t, names(next, 2), "begin", "step")
}

// A closed hub ends its streams, so that the server can shut down, and takes no more.
func TestClosedHub(t *testing.T) {
	h := NewHub()
	url := served(t, h)
	_, response := watching(t, url+"?runs")
	h.Close()
	h.Close()
	text := make([]byte, 1000)
	var err error
	for err == nil {
		_, err = response.Body.Read(text)
	}
	if answer := get(t, url+"?runs"); answer.code != http.StatusServiceUnavailable {
		t.Errorf("%+v", answer)
	}
}

// Flows are looked at only while a browser watches them.
func TestFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub()
		ctx, cancel := context.WithCancel(t.Context())
		var looks atomic.Int32
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			h.Feed(ctx, Flows, time.Second, func(context.Context) any { return looks.Add(1) })
		}()
		seen := func(what string, want int32) {
			t.Helper()
			synctest.Wait()
			if n := looks.Load(); n != want {
				t.Errorf("%s: %d looks, want %d", what, n, want)
			}
		}
		time.Sleep(time.Hour)
		seen("nobody watches", 0)
		r, _ := h.join(asked{topics: []Topic{Flows}})
		seen("at once", 1)
		time.Sleep(3 * time.Second)
		seen("three seconds later", 4)
		if texts, _ := r.next(); len(texts) != 1 || string(texts[0]) != "event: flows\ndata: 4\n\n" {
			t.Errorf("%q", texts)
		}
		h.leave(r)
		time.Sleep(time.Hour)
		seen("it has gone", 4)
		cancel()
		<-ended
	})
}

// What cannot be encoded, or is too large, is said where it would be shown.
func TestPublish(t *testing.T) {
	h := NewHub()
	r, _ := h.join(asked{topics: []Topic{OfTask("x")}})
	for _, c := range []struct {
		data any
		want string
	}{
		{map[string]int{"a": 1}, "event: task\ndata: {\"a\":1}\n\n"},
		{func() {}, "event: task\ndata: {\"error\":\"json: unsupported type: func()\"}\n\n"},
		{strings.Repeat("x", mostPublished), "event: task\ndata: {\"error\":\"it is larger than 1048576 bytes\"}\n\n"},
	} {
		h.Publish(OfTask("x"), c.data)
		if texts, _ := r.next(); len(texts) != 1 || string(texts[0]) != c.want {
			t.Errorf("%.100q, want %q", texts, c.want)
		}
	}
	h.tell("t", "r", begins("r"))
	h.tell("t", "r", record.Message{Progress: &record.Progress{Sends: unit.Rate(math.NaN())}})
	run, _ := h.join(asked{runs: []string{"r"}})
	if texts, _ := run.next(); len(texts) != 2 || !strings.Contains(string(texts[1]), `data: {"run":"r","error":"json: unsupported value: NaN"}`) {
		t.Errorf("%q", texts)
	}
	h.Forget(OfTask("x"))
	late, _ := h.join(asked{topics: []Topic{OfTask("x")}})
	if texts, _ := late.next(); len(texts) != 0 {
		t.Errorf("%q", texts)
	}
}

// However many browsers there are, all together get some 200 writes a second, and each one every two
// seconds.
func TestPace(t *testing.T) {
	h := NewHub()
	for _, c := range []struct {
		readers int
		gap     time.Duration
	}{{0, 100 * time.Millisecond}, {1, 100 * time.Millisecond}, {20, 100 * time.Millisecond}, {200, time.Second}, {1000, 2 * time.Second}} {
		h.readers = c.readers
		if gap := h.gap(); gap != c.gap {
			t.Errorf("%d: %v, want %v", c.readers, gap, c.gap)
		}
	}
}
