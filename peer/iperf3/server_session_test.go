package iperf3

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// The whole exchange, in the bytes of a client of any version.
func TestServerExchange(t *testing.T) {
	t.Parallel()
	c := begin(t, startServer(t, ServerConfig{}))
	c.hear(ParamExchange)
	c.send(asks(func(p *Parameters) { p.Num, p.Time, p.Parallel = 6, 0, 2 }))
	c.hear(CreateStreams)
	first, second := c.dial(c.cookie[:]), c.dial(c.cookie[:])
	c.hear(TestStart, TestRunning)
	_, _ = first.Write([]byte("one"))
	_, _ = second.Write([]byte("two+"))
	c.send(TestEnd)
	c.hear(ExchangeResults)
	c.send(reports(3, 4))
	got := c.hearResults()
	c.hear(DisplayResults)
	c.send(IperfDone)
	c.hearEnd()
	if len(got.Streams) != 2 || got.Streams[0].ID != 1 || got.Streams[0].Bytes != 3 || got.Streams[1].ID != 3 || got.Streams[1].Bytes != 4 {
		t.Errorf("results %+v", got.Streams)
	}
	c.server.log.Await(t, "transfer done")
}

// Streams are numbered as they were accepted, however their cookies arrive.
func TestServerNumbersStreamsAsTheyCome(t *testing.T) {
	t.Parallel()
	c := begin(t, startServer(t, ServerConfig{}))
	c.hear(ParamExchange)
	c.send(asks(func(p *Parameters) { p.Num, p.Time, p.Bidirectional = 3, 0, true }))
	c.hear(CreateStreams)
	mine := c.dial(nil)
	time.Sleep(50 * time.Millisecond) // it is accepted
	theirs := c.dial(c.cookie[:])
	time.Sleep(50 * time.Millisecond)
	_, _ = mine.Write(c.cookie[:])
	c.hear(TestStart, TestRunning)
	if n, err := theirs.Read(make([]byte, 1)); n != 1 {
		t.Fatalf("the second stream is not one that the server sends on: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	_, _ = mine.Write([]byte("abc"))
	c.send(TestEnd)
	c.hear(ExchangeResults)
	c.send(reports(3, 1))
	got := c.hearResults()
	c.hear(DisplayResults)
	if len(got.Streams) != 2 || got.Streams[0].Bytes != 3 || got.Streams[1].Bytes < 1 {
		t.Errorf("results %+v", got.Streams)
	}
}

// A client that is refused has no place any more when it hears so, however long it keeps
// its connection open: it may try again at once.
func TestServerRefusedHasNoPlace(t *testing.T) {
	t.Parallel()
	s := startServer(t, ServerConfig{})
	c := begin(t, s)
	c.hear(ParamExchange)
	c.send(asks(func(p *Parameters) { p.Parallel = 1000 }))
	c.hear(ServerError)
	if n := s.places.Load(); n != 0 {
		t.Errorf("it still has %d place", n)
	}
}

// A client that has its results has no place any more: it may begin its next test at once,
// although the server has not heard that it is done.
func TestServerDoneHasNoPlace(t *testing.T) {
	t.Parallel()
	s := startServer(t, ServerConfig{})
	c := begin(t, s)
	_, _ = c.starts().Write([]byte("data"))
	c.send(TestEnd)
	c.hear(ExchangeResults)
	c.send(reports(4))
	c.hearResults()
	c.hear(DisplayResults)
	if n := s.places.Load(); n != 0 {
		t.Errorf("it still has %d place", n)
	}
}

// Whatever a client does, its test ends within the time of the phase, with a
// line in the log.
func TestServerOutlastsClients(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		does func(*script)
		logs string
	}{
		"says nothing":   {func(c *script) { c.hear(ParamExchange); c.hearError(IERecvParams) }, "wait for parameters: read length of JSON: not done within 1s"},
		"hangs up":       {func(c *script) { c.hear(ParamExchange); _ = c.conn.Close() }, "control socket has closed unexpectedly"},
		"endless length": {func(c *script) { c.hear(ParamExchange); c.send([]byte("\x7f\xff\xff\xff")); c.hearError(IERecvParams) }, "announced 2147483647 bytes"},
		"no length":      {func(c *script) { c.hear(ParamExchange); c.send([]byte("\x00\x00\x00\x00")); c.hearError(IERecvParams) }, "announced 0 bytes"},
		"no JSON": {func(c *script) {
			c.hear(ParamExchange)
			c.send([]byte("\x00\x00\x00\x03abc"))
			c.hearError(IERecvParams)
		}, "read JSON"},
		"other JSON": {func(c *script) { c.hear(ParamExchange); c.send([]any{1, 2}); c.hearError(IERecvParams) }, "not a JSON object"},
		"is stopped": {func(c *script) { c.hear(ParamExchange); c.send(ClientTerminate); c.hearEnd() }, "the client has terminated"},
		"streams of none": {func(c *script) {
			c.hear(ParamExchange)
			c.send(asks(func(p *Parameters) { p.Parallel = -1 }))
			c.hearError(IENumStreams)
		}, "parallel -1"},
		"too many streams": {func(c *script) {
			c.hear(ParamExchange)
			c.send(asks(func(p *Parameters) { p.Parallel = 9 }))
			c.hearError(IENumStreams)
		}, "9 streams, and 8 are allowed here"},
		"too long": {func(c *script) {
			c.hear(ParamExchange)
			c.send(asks(func(p *Parameters) { p.Time, p.ClientVersion = 11, "3.20" }))
			c.hearError(IEMaxServerTestDurationExceeded)
		}, "a test of 11s, and 10s are allowed here"},
		"too long for its version": {func(c *script) {
			c.hear(ParamExchange)
			c.send(asks(func(p *Parameters) { p.Time = 11 }))
			c.hearError(IEDuration)
		}, "a test of 11s"},
		"window too large": {func(c *script) {
			c.hear(ParamExchange)
			c.send(asks(func(p *Parameters) { p.Window = 512 << 20 }))
			c.hear(CreateStreams)
			c.dial(c.cookie[:])
			c.hearError(IESetBuf2)
		}, "net.core.rmem_max"},
		"drips": {func(c *script) {
			c.hear(ParamExchange)
			for _, b := range append(binaryLength(100), bytes.Repeat([]byte(" "), 100)...) {
				if _, err := c.conn.Write([]byte{b}); err != nil {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
		}, "not done within 1s"},
		"no streams": {func(c *script) {
			c.hear(ParamExchange)
			c.send(asks())
			c.hear(CreateStreams)
			c.hearError(IEStreamAccept)
		}, "0 of 1 streams came"},
		"no flows": {func(c *script) {
			c.hear(ParamExchange)
			c.send(asks(udp))
			c.hear(CreateStreams)
			c.hearError(IEStreamAccept)
		}, "0 of 1 flows came"},
		"ends too early": {func(c *script) {
			c.hear(ParamExchange)
			c.send(asks(), TestEnd)
			c.hear(CreateStreams)
			c.hearError(IEMessage)
		}, "received an unknown control message"},
		"gives up":     {func(c *script) { c.hear(ParamExchange); c.send(asks(), IperfDone); c.hear(CreateStreams); c.hearEnd() }, "it gave up"},
		"is gone then": {func(c *script) { c.hear(ParamExchange); c.send(asks()); c.hear(CreateStreams); _ = c.conn.Close() }, "wait for streams: read state: control socket"},
		"never ends":   {func(c *script) { c.starts(); c.keepsSending(); c.hearError(IEDuration) }, "did not end the test within 2s"},
		"never sends":  {func(c *script) { c.starts(); c.hearError(IEDuration) }, "did not end the test within 2s"},
		"falls silent": {func(c *script) {
			c.hear(ParamExchange)
			c.send(asks(func(p *Parameters) { p.Time = 10 }))
			c.hear(CreateStreams)
			c.dial(c.cookie[:])
			c.hear(TestStart, TestRunning)
			c.hearError(IENoMsg)
		}, "nothing came for 2s"},
		"is killed":       {func(c *script) { c.starts(); _ = c.conn.Close() }, "run test: read state: control socket has closed"},
		"is reset":        {func(c *script) { c.starts(); _ = c.conn.SetLinger(0); _ = c.conn.Close() }, "run test: read state: control socket has closed"},
		"stops":           {func(c *script) { c.starts(); c.send(ClientTerminate); c.hearEnd() }, "the client has terminated"},
		"wrong order":     {func(c *script) { c.starts(); c.send(DisplayResults); c.hearError(IEMessage) }, "DISPLAY_RESULTS"},
		"unknown state":   {func(c *script) { c.starts(); c.send(State(77)); c.hearError(IEMessage) }, "state 77"},
		"stream is reset": {func(c *script) { _ = c.starts().SetLinger(0); _ = c.last.Close(); c.hearError(IEStreamRead) }, "run test"},
		"no results":      {func(c *script) { c.starts(); c.send(TestEnd); c.hear(ExchangeResults); c.hearEnd() }, "wait for the client's results: read length of JSON: not done within 1s"},
		"endless results": {func(c *script) {
			c.starts()
			c.send(TestEnd, []byte("\x40\x00\x00\x00"))
			c.hear(ExchangeResults)
			c.hearEnd()
		}, "announced 1073741824 bytes"},
		"other's results": {func(c *script) { c.starts(); c.send(TestEnd, reports(1, 2)); c.hear(ExchangeResults); c.hearEnd() }, "there is no stream 3"},
		"results of none": {func(c *script) { c.starts(); c.send(TestEnd, reports()); c.hear(ExchangeResults); c.hearEnd() }, "stream 1 is missing"},
		"stream ends first": {func(c *script) {
			_ = c.starts().CloseWrite()
			c.send(TestEnd, reports(0))
			c.hear(ExchangeResults)
			c.hearResults()
			c.hear(DisplayResults)
			_ = c.conn.Close()
		}, "transfer done"},
		"congestion control that is not allowed": {func(c *script) {
			c.hear(ParamExchange)
			c.send(asks(func(p *Parameters) { p.Congestion, p.Reverse = "nosuch", true }))
			c.hearError(IESetCongestion)
		}, "not one that this host allows everyone"},
		"congestion control that is not allowed, both ways": {func(c *script) {
			c.hear(ParamExchange)
			c.send(asks(func(p *Parameters) { p.Congestion, p.Bidirectional = "nosuch", true }))
			c.hearError(IESetCongestion)
		}, "not one that this host allows everyone"},
		"congestion control of the client's own": {func(c *script) {
			c.hear(ParamExchange)
			c.send(asks(func(p *Parameters) { p.Congestion, p.Num, p.Time = "nosuch", 3, 0 }))
			c.hear(CreateStreams)
			_, _ = c.dial(c.cookie[:]).Write([]byte("abc"))
			c.hear(TestStart, TestRunning)
			c.send(TestEnd, reports(3))
			c.hear(ExchangeResults)
			c.hearResults()
			c.hear(DisplayResults)
			_ = c.conn.Close()
		}, "transfer done"},
		"no last word": {func(c *script) {
			c.starts()
			c.send(TestEnd, reports(0))
			c.hear(ExchangeResults)
			c.hearResults()
			c.hear(DisplayResults)
			c.hearEnd()
		}, "transfer done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := begin(t, startServer(t, ServerConfig{}))
			test.does(c)
			c.server.log.Await(t, test.logs)
		})
	}
}

// Who has no right to a stream gets none, and disturbs nobody.
func TestServerStrangers(t *testing.T) {
	t.Parallel()
	c := begin(t, startServer(t, ServerConfig{}))
	denied := func(what string, conn *net.TCPConn) {
		t.Helper()
		if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, []byte{0xff}) {
			t.Errorf("%s hears % x, %v", what, got, err)
		}
	}
	c.hear(ParamExchange)
	denied("a second client with the cookie", c.dial(c.cookie[:]))
	c.send(asks(func(p *Parameters) { p.Num, p.Time = 3, 0 }))
	c.hear(CreateStreams)
	stream := c.dial(c.cookie[:])
	c.hear(TestStart, TestRunning)
	denied("a stream too many", c.dial(c.cookie[:]))
	_, _ = stream.Write([]byte("abc"))
	c.send(TestEnd, reports(3))
	c.hear(ExchangeResults)
	if got := c.hearResults(); got.Streams[0].Bytes != 3 {
		t.Errorf("results %+v", got)
	}
	c.hear(DisplayResults)
	denied("a stream too late", c.dial(c.cookie[:]))

	// As many as there are places, of which the one that has its results has none, and one more.
	for range 5 {
		begin(t, c.server).hear(ParamExchange)
	}
	busy := begin(t, c.server)
	busy.hear(AccessDenied)
	busy.hearEnd()
}

func TestServerStops(t *testing.T) {
	t.Parallel()
	s := startServer(t, ServerConfig{})
	c := begin(t, s)
	c.starts()
	c.server.stop()
	c.hear(ServerTerminate)
	c.hearEnd()
	c.server.log.Await(t, "the test is over")
}
