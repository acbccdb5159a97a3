package peer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/host"
)

func TestHelloSaysWhoIsThere(t *testing.T) {
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	client := far.dial(t, "")
	name, _ := os.Hostname()
	want := Hello{
		Protocol: Protocol, Version: client.Hello().Version, Host: name,
		Limits: PublicLimits(), Features: []string{"transfers", "iperf3", "ndt7", "probes"},
	}
	if diff := cmp.Diff(want, client.Hello()); diff != "" {
		t.Error(diff)
	}
	if client.Hello().Version == "" {
		t.Error("no version")
	}
	if got := client.Addr().String(); got != far.address {
		t.Errorf("talks to %s, want %s", got, far.address)
	}
}

func TestWhoMayWhat(t *testing.T) {
	facts := func(context.Context) (*host.Facts, error) { return &host.Facts{Name: "b", OS: "linux", CPUs: 3}, nil }
	closed := startFarEnd(t, Config{Facts: facts}, "127.0.0.1:0")
	open := startFarEnd(t, Config{Facts: facts, Changes: newFakeChanges()}, "127.0.0.1:0")

	stranger := open.dial(t, "")
	_, err := stranger.Facts(within(t, generous))
	wantKind(t, err, ErrForbidden, "needs the token")
	if stranger.Changes() != nil {
		t.Error("changes without the token")
	}
	_, err = farChanges{stranger}.List(within(t, generous))
	wantKind(t, err, ErrForbidden, "needs the token")

	guest := closed.dial(t, closed.TokenString())
	got, err := guest.Facts(within(t, generous))
	if err != nil || got.CPUs != 3 {
		t.Errorf("facts with the token: %+v, %v", got, err)
	}
	if guest.Changes() != nil {
		t.Error("changes where they are not allowed")
	}
	_, err = farChanges{guest}.List(within(t, generous))
	wantKind(t, err, ErrForbidden, "--allow-changes")
}

func TestWrongToken(t *testing.T) {
	far, other := startFarEnd(t, Config{}, "127.0.0.1:0"), startFarEnd(t, Config{}, "127.0.0.1:0")
	right, err := parseToken(far.TokenString())
	if err != nil {
		t.Fatal(err)
	}
	stale := right
	stale.secret[0] ^= 1

	for name, c := range map[string]struct {
		token string
		kind  error
		says  string
	}{
		"of another host": {other.TokenString(), ErrWrongHost, "not the host that token is for"},
		"old secret":      {stale.String(), ErrToken, "does not know that token"},
		"cut off":         {far.TokenString()[:40], ErrToken, "malformed"},
		"anything":        {"secret", ErrToken, "malformed"},
	} {
		_, err := Dial(within(t, generous), far.address, c.token)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error is %v, want %v that says %q", name, err, c.kind, c.says)
		}
		if err != nil && strings.Contains(err.Error(), right.bearer()[:20]) {
			t.Errorf("%s: error shows the secret: %v", name, err)
		}
	}
}

// The secret must not reach a host that cannot prove it is the right one.
func TestSecretIsNotSentToAnImpostor(t *testing.T) {
	asked := false
	impostor := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer impostor.Close()
	identity, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	_, err = Dial(within(t, generous), impostor.Listener.Addr().String(), identity.Token())
	wantKind(t, err, ErrWrongHost, "the token was not sent")
	if asked {
		t.Error("a request reached the impostor")
	}
}

func TestFarEndOfAnotherVersion(t *testing.T) {
	for protocol, upgrade := range map[int]string{0: "upgrade the far end", 2: "upgrade this end"} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"protocol": protocol, "version": "v9.9", "of the future": true})
		}))
		defer server.Close()
		_, err := Dial(within(t, generous), server.Listener.Addr().String(), "")
		wantKind(t, err, ErrVersion, fmt.Sprintf("speaks protocol %d (fullbore v9.9), this end protocol 1", protocol), upgrade)
	}
}

func TestDialSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	closedPort := func() string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		return listener.Addr().String()
	}
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	iperf3 := speaking(t, "\x09")
	ssh := speaking(t, "SSH-2.0-OpenSSH_9.2\r\n")
	silent := speaking(t, "")

	for name, c := range map[string]struct {
		target string
		kind   error
		says   string
	}{
		"unknown host": {"no-such-host.invalid", ErrUnknownHost, "no-such-host.invalid"},
		"refused port": {closedPort(), ErrUnreachable, "start `fullbore serve` there"},
		"web server":   {web.Listener.Addr().String(), ErrNotFullbore, "web server"},
		"TLS server":   {secure.Listener.Addr().String(), ErrNotFullbore, "not a fullbore far end"},
		"iperf3":       {iperf3, ErrNotFullbore, "iperf3"},
		"ssh":          {ssh, ErrNotFullbore, "ssh"},
		"silence":      {silent, ErrNotFullbore, "says nothing"},
		"bad port":     {"host:http", nil, "not a port"},
		"no host":      {"", nil, "no host was given"},
		"port only":    {":5201", nil, "no host was given"},
		"too many":     {"a:b:c", nil, "[address]:port"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Dial(within(t, generous), c.target, "")
			if err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want %v that says %q", err, c.kind, c.says)
			}
		})
	}
}

// speaking listens, says one thing to whoever comes, and stays until the end.
func speaking(t *testing.T, greeting string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			_, _ = conn.Read(make([]byte, 37)) // as an iperf3 server does
			_, _ = conn.Write([]byte(greeting))
		}
	}()
	return listener.Addr().String()
}

func TestIdentityOutlivesARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "peer")
	first, err := LoadIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := LoadIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	if first.Token() != second.Token() {
		t.Error("the token changed")
	}
	far := startFarEnd(t, Config{Identity: second}, "127.0.0.1:0")
	if !far.dial(t, first.Token()).Hello().Authorised {
		t.Error("the token of before is not accepted")
	}

	path := filepath.Join(dir, "identity.pem")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := first.write(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("writing over another's identity: %v", err)
	}
	for name, text := range map[string]string{"empty": "", "garbage": "garbage", "huge": strings.Repeat("x", 1<<20)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadIdentity(dir); err == nil || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s file: %v", name, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestTokenIsOneWord(t *testing.T) {
	identity, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseToken(" " + identity.Token() + "\n")
	if err != nil || got != identity.token {
		t.Errorf("parsed %v, %v", got, err)
	}
	if n := len(identity.Token()); n != len("fb1-")+52+1+32 {
		t.Errorf("%d characters: %s", n, identity.Token())
	}
}

func TestPathProbesNeedATicket(t *testing.T) {
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	client := far.dial(t, "")
	ticket, err := client.OpenProbe(within(t, generous))
	if err != nil {
		t.Fatal(err)
	}
	if ticket.Port != client.Addr().Port() || ticket.Cookie == "" {
		t.Errorf("ticket %+v for the far end %v", ticket, client.Addr())
	}
	seen, err := client.Observed(within(t, generous), ticket.Cookie)
	if err != nil || len(seen.Received) != 0 || len(seen.Sent) != 0 {
		t.Errorf("before any probe %+v was seen, %v", seen, err)
	}
	if _, err := client.Observed(within(t, generous), "unheard-of"); err == nil {
		t.Error("an unknown cookie was accepted")
	}
}

func TestUnknownOperation(t *testing.T) {
	client := startFarEnd(t, Config{}, "127.0.0.1:0").dial(t, "")
	wantKind(t, client.call(within(t, generous), request{method: http.MethodPut, path: "/v1/nonsense"}), ErrGone, "/v1/openapi.json")
}

func TestOpenAPIDescribesEverything(t *testing.T) {
	printed, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		OpenAPI string                                `json:"openapi"`
		Paths   map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(printed, &document); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(document.OpenAPI, "3.1") {
		t.Errorf("version %s", document.OpenAPI)
	}
	for path, method := range map[string]string{
		"/v1/hello": "get", "/v1/facts": "get", "/v1/processor": "get", "/v1/transfers": "post", "/v1/transfers/{id}/result": "get",
		"/v1/probes": "post", "/v1/changes": "get", "/v1/changes/{id}/revert": "post",
	} {
		if document.Paths[path][method] == nil {
			t.Errorf("%s %s is missing", method, path)
		}
	}
	if strings.Contains(string(printed), "http://") || strings.Contains(string(printed), "unpkg") {
		t.Error("it refers to other hosts")
	}

	// It is also what a far end serves.
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	client := far.dial(t, "")
	response, err := client.send(within(t, generous), request{method: http.MethodGet, path: "/v1/openapi.json"})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var served, own any
	if err := json.NewDecoder(bufio.NewReader(response.Body)).Decode(&served); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(printed, &own)
	if diff := cmp.Diff(own, served); diff != "" {
		t.Error(diff)
	}
}
