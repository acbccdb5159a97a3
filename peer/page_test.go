package peer

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// aPage shows what it was asked for.
type aPage struct{ stays chan struct{} }

func (p aPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = fmt.Fprintf(w, "page %s %v\n", r.URL.Path, r.TLS != nil)
	if r.URL.Path == "/events" {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(p.stays)
	}
}

func browsing(t *testing.T) *http.Client {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func visited(t *testing.T, client *http.Client, method, address string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// A far end with a page shows it over TLS on all addresses that are not the control
// API's, which stays what it was; who comes without TLS is sent there.
func TestPageOnThePort(t *testing.T) {
	far := startFarEnd(t, Config{Page: aPage{}}, "127.0.0.1:0")
	client := browsing(t)
	for _, address := range []string{"/", "/runs/x", "/api/runs", "/metrics"} {
		if answer, body := visited(t, client, http.MethodGet, "https://"+far.address+address); answer.StatusCode != http.StatusOK || body != "page "+address+" true\n" {
			t.Errorf("%s answers %d %q, want the page", address, answer.StatusCode, body)
		}
	}
	if answer, body := visited(t, client, http.MethodGet, "https://"+far.address+"/v1/nothing"); answer.StatusCode != http.StatusNotFound || answer.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("the control API answers %d %s", answer.StatusCode, body)
	}
	if hello := far.dial(t, far.TokenString()).Hello(); !hello.Authorised {
		t.Errorf("a client with the token is told %+v", hello)
	}
	answer, _ := visited(t, client, http.MethodGet, "http://"+far.address+"/runs/x?y=z")
	if to := answer.Header.Get("Location"); answer.StatusCode != http.StatusPermanentRedirect || to != "https://"+far.address+"/runs/x?y=z" {
		t.Errorf("without TLS: %d to %q", answer.StatusCode, to)
	}
	for _, address := range []string{"/v1/hello", "/ndt/v7/download"} {
		if answer, _ := visited(t, client, http.MethodGet, "http://"+far.address+address); answer.StatusCode == http.StatusPermanentRedirect {
			t.Errorf("%s without TLS leads to %s", address, answer.Header.Get("Location"))
		}
	}
	if answer, _ := visited(t, client, http.MethodPost, "http://"+far.address+"/new"); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a form without TLS: %d, want that nothing sends it on", answer.StatusCode)
	}
}

// A far end without a page is what it was.
func TestNoPageOnThePort(t *testing.T) {
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	client := browsing(t)
	if answer, _ := visited(t, client, http.MethodGet, "https://"+far.address+"/"); answer.StatusCode != http.StatusNotFound {
		t.Errorf("over TLS: %d", answer.StatusCode)
	}
	if answer, _ := visited(t, client, http.MethodGet, "http://"+far.address+"/"); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %d", answer.StatusCode)
	}
}

// Who asks the page too often is told to wait, as of the control API.
func TestPaceOfThePage(t *testing.T) {
	far := startFarEnd(t, Config{Page: aPage{}}, "127.0.0.1:0")
	client := browsing(t)
	for range 2000 {
		if answer, _ := visited(t, client, http.MethodGet, "https://"+far.address+"/"); answer.StatusCode == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("2000 requests at once were answered")
}

// What is live ends with the far end: nobody waits for a browser that looks on.
func TestLivePageEndsWithTheFarEnd(t *testing.T) {
	page := aPage{stays: make(chan struct{})}
	far := startFarEnd(t, Config{Page: page}, "127.0.0.1:0")
	conn, err := tls.DialWithDialer(&net.Dialer{}, "tcp", far.address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = fmt.Fprintf(conn, "GET /events HTTP/1.1\r\nHost: %s\r\n\r\n", far.address)
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := far.stop(); err != nil {
		t.Error(err)
	}
	<-page.stays
}

// A token, and the secret in it, are known again; nothing else is.
func TestIdentityAccepts(t *testing.T) {
	one, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]bool{one.Token(): true, " " + one.Token() + "\n": true, one.token.bearer(): true, other.Token(): false, other.token.bearer(): false, "": false, one.Token()[:20]: false, "fb1-": false} {
		if one.Accepts(token) != want {
			t.Errorf("%q is accepted: %v", token, !want)
		}
	}
}
