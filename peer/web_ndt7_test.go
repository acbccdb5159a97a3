package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/internal/transcript"
	"github.com/fullbore/fullbore/peer/ndt7"
)

// ndt7's tests are on the far end's one port, plain and over TLS, beside
// everything else.
func TestNDT7(t *testing.T) {
	for _, scheme := range []string{"ndt7", "ndt7s"} {
		for _, direction := range []bulk.Direction{bulk.Forward, bulk.Reverse} {
			t.Run(fmt.Sprintf("%s/%s", scheme, direction), func(t *testing.T) {
				var log transcript.Log
				far := startFarEnd(t, Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, "127.0.0.1:0")
				taken := 0
				result, err := ndt7.Test(within(t, generous), scheme+"://"+far.address, ndt7.Options{
					Direction: direction, Duration: 500 * time.Millisecond, InsecureSkipVerify: true,
				}, func(bulk.Progress) { taken = far.running() })
				if err != nil || result.Client.Error != "" {
					t.Fatal(err, result.Client.Error)
				}
				if result.Client.Streams[0].Bytes == 0 || taken != 1 {
					t.Errorf("%d bytes, %d places taken meanwhile", result.Client.Streams[0].Bytes, taken)
				}
				eventually(t, "its place is free", func() bool { return far.running() == 0 })
				log.Await(t, "ndt7 test done")
			})
		}
	}
}

// Tests share the places of all transfers.
func TestNDT7WithoutPlace(t *testing.T) {
	far := startFarEnd(t, Config{Public: Limits{Transfer: time.Minute, Streams: 1, Transfers: 1, Samples: 1000}}, "127.0.0.1:0")
	client := far.dial(t, "")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = client.Transfer(ctx, bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: time.Minute}, nil)
	}()
	eventually(t, "a transfer has the only place", func() bool { return far.running() == 1 })
	_, err := ndt7.Test(within(t, generous), far.address, ndt7.Options{}, nil)
	if busy, ok := errors.AsType[*ndt7.Busy](err); !ok || busy.After <= 0 {
		t.Errorf("without a place: %v", err)
	}
	stop()
	<-ended
}

// A far end that is stopped does not wait for its tests.
func TestNDT7EndsWithTheFarEnd(t *testing.T) {
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	tested := make(chan error, 1)
	go func() {
		_, err := ndt7.Test(within(t, generous), far.address, ndt7.Options{Direction: bulk.Reverse}, nil)
		tested <- err
	}()
	eventually(t, "the test runs", func() bool { return far.running() == 1 })
	began := time.Now()
	if err := far.stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stopping took %v", took)
	}
	<-tested // with or without anything measured
}

// Everything but tests still gets the explanation over plain HTTP, and a token
// has no place there.
func TestPlainHTTP(t *testing.T) {
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	for _, request := range []struct{ method, path string }{
		{"GET", "/"}, {"GET", "/v1/facts"}, {"POST", "/v1/transfers"}, {"POST", ndt7.DownloadPath}, {"GET", "/ndt/v7/"}, {"OPTIONS", "*"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), request.method, "http://"+far.address+"/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if r.URL.Path = request.path; request.path == "*" {
			r.URL.Path, r.URL.Opaque = "", "*"
		}
		r.Header.Set("Authorization", "Bearer "+far.TokenString())
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "fullbore far end") {
			t.Errorf("%s %s: %s, %q", request.method, request.path, answer.Status, body)
		}
	}
}
