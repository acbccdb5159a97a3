package peer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/internal/transcript"
	"github.com/fullbore/fullbore/peer/ndt7"
)

func TestFirstBytesTellTheProtocol(t *testing.T) {
	server, err := NewServer(Config{})
	if err != nil {
		t.Fatal(err)
	}
	m := server.mux(nil)
	cookie := strings.Repeat("a", cookieSize)
	for first, want := range map[string]string{
		"\x16\x03\x01\x02\x00":             "control",
		"\x16":                             "undecided",
		"\x16\x04":                         "unknown",
		"f":                                "undecided", // a preamble or an iperf3 cookie
		"fullbore/1 ":                      "undecided",
		"fullbore/1 " + cookie + " 001\n":  "stream",
		"fullbore/2 " + cookie + " 001\n":  "stream", // to be refused with a reason
		"fullborea":                        "undecided",
		strings.Repeat("abc2", 9) + "\x00": "iperf3",
		"fullbore" + strings.Repeat("a", 28) + "\x00": "iperf3",
		strings.Repeat("abc2", 9) + "x":               "unknown",
		"6ba7b810-9DAD-11d1-80b4-00c04fd430c8\x00":    "iperf3", // a UUID, as other clients have
		"GET / HTTP/1.1\r\n":                          "http",
		"GE":                                          "undecided",
		"":                                            "undecided",
		"\x00":                                        "unknown",
		"SSH-2.0-OpenSSH":                             "unknown",
	} {
		got := "unknown"
		if chosen, undecided := m.choose([]byte(first)); chosen != nil {
			got = chosen.name
		} else if undecided {
			got = "undecided"
		}
		if got != want {
			t.Errorf("%q is %s, want %s", first, got, want)
		}
	}
}

// Whatever comes, and in whatever pieces: a verdict once given stays, and
// firstBytes suffice for one.
func FuzzMux(f *testing.F) {
	f.Add([]byte("\x16\x03\x01"))
	f.Add([]byte("fullbore/1 aaaaaaaaaaaaaaaaaaaaaaaaaa 001\n"))
	f.Add([]byte(strings.Repeat("a", 36) + "\x00"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	server, err := NewServer(Config{})
	if err != nil {
		f.Fatal(err)
	}
	m := server.mux(nil)
	f.Fuzz(func(t *testing.T, first []byte) {
		first = first[:min(len(first), firstBytes)]
		var before *protocol
		given := false
		for n := 1; n <= len(first); n++ {
			chosen, undecided := m.choose(first[:n])
			if given && chosen != before {
				t.Fatalf("%q: verdict changed at byte %d", first, n)
			}
			if !undecided {
				before, given = chosen, true
			}
		}
		if len(first) == firstBytes && !given {
			t.Fatalf("%q: still undecided", first)
		}
	})
}

func FuzzPreamble(f *testing.F) {
	f.Add([]byte("fullbore/1 aaaaaaaaaaaaaaaaaaaaaaaaaa 001\n"))
	f.Add([]byte("fullbore/1 aaaaaaaaaaaaaaaaaaaaaaaaaa 000\n"))
	f.Add([]byte("fullbore/1 "))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parsePreamble(b)
		if err == nil && !bytes.Equal(p.bytes(), b) {
			t.Fatalf("%q was read as %+v, which is %q", b, p, p.bytes())
		}
	})
}

func FuzzToken(f *testing.F) {
	identity, err := NewIdentity()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(identity.Token())
	f.Add("fb1--")
	f.Fuzz(func(t *testing.T, s string) {
		parsed, err := parseToken(s)
		if err == nil && parsed.String() != strings.TrimSpace(s) {
			t.Fatalf("%q was read as %q", s, parsed)
		}
	})
}

func TestPreambleRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := preamble{cookie: rapid.StringMatching(`[a-z2-7]{26}`).Draw(t, "cookie"), stream: rapid.IntRange(1, 999).Draw(t, "stream")}
		got, err := parsePreamble(want.bytes())
		if err != nil || got != want {
			t.Fatalf("%+v became %+v, %v", want, got, err)
		}
	})
}

func TestHostileFirstBytes(t *testing.T) {
	t.Parallel()
	log := &transcript.Log{}
	far := startHasty(t, Config{Log: slog.New(slog.NewTextHandler(log, nil))}, "127.0.0.1:0", hasty)
	for name, first := range map[string]string{
		"zeros":            strings.Repeat("\x00", 100),
		"ssh":              "SSH-2.0-client\r\n",
		"half a TLS hello": "\x16\x03\x01\x00\x05hello",
		"bad preamble":     "fullbore/1 " + strings.Repeat("!", cookieSize) + " 001\n",
		"other protocol":   "fullbore/9 " + strings.Repeat("a", cookieSize) + " 001\n",
		"data too early":   "fullbore/1 " + strings.Repeat("a", cookieSize) + " 001\nxxx",
		"iperf3":           strings.Repeat("a", 36) + "\x00",
	} {
		conn := rawDial(t, far.address)
		_, _ = conn.Write([]byte(first))
		if _, err := io.Copy(io.Discard, conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s: connection stays open", name)
		}
	}
	log.Await(t, "iperf3 client refused")

	conn := rawDial(t, far.address)
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: b\r\n\r\n")
	answer, _ := io.ReadAll(conn)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") || !strings.Contains(string(answer), "fullbore far end") {
		t.Errorf("plain HTTP is answered with %q", answer)
	}

	// Those that say nothing are cut off, and keep nobody else out.
	for range 40 {
		rawDial(t, far.address)
	}
	if _, err := far.dial(t, "").Transfer(within(t, generous), short("forward", 1), nil); err != nil {
		t.Error(err)
	}
	idle := rawDial(t, far.address)
	_, _ = idle.Write([]byte("G"))
	if _, err := io.ReadAll(idle); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Error("a connection may stay anonymous for ever")
	}
}

// Whoever is slow to ask, or to greet, is cut off as well.
func TestSlowRequests(t *testing.T) {
	t.Parallel()
	far := startHasty(t, Config{}, "127.0.0.1:0", hasty)
	slow := map[string]net.Conn{}
	for name, says := range map[string]string{
		"half a header":    "GET / HTTP/1.1\r\nHost: b\r\n",
		"half a greeting":  "\x16\x03\x01\x02\x00\x01",
		"half a WebSocket": "GET " + ndt7.DownloadPath + " HTTP/1.1\r\nUpgrade: websocket\r\n",
	} {
		slow[name] = rawDial(t, far.address)
		say(slow[name], says)
	}
	for name, conn := range slow {
		if _, err := io.Copy(io.Discard, conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s: it stays open", name)
		}
	}
}

// One port has one far end, though flows share the UDP side.
func TestSecondFarEnd(t *testing.T) {
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	if _, _, err := Listen(t.Context(), far.address); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second one: %v", err)
	}
}

// However long a transfer may take, one end keeps no more samples than it may.
func TestSamplesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := rapid.SampledFrom([]Limits{PublicLimits(), TokenLimits()}).Draw(t, "limits")
		spec := bulk.Spec{
			Direction: rapid.SampledFrom([]bulk.Direction{bulk.Forward, bulk.Reverse, bulk.Both}).Draw(t, "direction"),
			Streams:   rapid.IntRange(1, limits.Streams).Draw(t, "streams"),
			Interval:  time.Duration(rapid.IntRange(0, 60_000).Draw(t, "interval")) * time.Millisecond,
		}
		longest := limits.Transfer
		if rapid.Bool().Draw(t, "timed") {
			spec.Duration = time.Duration(rapid.Int64Range(1, int64(limits.Transfer)).Draw(t, "duration"))
			longest = spec.Duration
		} else {
			spec.Bytes = 1
		}
		asked := spec.Interval
		spec, err := limits.fit(spec)
		if err != nil && asked == 0 {
			t.Fatalf("refused without an interval asked for: %v", err)
		}
		if err == nil && spec.Check() != nil {
			t.Fatal(spec.Check())
		}
		if n := int64(connections(spec)) * int64(longest/spec.Interval); err == nil && n > int64(limits.Samples) && spec.Interval < longestInterval {
			t.Fatalf("every %v makes %d samples", spec.Interval, n)
		}
	})
}

// A far end that was kept from its processor finds all streams of a transfer at once: none
// that has said what it is is taken for one that does not, however many of those there are.
func TestAllAtOnce(t *testing.T) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	const places, streams = 2, 100
	came := make(chan string, streams)
	m := &mux{
		undecided: newGate(places, places), within: generous, log: slog.New(slog.DiscardHandler),
		protocols: []protocol{{name: "stream", match: prefix("stream "), brief: true, handle: func(c *opened) {
			all, err := io.ReadAll(c) // all of it is there
			came <- fmt.Sprint(string(all), err)
		}}},
	}
	var silent []net.Conn
	for range places {
		silent = append(silent, rawDial(t, listener.Addr().String()))
	}
	for i := range streams {
		conn := rawDial(t, listener.Addr().String())
		_, _ = fmt.Fprintf(conn, "stream %d, and its data", i)
		_ = conn.Close()
	}
	ended := make(chan error, 1)
	go func() { ended <- m.serve(t.Context(), listener) }()
	seen := map[string]bool{}
	for range streams {
		select {
		case text := <-came:
			seen[text] = true
		case <-time.After(generous):
			t.Fatalf("%d of %d came", len(seen), streams)
		}
	}
	for i := range streams {
		if want := fmt.Sprintf("stream %d, and its data<nil>", i); !seen[want] {
			t.Errorf("no %q came", want)
		}
	}
	late := rawDial(t, listener.Addr().String())
	if _, err := io.ReadAll(late); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Error("a silent one beyond the places was let in")
	}
	_ = listener.Close()
	for _, c := range silent {
		_ = c.Close()
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestGate(t *testing.T) {
	a, b := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2") // one customer
	c, d := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("::ffff:192.0.2.1")
	g := newGate(3, 2)
	got := []bool{g.enter(a), g.enter(b), g.enter(a), g.enter(c), g.enter(d)}
	want := []bool{true, true, false, true, false}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("entry %d: %v, want %v", i, got[i], want[i])
		}
	}
	g.leave(a)
	g.leave(b)
	if !g.enter(d) {
		t.Error("no place after two have left")
	}
	g.leave(c)
	g.leave(d)
	if len(g.inside) != 0 || g.total != 0 {
		t.Errorf("remembers %v (%d)", g.inside, g.total)
	}
}

func TestPace(t *testing.T) {
	now := time.Now()
	p := newPace(2, 3)
	who := netip.MustParseAddr("192.0.2.1")
	burst := 0
	for p.allow(who, now) {
		burst++
	}
	if burst != 3 {
		t.Errorf("burst of %d, want 3", burst)
	}
	later := 0
	for p.allow(who, now.Add(time.Second)) {
		later++
	}
	if later != 2 {
		t.Errorf("%d more after a second, want 2", later)
	}
	// However many clients there are, what is remembered is bounded.
	for i := range 3 * maxBuckets {
		p.allow(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), now)
	}
	if len(p.buckets) > maxBuckets+1 {
		t.Errorf("%d buckets", len(p.buckets))
	}
}
