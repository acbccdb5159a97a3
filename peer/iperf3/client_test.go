package iperf3

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/bulk"
)

// hasty is patience for servers on this host that will not answer.
var hasty = clientPatience{
	connect: 2 * time.Second, answer: 250 * time.Millisecond, results: 250 * time.Millisecond,
	gap: 50 * time.Millisecond, busy: 100 * time.Millisecond, word: 250 * time.Millisecond, last: 100 * time.Millisecond,
	silence: 250 * time.Millisecond, read: 10 * time.Millisecond, alive: keepAlive,
}

// brief is a test of a moment.
var brief = bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: 200 * time.Millisecond, Interval: 50 * time.Millisecond}

// A server that stops, lies or talks nonsense at any step ends in an error that
// says so, soon.
func TestBadServers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script func(*stage)
		is     error  // nil: any
		says   string // a part of the error
	}{
		"says nothing":                  {func(s *stage) { s.silence() }, os.ErrDeadlineExceeded, "takes connections but says nothing"},
		"closes at once":                {func(s *stage) {}, ErrNoAnswer, "busy, restarting, or not iperf3"},
		"closes with the cookie unread": {func(s *stage) { time.Sleep(20 * time.Millisecond) }, ErrNoAnswer, "busy, restarting, or not iperf3"},
		"is busy":                       {func(s *stage) { s.say(AccessDenied) }, ErrBusy, "iperf3 serves one client at a time"},
		"is a web server":               {func(s *stage) { s.write([]byte("HTTP/1.1 400 Bad Request\r\n")) }, ErrMessage, "ensure other side is iperf3"},
		"begins in the middle":          {func(s *stage) { s.say(CreateStreams) }, ErrMessage, "CREATE_STREAMS instead of PARAM_EXCHANGE"},

		"says nothing about the parameters":  {func(s *stage) { s.agree(); s.silence() }, os.ErrDeadlineExceeded, "it hangs"},
		"closes without reading them":        {func(s *stage) { s.greet() }, ErrClosed, "does not allow one of the options"},
		"closes over the parameters":         {func(s *stage) { s.agree() }, ErrClosed, "does not allow one of the options"},
		"refuses the parameters":             {func(s *stage) { s.agree(); s.say(ServerError); s.number(27); s.number(0) }, nil, "total required bandwidth is larger than server limit"},
		"refuses the user":                   {func(s *stage) { s.agree(); s.say(ServerError); s.number(142) }, nil, "wants a user name, a password and its public key"},
		"refuses the window":                 {func(s *stage) { s.agree(); s.say(ServerError); s.number(141); s.number(0) }, nil, "rmem_max"},
		"is stopped over the parameters":     {func(s *stage) { s.agree(); s.say(ServerTerminate) }, ErrServerTerminated, "the server has terminated"},
		"wants the results before the test":  {func(s *stage) { s.agree(); s.say(ExchangeResults) }, ErrMessage, "EXCHANGE_RESULTS instead of CREATE_STREAMS"},
		"takes the streams and says nothing": {func(s *stage) { s.agree(); s.take(1); s.silence() }, os.ErrDeadlineExceeded, "it hangs"},
		"runs a test that did not start":     {func(s *stage) { s.agree(); s.take(1); s.say(TestRunning) }, ErrMessage, "TEST_RUNNING instead of TEST_START"},
		"starts a test that does not run":    {func(s *stage) { s.agree(); s.take(1); s.say(TestStart); s.silence() }, os.ErrDeadlineExceeded, "it hangs"},
		"refuses the test with its streams":  {func(s *stage) { s.agree(); s.take(1); s.say(ServerError); s.number(202); s.number(98) }, nil, "unable to start stream listener"},
		"closes when the streams are there":  {func(s *stage) { s.agree(); s.take(1) }, ErrClosed, "when all streams were there"},
		"talks nonsense while data moves":    {func(s *stage) { s.begin(); s.say(77); s.silence() }, ErrMessage, "state 77"},
		"starts again while data moves":      {func(s *stage) { s.begin(); s.say(TestStart); s.silence() }, ErrMessage, "TEST_START came while data moved"},
		"is stopped while data moves":        {func(s *stage) { s.begin(); s.say(ServerTerminate) }, ErrServerTerminated, "the server ended the test"},
		"gives up while data moves":          {func(s *stage) { s.begin(); s.say(ServerError); s.number(160); s.number(0) }, nil, "the server ended the test"},
		"goes away while data moves":         {func(s *stage) { s.begin() }, ErrClosed, "the server went away"},
		"drops the stream while data moves":  {func(s *stage) { s.begin(); <-s.moved; reset(s.streams[0]); s.silence() }, nil, "the data broke off"},
		"does not hear the end":              {func(s *stage) { s.begin(); s.silence() }, os.ErrDeadlineExceeded, "gave no results of its own"},
		"goes away at the end":               {func(s *stage) { s.begin(); s.hear() }, ErrClosed, "gave no results of its own"},
		"displays results it has not":        {func(s *stage) { s.begin(); s.hear(); s.say(DisplayResults) }, ErrMessage, "DISPLAY_RESULTS instead of EXCHANGE_RESULTS"},
		"keeps its results":                  {func(s *stage) { s.measure(); s.silence() }, os.ErrDeadlineExceeded, "gave no results of its own"},
		"goes away with its results":         {func(s *stage) { s.measure() }, ErrClosed, "gave no results of its own"},
		"fails over the results":             {func(s *stage) { s.measure(); s.say(ServerError); s.number(117); s.number(0) }, nil, "SERVER ERROR"},
		"announces endless results":          {func(s *stage) { s.measure(); s.number(1 << 31) }, nil, "2147483648 bytes of JSON"},
		"never ends its results":             {func(s *stage) { s.measure(); s.number(1 << 20); s.drip() }, os.ErrDeadlineExceeded, "gave no results of its own"},
		"has results that are none":          {func(s *stage) { s.measure(); s.number(4); s.write([]byte("null")) }, nil, "gave no results of its own"},
		"has results of another stream":      {func(s *stage) { s.measure(); s.json(Results{Streams: []StreamResults{{ID: 2}}}) }, nil, "stream 1 is missing"},
		"has results that cannot be":         {func(s *stage) { s.measure(); s.json(Results{Streams: []StreamResults{{ID: 1, Bytes: -1}}}) }, nil, "-1 bytes"},
		"fails when all is told":             {func(s *stage) { s.measure(); s.json(fine); s.say(ServerError); s.number(160); s.number(0) }, nil, "SERVER ERROR"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			_, err := testWith(t, play(t, test.script), Options{Spec: brief})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want one with %q", err, test.says)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("error %v is not %v", err, test.is)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

var fine = Results{Streams: []StreamResults{{ID: 1, Bytes: 12345, EndTime: 0.2}}}

// A client that waits for bytes does not do so for ever.
func TestNothingComes(t *testing.T) {
	t.Parallel()
	spec := bulk.Spec{Direction: bulk.Reverse, Streams: 1, Bytes: 1 << 20, Interval: 50 * time.Millisecond}
	address := play(t, func(s *stage) { s.begin(); _, _ = s.streams[0].Write([]byte("some")); s.silence() })
	r, err := testWith(t, address, Options{Spec: spec})
	if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "no data moves any more") {
		t.Errorf("error %v", err)
	}
	if got := r.Result.Client.Streams[0].Bytes; got != 4 {
		t.Errorf("kept %d bytes", got)
	}
}

// What breaks after the results does no harm: all is told.
func TestPartings(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*stage){
		"in order":          func(s *stage) { s.say(DisplayResults); s.hear() },
		"without a state":   func(s *stage) {},
		"in silence":        func(s *stage) { s.silence() },
		"with a reset":      func(s *stage) { reset(s.control) },
		"before the client": func(s *stage) { s.say(DisplayResults) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := testWith(t, play(t, func(s *stage) { s.measure(); s.json(fine); script(s) }), Options{Spec: brief})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Result.Received(bulk.Forward); got != 12345 {
				t.Errorf("received %d bytes", got)
			}
		})
	}
}

// A server that is busy, or between two tests, for a moment is tried again.
func TestBusyForAMoment(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(*stage){
		"says so":        func(s *stage) { s.say(AccessDenied) },
		"closes at once": func(s *stage) {},
		"resets":         func(s *stage) { reset(s.control) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			address := play(t, func(s *stage) {
				if calls++; calls <= 2 {
					first(s)
					return
				}
				s.measure()
				s.json(fine)
				s.say(DisplayResults)
			})
			patient := hasty
			patient.busy = 2 * time.Second
			if _, err := test(t.Context(), address, Options{Spec: brief}, nil, patient); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	_, err := testWith(t, "127.0.0.1:1", Options{Spec: brief})
	if !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), "nothing listens on 127.0.0.1:1: start") {
		t.Error(err)
	}
	_, err = testWith(t, "no-such-host.invalid", Options{Spec: brief})
	if err == nil || !strings.Contains(err.Error(), `host "no-such-host.invalid"`) {
		t.Error(err)
	}
}

// When the caller stops it, the server is told, and what was measured is kept.
func TestStopped(t *testing.T) {
	told := make(chan State, 1)
	address := play(t, func(s *stage) { s.begin(); told <- s.hear() })
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	why := errors.New("the user had enough")
	spec := brief
	spec.Duration = time.Minute
	var at time.Time
	r, err := test(ctx, address, Options{Spec: spec}, func(p bulk.Progress) {
		if at.IsZero() && p.Sent > 1<<20 {
			at = time.Now()
			stop(why)
		}
	}, hasty)
	if !errors.Is(err, why) || !errors.Is(r.Failed, why) {
		t.Errorf("error %v", err)
	}
	if late := time.Since(at); late > time.Second {
		t.Errorf("it took %v to stop", late)
	}
	if state := <-told; state != ClientTerminate {
		t.Errorf("the server was told %v", state)
	}
	if r.Result.Client.Streams[0].Bytes < 1<<20 {
		t.Errorf("kept %d bytes", r.Result.Client.Streams[0].Bytes)
	}
}

// It can be stopped in every phase.
func TestStoppedEarly(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*stage){
		"greeting":   func(s *stage) { s.silence() },
		"parameters": func(s *stage) { s.agree(); s.silence() },
		"streams":    func(s *stage) { s.agree(); s.take(1); s.silence() },
		"results":    func(s *stage) { s.begin(); s.hear(); s.silence() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer stop()
			began := time.Now()
			if _, err := test(ctx, play(t, script), Options{Spec: brief}, nil, usualClientPatience); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestWrongOptions(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"direction":       func(o *Options) { o.Spec.Direction = "" },
		"must not be neg": func(o *Options) { o.Blocks = -1 },
		"whole seconds":   func(o *Options) { o.Spec.Omit = 1500 * time.Millisecond },
		"parallel 129":    func(o *Options) { o.Spec.Streams = 129 },
		"affinity 5000":   func(o *Options) { n := 5000; o.ServerAffinity = &n },
		"accept 8192":     func(o *Options) { o.Extra = strings.Repeat("x", 9000) },
	} {
		o := Options{Spec: brief}
		change(&o)
		_, err := testWith(t, play(t, func(s *stage) { s.greet(); s.silence() }), o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// The parameters are those that iperf3's own client sends for the same options.
func TestAsks(t *testing.T) {
	cpu := 3
	asked := make(chan map[string]any, 1)
	address := play(t, func(s *stage) { asked <- s.agree() })
	_, _ = testWith(t, address, Options{
		Spec:   bulk.Spec{Direction: bulk.Reverse, Streams: 2, Length: 1000, SendBuf: 65536, RecvBuf: 65536, MSS: 1000, NoDelay: true, Omit: time.Second, TOS: 16},
		Blocks: 7, Title: "a title", Extra: "more", GetServerOutput: true, ServerAffinity: &cpu,
	})
	got := <-asked
	delete(got, "client_version")
	want := map[string]any{
		"tcp": true, "omit": 1.0, "time": 0.0, "num": 0.0, "blockcount": 7.0, "parallel": 2.0, "len": 1000.0, "pacing_timer": 1000.0,
		"reverse": true, "window": 65536.0, "MSS": 1000.0, "nodelay": true, "TOS": 16.0,
		"title": "a title", "extra_data": "more", "get_server_output": 1.0, "server_affinity": 3.0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
}

// A server opens its listening socket anew for some options: a stream that
// comes in between is tried again.
func TestListenerAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	var serving sync.WaitGroup
	defer serving.Wait()
	serving.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		s := &stage{t: t, control: conn.(*net.TCPConn), moved: make(chan struct{}, 1)}
		s.agree()
		l.Close()
		s.say(CreateStreams)
		time.Sleep(100 * time.Millisecond)
		again, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		defer again.Close()
		stream, err := again.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer stream.Close()
		s.say(TestStart, TestRunning)
		s.hear()
	})
	patience := hasty
	patience.busy = 2 * time.Second
	r, err := test(t.Context(), address, Options{Spec: bulk.Spec{Direction: bulk.Forward, Streams: 1, Bytes: 1 << 10}}, nil, patience)
	if !errors.Is(err, ErrClosed) || len(r.Result.Client.Streams) != 1 {
		t.Errorf("error %v, want that the server went away at the end of the test", err)
	}
}
