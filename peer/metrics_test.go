package peer

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/peer/ndt7"
)

// Metrics are for who has their secret or the token, over TLS only; and their secret
// opens nothing else.
func TestMetricsNeedTheirSecret(t *testing.T) {
	identity, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fullbore_x 1\n") })
	far := startFarEnd(t, Config{Identity: identity, Metrics: page}, "127.0.0.1:0")
	without := startFarEnd(t, Config{Identity: identity}, "127.0.0.1:0")
	other, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(identity.Certificate())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: CertificateName}}}
	for name, test := range map[string]struct {
		url, secret string
		want        int
	}{
		"their secret":                    {"https://" + far.address + MetricsPath, identity.MetricsSecret(), http.StatusOK},
		"the token":                       {"https://" + far.address + MetricsPath, identity.token.bearer(), http.StatusOK},
		"nothing":                         {"https://" + far.address + MetricsPath, "", http.StatusUnauthorized},
		"another's secret":                {"https://" + far.address + MetricsPath, other.MetricsSecret(), http.StatusUnauthorized},
		"their secret, for facts":         {"https://" + far.address + "/v1/facts", identity.MetricsSecret(), http.StatusUnauthorized},
		"their secret, for change sets":   {"https://" + far.address + "/v1/changes", identity.MetricsSecret(), http.StatusUnauthorized},
		"without TLS":                     {"http://" + far.address + MetricsPath, identity.MetricsSecret(), http.StatusBadRequest},
		"of a far end that gives no such": {"https://" + without.address + MetricsPath, identity.token.bearer(), http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, test.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if test.secret != "" {
				request.Header.Set("Authorization", "Bearer "+test.secret)
			}
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != test.want || bytes.Contains(text, []byte("fullbore_x")) != (test.want == http.StatusOK) {
				t.Errorf("%s: %s", response.Status, text)
			}
		})
	}
}

// Who trusts a far end's certificate trusts it after a restart, when it has another of
// the same key; and no other far end.
func TestCertificateOutlivesARestart(t *testing.T) {
	dir := t.TempDir()
	before, err := LoadIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	after, err := LoadIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(before.Certificate(), after.Certificate()) || before.MetricsSecret() != after.MetricsSecret() || before.MetricsSecret() == before.token.bearer() {
		t.Error("a restart makes another certificate and keeps the secret, which is not the token's")
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(before.Certificate())
	verify := func(i *Identity) error {
		_, err := i.certificate.Leaf.Verify(x509.VerifyOptions{Roots: trusted, DNSName: CertificateName})
		return err
	}
	if err := verify(after); err != nil {
		t.Errorf("the one after a restart: %v", err)
	}
	if err := verify(other); err == nil {
		t.Error("another far end's is trusted")
	}
}

// A far end counts what it was asked for: tests that came to their end, with every
// byte, and those that it refused.
func TestActivity(t *testing.T) {
	far := startFarEnd(t, Config{Public: Limits{Transfer: time.Minute, Streams: 2, Transfers: 1, Samples: 1000}}, "127.0.0.1:0")
	client := far.dial(t, "")
	for _, spec := range []bulk.Spec{
		{Direction: bulk.Forward, Streams: 2, Bytes: 30_001},
		{Direction: bulk.Reverse, Streams: 1, Bytes: 20_001},
	} {
		if _, err := client.Transfer(within(t, generous), spec, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.Transfer(within(t, generous), bulk.Spec{Direction: bulk.Forward, Streams: 3, Bytes: 1}, nil); !errors.Is(err, ErrLimit) {
		t.Errorf("more streams than allowed: %v", err)
	}
	if got, want := far.Activity().Finished[ofFullbore], (Tests{Protocol: "fullbore", Done: 2, Refused: 1, Received: 30_001, Sent: 20_001}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = client.Transfer(ctx, bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: time.Minute, Rate: 1e6}, nil)
	}()
	eventually(t, "it is counted as running", func() bool { return far.Activity().Running == 1 })
	stop()
	<-ended
	eventually(t, "it ended early", func() bool { a := far.Activity(); return a.Running == 0 && a.Finished[ofFullbore].Failed == 1 })
}

// Tests of iperf3's and ndt7's clients are counted by themselves.
func TestIntegrationActivityOfOthers(t *testing.T) {
	far := startFarEnd(t, Config{NDT7: NDT7{Foreign: -1}, Public: Limits{Transfer: time.Minute, Streams: 2, Transfers: 1, Samples: 1000}}, "127.0.0.1:0")
	for _, options := range []string{"-n 200K", "-n 100K -R", "-n 1K -P 3"} {
		iperf3JSON(t, far.address, strings.Fields(options)...)
	}
	eventually(t, "all three are counted", func() bool {
		tests := far.Activity().Finished[ofIPerf3]
		return tests.Done == 2 && tests.Refused == 1 && tests.Failed == 0 && tests.Received >= 200<<10 && tests.Sent >= 100<<10
	})
	far.reportTest(ndt7.Served{Direction: bulk.Reverse, Bytes: 1000})
	far.reportTest(ndt7.Served{Direction: bulk.Forward, Bytes: 200, Err: errors.New("the browser is gone")})
	// A web page of another host, where none may begin a test.
	asks, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+far.address+ndt7.DownloadPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
		"Sec-WebSocket-Protocol": ndt7.Subprotocol, "Origin": "https://example.com",
	} {
		asks.Header.Set(key, value)
	}
	answer, err := http.DefaultClient.Do(asks)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body.Close(); answer.StatusCode != http.StatusForbidden {
		t.Errorf("the page is answered with %s", answer.Status)
	}
	if got, want := far.Activity().Finished[ofNDT7], (Tests{Protocol: "ndt7", Done: 1, Failed: 1, Refused: 1, Received: 200, Sent: 1000}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if far.Activity().Running != 0 {
		t.Error("something is still running")
	}
}
