package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fullbore/fullbore/fleet/bus"
	"github.com/fullbore/fullbore/peer"
)

// generous is more than anything here takes on a busy machine.
const generous = 30 * time.Second

var quiet = slog.New(slog.DiscardHandler)

// started is a hub for a test, with its files in a folder.
func started(t *testing.T, dir string) *Hub {
	t.Helper()
	identity, err := peer.LoadIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	h, err := Start(Config{Listen: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, Identity: identity, Dir: dir, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func newKey(t *testing.T) *bus.Key {
	t.Helper()
	key, err := bus.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// login is how to get into a hub with a token, and a key or none.
func login(t *testing.T, h *Hub, token string, key *bus.Key) bus.Login {
	t.Helper()
	l := bus.Login{URL: "nats://" + h.Addr().String(), Name: "test", Key: key, Log: quiet}
	var err error
	if l.TLS, l.Token, err = peer.Pinned(h.Addr().String(), token); err != nil {
		t.Fatal(err)
	}
	return l
}

func connect(t *testing.T, l bus.Login) *nats.Conn {
	t.Helper()
	conn, err := bus.Connect(t.Context(), l, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// joined is an agent that has joined, with a far end behind it. It ends with the test, or by end.
func joined(t *testing.T, h *Hub, name string) (here bus.Here, key *bus.Key, end func()) {
	t.Helper()
	key = newKey(t)
	here, end = agentOf(t, connect(t, login(t, h, h.JoinToken(), key)), name, key.ID())
	return here, key, end
}

// agentOf answers over a connection to any NATS server.
func agentOf(t *testing.T, conn *nats.Conn, name, id string) (here bus.Here, end func()) {
	t.Helper()
	server, err := peer.NewServer(peer.Config{Jobs: true})
	if err != nil {
		t.Fatal(err)
	}
	listener, packets, err := peer.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	here = bus.Here{Schema: bus.Schema, ID: id, Name: name, Address: listener.Addr().String(), Version: "test", Since: time.Now()}
	ended := make(chan error, 2)
	go func() { ended <- server.Serve(ctx, listener, packets) }()
	go func() { ended <- (&bus.Agent{Here: here, Handler: server.Carried(), Log: quiet}).Serve(ctx, conn) }()
	done := false
	end = func() {
		if done {
			return
		}
		done = true
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(end)
	return here, end
}

// present waits until so many agents are there.
func present(t *testing.T, conn *nats.Conn, count int) []bus.Here {
	t.Helper()
	for end := time.Now().Add(generous); ; {
		agents, bad, err := bus.Present(t.Context(), conn)
		if err != nil || len(bad) > 0 {
			t.Fatal(err, bad)
		}
		if len(agents) == count {
			return agents
		}
		if time.Now().After(end) {
			t.Fatalf("%d agents are there, want %d", len(agents), count)
		}
	}
}

// TestAgents: agents that dial in are there, answer the control API as a far end that is called does, and
// are gone when they end.
func TestAgents(t *testing.T) {
	t.Parallel()
	h := started(t, t.TempDir())
	_, _, end := joined(t, h, "node1")
	joined(t, h, "node2")
	joined(t, h, "node2") // people may call two hosts the same
	conn := connect(t, login(t, h, h.Token(), nil))
	there := present(t, conn, 3)
	if there[0].Name != "node1" || there[1].Name != "node2" || !strings.HasPrefix(there[2].Name, "node2 U") {
		t.Errorf("%+v", there)
	}
	far, err := peer.Over(t.Context(), bus.To(conn, there[0]), there[0].Name, there[0].Address)
	if err != nil {
		t.Fatal(err)
	}
	if !far.Hello().Authorised {
		t.Error("who runs experiments may not do what a token allows")
	}
	if facts, err := far.Facts(t.Context()); err != nil || facts.OS == "" {
		t.Errorf("facts: %v, %v", facts, err)
	}
	if _, err := far.Clock(t.Context()); err != nil {
		t.Errorf("clock: %v", err)
	}
	if _, err := far.OpenProbe(t.Context()); err == nil || !strings.Contains(err.Error(), "path probes go straight to a far end") {
		t.Errorf("probe: %v", err)
	}
	end()
	if _, err := far.Clock(t.Context()); !errors.Is(err, bus.ErrAway) || !errors.Is(err, peer.ErrUnreachable) {
		t.Errorf("of one that has ended: %v", err)
	}
	present(t, conn, 2)
}

// TestWhoGetsIn: tokens let in whom they are for, and nobody else; an agent that has joined is known by its
// key, also to the hub's next process, when the token to join is another one.
func TestWhoGetsIn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := started(t, dir)
	joined, stranger := newKey(t), newKey(t)
	connect(t, login(t, h, h.JoinToken(), joined))

	other, err := peer.NewIdentity() // of the same secret length, and another hub
	if err != nil {
		t.Fatal(err)
	}
	wrongSecret := func(token string) string { // of this hub's key
		return strings.Join([]string{"fb1", strings.Split(other.Token(), "-")[1], strings.Split(token, "-")[2]}, "-")
	}
	for name, test := range map[string]struct {
		login bus.Login
		kind  error
	}{
		"an agent without a token":             {withToken(login(t, h, h.Token(), stranger), ""), bus.ErrRefused},
		"an agent with a wrong one":            {login(t, h, wrongSecret(h.Token()), stranger), bus.ErrRefused},
		"an agent with that of experiments":    {login(t, h, h.Token(), stranger), bus.ErrRefused},
		"experiments with an agent's token":    {login(t, h, h.JoinToken(), nil), bus.ErrRefused},
		"experiments with a wrong one":         {login(t, h, wrongSecret(h.Token()), nil), bus.ErrRefused},
		"nobody, with nothing":                 {withToken(login(t, h, h.Token(), nil), ""), bus.ErrRefused},
		"a token of another hub: it is unsent": {login(t, h, other.Token(), nil), peer.ErrWrongHost},
	} {
		conn, err := bus.Connect(t.Context(), test.login, func(error) {})
		if err == nil {
			conn.Close()
		}
		if !errors.Is(err, test.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// With the key of one who has joined, and without having it.
	l := login(t, h, h.Token(), nil)
	conn, err := nats.Connect(l.URL, nats.Secure(l.TLS), nats.TLSHandshakeFirst(), nats.Timeout(generous),
		nats.Nkey(joined.ID(), func(nonce []byte) ([]byte, error) { return make([]byte, 64), nil }))
	if !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("with another one's public key: %v", err)
		conn.Close()
	}
	h.Close()

	// Its next process has other tokens, as its identity was removed; and a line was cut short in a power cut.
	if err := os.Remove(filepath.Join(dir, "identity.pem")); err != nil {
		t.Fatal(err)
	}
	agents := filepath.Join(dir, joinedFile)
	text, err := os.ReadFile(agents)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(agents, append(text, "\nUBADKEY"...), 0o600); err != nil {
		t.Fatal(err)
	}
	again := started(t, dir)
	connect(t, withToken(login(t, again, again.Token(), joined), ""))
	connect(t, login(t, again, again.JoinToken(), stranger))
}

func withToken(l bus.Login, token string) bus.Login {
	l.Token = token
	return l
}

// TestSubjects: an agent that has been taken over hears nothing of others, speaks for nobody else, asks
// nobody, and answers only who asked it.
func TestSubjects(t *testing.T) {
	t.Parallel()
	h := started(t, t.TempDir())
	victim, _, _ := joined(t, h, "victim")
	asker := connect(t, login(t, h, h.Token(), nil))
	present(t, asker, 1)
	key := newKey(t)
	attacker := connect(t, login(t, h, h.JoinToken(), key))
	refused := func(what string, do func() error) {
		t.Helper()
		before := attacker.LastError()
		err := errors.Join(do(), attacker.FlushTimeout(generous))
		for end := time.Now().Add(generous); err == nil && time.Now().Before(end); time.Sleep(time.Millisecond) {
			if now := attacker.LastError(); !errors.Is(now, before) || before == nil {
				err = now
			}
		}
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, subject := range []string{">", "*.>", "fullbore.>", "fullbore.to.*", "fullbore.to." + victim.ID, "fullbore.from.>", "_INBOX.>", "_INBOX_" + victim.ID + ".>", "$SYS.>"} {
		refused("hears "+subject, func() error {
			_, err := attacker.SubscribeSync(subject)
			return err
		})
	}
	heard, err := asker.SubscribeSync("fullbore.from." + victim.ID + ".>")
	if err != nil {
		t.Fatal(err)
	}
	if err := asker.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{"fullbore.all", "fullbore.to." + victim.ID, "fullbore.to." + key.ID(), "fullbore.from." + victim.ID + ".here", "_INBOX.anybody", "$SYS.REQ.SERVER.PING"} {
		refused("says on "+subject, func() error { return attacker.Publish(subject, []byte("x")) })
	}
	if m, err := heard.NextMsg(100 * time.Millisecond); err == nil && string(m.Data) == "x" {
		t.Error("another one's word was heard as the victim's")
	}
}

// TestCarried: what is no request, is too long, or makes the far end go wrong gets an answer that says so.
func TestCarried(t *testing.T) {
	t.Parallel()
	h := started(t, t.TempDir())
	here, _, _ := joined(t, h, "node")
	asker := connect(t, login(t, h, h.Token(), nil))
	present(t, asker, 1)
	for text, want := range map[string]string{
		"":                               "this is no request",
		"GET":                            "this is no request",
		"GET / HTTP/1.1\r\n\r\n":         "there is no GET / here",
		"GET /v1/hello HTTP/1.1\r\n\r\n": `"authorised":true`,
		"POST /v1/jobs HTTP/1.1\r\nContent-Length: 9\r\n\r\n{": "HTTP/1.1 ",
		strings.Repeat("x", bus.MostMessage):                   "this is no request",
	} {
		m, err := asker.Request("fullbore.to."+here.ID, []byte(text), generous)
		if err != nil || !strings.Contains(string(m.Data), want) {
			t.Errorf("%.40q: %v, %v", text, err, m)
		}
	}
	if err := asker.Publish("fullbore.to."+here.ID, make([]byte, bus.MostMessage+1)); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("more than a message: %v", err)
	}
}

// TestHere: what an agent says of itself comes over the network.
func TestHere(t *testing.T) {
	good := bus.Here{Schema: bus.Schema, ID: "U123", Name: "node 1.example", Address: "198.18.0.1:5201"}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*bus.Here){
		"schema":          func(h *bus.Here) { h.Schema = "fullbore/agent/9" },
		"without an ID":   func(h *bus.Here) { h.ID = "a.b" },
		"no name":         func(h *bus.Here) { h.Name = "\x1b[2J" },
		"no host":         func(h *bus.Here) { h.Address = "" },
		"endless version": func(h *bus.Here) { h.Version = strings.Repeat("1", 1000) },
	} {
		bad := good
		spoil(&bad)
		if err := bad.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestHubsPort: a port that is taken is an error, and not a hub that nobody reaches.
func TestHubsPort(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	identity, err := peer.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	h, err := Start(Config{Listen: taken.Addr().(*net.TCPAddr), Identity: identity, Dir: t.TempDir(), Log: quiet})
	if err == nil {
		h.Close()
		t.Fatal("it started")
	}
	if !strings.Contains(err.Error(), fmt.Sprint(taken.Addr())) {
		t.Error(err)
	}
}

// TestAllAddresses: without an address a hub listens on all of the host's.
func TestAllAddresses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	identity, err := peer.LoadIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	h, err := Start(Config{Listen: &net.TCPAddr{}, Identity: identity, Dir: dir, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(h.Addr().(*net.TCPAddr).Port)))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}
