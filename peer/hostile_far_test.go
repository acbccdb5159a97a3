package peer

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
)

// hasteful waits for a far end as a client does, only not as long.
var hasteful = clientTiming{silent: 300 * time.Millisecond, working: 300 * time.Millisecond, whole: time.Second, ending: time.Second, lost: time.Second}

// hostile is a client of a far end that greets as one does, with the token's
// rights, and then says what it likes.
func hostile(t *testing.T, says http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/v1/hello" {
			_ = json.NewEncoder(w).Encode(Hello{Protocol: Protocol, Authorised: true, Changes: true, Limits: TokenLimits()})
			return
		}
		says(w, r)
	}))
	server.EnableHTTP2 = false
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	client, err := Dial(within(t, generous), server.Listener.Addr().String(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	client.timing = hasteful
	return client
}

// forEver says one thing again and again, until nobody listens any more.
func forEver(w io.Writer, start, unit string) {
	_, err := io.WriteString(w, start)
	for many := []byte(strings.Repeat(unit, 1+(64<<10)/len(unit))); err == nil; {
		_, err = w.Write(many) // without a copy, which would count as cost
	}
}

// A far end that says more than it can have to say is not listened to: whatever
// it is asked, and however it says it, the client ends with a clear error, and its
// memory is bounded by what was asked for, not by what came.
func TestHostileFarEndCostsLittle(t *testing.T) {
	spec := bulk.Spec{Direction: bulk.Forward, Streams: 2, Duration: 10 * time.Second}
	calls := map[string]struct {
		call func(*Client) error
		most uint64 // bytes that it may cost
	}{
		"a result": {func(c *Client) error {
			life := watchLife(t.Context(), time.Minute)
			defer life.stop()
			return c.conclude(life, "id", &bulk.Result{Spec: spec}, nil)
		}, 24 << 20},
		"the facts": {func(c *Client) error { _, err := c.Facts(t.Context()); return err }, 64 << 20},
		"the sets":  {func(c *Client) error { _, err := c.Changes().List(t.Context()); return err }, 32 << 20},
		"a probe":   {func(c *Client) error { _, err := c.Observed(t.Context(), "id"); return err }, 8 << 20},
		"a ticket":  {func(c *Client) error { _, err := c.OpenProbe(t.Context()); return err }, 2 << 20},
		"a set":     {func(c *Client) error { _, err := c.Changes().Revert(t.Context(), "id"); return err }, 32 << 20},
	}
	says := map[string]struct{ start, unit string }{
		"nothing but blanks":     {"", " "},
		"an endless list":        {"[", "{},"},
		"an endless object":      {"{", `"a":1,`},
		"many interfaces":        {`{"interfaces":[`, "{},"},
		"many streams":           {`{"phase":"done","end":{"streams":[`, "{},"},
		"many samples":           {`{"phase":"done","end":{"streams":[{"id":1,"samples":[`, "{},"},
		"many samples in others": {`{"phase":"done","end":{"streams":[`, `{"samples":[{},{},{},{},{},{},{},{}]},`},
		"many cores":             {`{"phase":"done","end":{"cpu":{"cores":[`, "{},"},
		"many counters":          {`{"phase":"done","end":{"counters":{`, `"a":1,`},
		"a long name":            {`{"phase":"done","end":{"host":"`, "a"},
		"depth":                  {"", "["},
		"depth of objects":       {"", `{"a":`},
	}
	for asked, c := range calls {
		for name, text := range says {
			for _, zipped := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s: %s, zipped %v", asked, name, zipped), func(t *testing.T) {
					client := hostile(t, func(w http.ResponseWriter, r *http.Request) {
						if !zipped {
							forEver(w, text.start, text.unit)
							return
						}
						w.Header().Set("Content-Encoding", "gzip") // asked for or not
						forEver(gzip.NewWriter(w), text.start, text.unit)
					})
					client.timing = usualClientTiming // what comes is too much, not too slow
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					err := c.call(client)
					runtime.ReadMemStats(&after)
					if !errors.Is(err, ErrTooMuch) && !errors.Is(err, ErrNotFullbore) || len(err.Error()) > 1000 {
						t.Errorf("error is %v", err)
					}
					// What the far end, its compressor and TLS take is in this same process.
					if cost := after.TotalAlloc - before.TotalAlloc; cost > c.most+16<<20 {
						t.Errorf("it cost %d MB", cost>>20)
					}
				})
			}
		}
	}
}

// More streams than the spec has are none of its, though there is room for them.
func TestHostileFarEndTellsOfOtherStreams(t *testing.T) {
	spec := bulk.Spec{Direction: bulk.Forward, Streams: 2, Duration: 10 * time.Second}
	for says, streams := range map[string]string{
		"3 streams of 2":   `{"id":1},{"id":2},{"id":3}`,
		"none of this":     `{"id":7}`,
		"stream 1 has 253": `{"id":1,"samples":[` + strings.Repeat("{},", 252) + `{}]}`,
	} {
		client := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"phase":"done","end":{"streams":[%s]}}`, streams)
		})
		life := watchLife(t.Context(), time.Minute)
		result := &bulk.Result{Spec: spec}
		err := client.conclude(life, "id", result, nil)
		life.stop()
		if err == nil || !strings.Contains(err.Error(), says) || result.Server.Streams != nil {
			t.Errorf("error is %v, want %q", err, says)
		}
	}
}

// A far end that is slow without end is not waited for without end.
func TestTricklingFarEnd(t *testing.T) {
	trickle := func(start, unit string, pause time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, err := io.WriteString(w, start)
			for err == nil && r.Context().Err() == nil {
				_ = http.NewResponseController(w).Flush()
				sleep(r.Context(), pause)
				_, err = io.WriteString(w, unit)
			}
		}
	}
	zipped := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		text := gzip.NewWriter(w)
		for r.Context().Err() == nil && text.Flush() == nil { // blocks that say nothing
			_ = http.NewResponseController(w).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}
	conclude := func(c *Client) error {
		life := watchLife(t.Context(), time.Minute)
		defer life.stop()
		return c.conclude(life, "id", &bulk.Result{Spec: short(bulk.Forward, 1)}, nil)
	}
	facts := func(c *Client) error { _, err := c.Facts(t.Context()); return err }
	for name, c := range map[string]struct {
		says http.HandlerFunc
		ask  func(*Client) error
		kind error
		text string
	}{
		"facts a byte at a time":    {trickle("{", " ", 50*time.Millisecond), facts, ErrTimeout, "did not finish its answer"},
		"a result a byte at a time": {trickle("{", " ", 50*time.Millisecond), conclude, ErrLost, "did not finish its answer"},
		"nothing behind the header": {trickle("{", " ", time.Minute), conclude, ErrLost, "stopped answering"},
		"empty blocks, zipped":      {zipped, conclude, ErrLost, "did not finish its answer"},
		"never done":                {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"phase":"running"}`) }, conclude, ErrLost, "did not end the transfer"},
		"garbage again and again":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `}`) }, conclude, ErrLost, "form this end does not know"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := hostile(t, c.says)
			if err := c.ask(client); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error is %v, want %v that says %q", err, c.kind, c.text)
			}
		})
	}
}

// The longest that an honest far end can say is within what is taken.
func TestHonestResultsFit(t *testing.T) {
	var sample bulk.Sample
	extreme(reflect.ValueOf(&sample).Elem())
	text, err := json.Marshal(sample)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(text) + 1; n > maxSampleText || n < maxSampleText-200 {
		t.Errorf("a sample can be %d bytes of JSON: maxSampleText is %d", n, maxSampleText)
	}
	for _, spec := range []bulk.Spec{
		{Direction: bulk.Forward, Streams: 1, Duration: time.Second},
		{Direction: bulk.Both, Streams: 2, Duration: 20 * time.Second, Omit: 5 * time.Second, Interval: 10 * time.Millisecond},
		{Direction: bulk.Reverse, Streams: 2, Bytes: 1},
		{Direction: bulk.Forward, Streams: 1, Duration: bulk.MaxDuration, Interval: time.Millisecond},
	} {
		end := bulk.End{Host: "b", CPU: bulk.CPU{Cores: make([]bulk.Core, 1024)}, Counters: map[string]int64{}, Links: make([]host.LinkDelta, host.MaxLinks)}
		for i := range end.CPU.Cores {
			extreme(reflect.ValueOf(&end.CPU.Cores[i]).Elem())
		}
		for i := range 1000 {
			end.Counters[fmt.Sprintf("TcpExt.TCPSomethingWithALongName%d", i)] = math.MinInt64
		}
		for i := range end.Links {
			end.Links[i] = host.LinkDelta{Name: fmt.Sprint("eth", i)}
		}
		for id := 1; id <= connections(spec); id++ {
			stream := bulk.Stream{ID: id, Sender: !dialerSends(spec, id), Samples: make([]bulk.Sample, mostSamples(spec)), CPUs: []int{1}}
			for i := range stream.Samples {
				stream.Samples[i] = sample
			}
			end.Streams = append(end.Streams, stream)
		}
		text, err := json.Marshal(standing{Phase: Done, End: &end})
		if err != nil {
			t.Fatal(err)
		}
		var got standing
		if err := resultAnswer(spec).Decode(bytes.NewReader(text), &got); err != nil {
			t.Errorf("%+v: %v", spec, err)
		} else if err := checkEnd(spec, got.End); err != nil {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}

// extreme gives all that a value holds its longest text.
func extreme(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			extreme(field)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		extreme(v.Elem())
	case reflect.Bool:
		v.SetBool(false)
	case reflect.Int, reflect.Int64:
		v.SetInt(math.MinInt64)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(math.MaxUint64 >> (64 - v.Type().Bits()))
	case reflect.Float64:
		v.SetFloat(-math.Pi * 1e-100)
	default:
		panic("no longest text for " + v.Type().String())
	}
}

// A client that asks for more than anyone has to ask, or without end, is told no,
// and costs the far end little. With the token too: it may be a stolen one.
func TestHostileRequests(t *testing.T) {
	far := startHasty(t, Config{Changes: newFakeChanges()}, "127.0.0.1:0", hasty)
	zip := func(text string) string {
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		for range 64 {
			_, _ = io.WriteString(w, text)
		}
		_ = w.Close()
		return zipped.String()
	}
	client := far.dial(t, far.TokenString())
	for name, c := range map[string]struct{ start, unit string }{ // the unit again and again
		"an endless list":      {`{"settings":[`, "{},"},
		"an endless object":    {"{", `"a":1,`},
		"depth":                {"", "["},
		"depth of objects":     {"", `{"settings":`},
		"nothing but blanks":   {"", " "},
		"a bomb":               {zip(strings.Repeat(" ", 1<<20)), ""},
		"as many as there may": {`{"settings":[` + strings.Repeat("{},", 20_000) + "{}]}", ""},
		"as deep as there may": {strings.Repeat("[", 60_000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			reading, writing := io.Pipe()
			defer reading.Close()
			go func() {
				if c.unit != "" {
					forEver(writing, c.start, c.unit)
					return
				}
				_, _ = io.WriteString(writing, c.start)
				_ = writing.Close()
			}()
			r := asking(t, client, reading)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			response, err := client.http.Do(r)
			runtime.ReadMemStats(&after)
			if err == nil {
				_ = response.Body.Close()
			}
			if r.Context().Err() != nil || err == nil && response.StatusCode < 400 {
				t.Errorf("%v, %+v", err, response)
			}
			if cost := after.TotalAlloc - before.TotalAlloc; cost > 32<<20 {
				t.Errorf("it cost %d MB", cost>>20)
			}
		})
	}
}

// asking is a request to change something, of a client with the token.
func asking(t *testing.T, client *Client, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(within(t, generous), http.MethodPost, "https://far-end/v1/changes/x/apply", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip") // it is not what the far end goes by
	r.Header.Set("Authorization", "Bearer "+client.token.bearer())
	return r
}

// A request that comes a byte at a time is not waited for without end.
func TestTricklingRequest(t *testing.T) {
	t.Parallel()
	far := startHasty(t, Config{Changes: newFakeChanges()}, "127.0.0.1:0", hasty)
	reading, writing := io.Pipe()
	defer reading.Close()
	go func() {
		for _, err := io.WriteString(writing, "{"); err == nil; time.Sleep(50 * time.Millisecond) {
			_, err = io.WriteString(writing, " ")
		}
	}()
	client := far.dial(t, far.TokenString())
	r := asking(t, client, reading)
	response, err := client.http.Do(r)
	if err == nil {
		_ = response.Body.Close()
	}
	if r.Context().Err() != nil || err == nil && response.StatusCode < 400 {
		t.Errorf("%v, %+v", err, response)
	}
}

// What a far end says of a transfer is believed only as far as it can be.
func TestCheckEnd(t *testing.T) {
	spec := bulk.Spec{Direction: bulk.Forward, Streams: 1}
	early := func(bytes, omitted, early int64) func(*bulk.End) {
		return func(e *bulk.End) {
			e.Streams[0].Bytes, e.Streams[0].Omitted, e.Streams[0].Early = bytes, omitted, &early
		}
	}
	for _, c := range []struct {
		name   string
		change func(*bulk.End)
		says   string
	}{
		{"all is well", func(*bulk.End) {}, ""},
		{"its interface", func(e *bulk.End) { e.Links = []host.LinkDelta{{Name: "eth0", Used: true}} }, ""},
		{"its memory", func(e *bulk.End) { e.Memory = &host.TCPMemory{Used: 1 << 20} }, ""},
		{"two streams", func(e *bulk.End) { e.Streams = append(e.Streams, e.Streams[0]) }, "2 streams of 1"},
		{"another stream", func(e *bulk.End) { e.Streams[0].ID = 7 }, "none of this transfer's"},
		{"it sent, too", func(e *bulk.End) { e.Streams[0].Sender = true }, "both ends were the sender"},
		{"negative bytes", func(e *bulk.End) { e.Streams[0].Bytes = -1 }, "negative counts"},
		{"what had arrived early", early(10, 0, 10), ""},
		{"negative bytes arrived early", early(0, 0, -1), "-1 of 0 bytes had arrived early"},
		{"more bytes arrived early than arrived", early(10, 100, 11), "11 of 10 bytes had arrived early"},
		{"thousands of interfaces", func(e *bulk.End) { e.Links = make([]host.LinkDelta, 4000) }, "4000 interfaces"},
		{"negative errors", func(e *bulk.End) {
			e.Links = []host.LinkDelta{{Name: "eth0", LinkCounters: host.LinkCounters{CRC: -1}}}
		}, "negative counts"},
		{"negative memory", func(e *bulk.End) { e.Memory = &host.TCPMemory{Used: -1} }, "negative memory"},
	} {
		far := bulk.End{Streams: []bulk.Stream{{ID: 1}}}
		c.change(&far)
		err := checkEnd(spec, &far)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}

	// With an omitted time, that is where they are counted.
	spec.Omit, spec.Duration = time.Second, time.Second
	far := bulk.End{Streams: []bulk.Stream{{ID: 1}}}
	early(0, 10, 10)(&far)
	if err := checkEnd(spec, &far); err != nil {
		t.Errorf("omitted bytes had arrived early: %v", err)
	}
	early(100, 10, 11)(&far)
	if err := checkEnd(spec, &far); err == nil {
		t.Error("more bytes had arrived early than were omitted, and that is taken")
	}
}
