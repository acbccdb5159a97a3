package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/fullbore/fullbore/internal/transcript"
)

// jsTest is what M-Lab's JavaScript client says of one test.
type jsTest struct {
	Errors   []string `json:"errors"`
	Code     int      `json:"code"` // what downloadTest or uploadTest returned: 0 is success
	Complete *struct {
		LastClientMeasurement *struct {
			ElapsedTime    float64 // seconds
			NumBytes       float64
			MeanClientMbps float64
		}
		LastServerMeasurement *struct {
			ConnectionInfo struct{ Client, Server, UUID string }
			AppInfo        struct{ NumBytes, ElapsedTime float64 } // microseconds
			TCPInfo        struct{ BytesAcked, BytesReceived, MinRTT, ElapsedTime float64 }
		}
	} `json:"complete"`
}

// run is a page's script: one test with M-Lab's client, its callbacks' news
// gathered.
func run(protocol, address, test string) string {
	return fmt.Sprintf(`(async () => {
		const config = {protocol: %q, server: %q, metadata: {client_name: 'fullbore-test'}, mlabDataPolicyInapplicable: true};
		const seen = {errors: []};
		const callbacks = {
			error: (e) => seen.errors.push(String(e)),
			%[3]sComplete: (c) => { seen.complete = c; },
		};
		seen.code = await ndt7.%[3]sTest(config, callbacks, ndt7.discoverServerURLs(config, callbacks));
		return seen;
	})()`, protocol, address, test)
}

// servedTest is a line of the far end's log.
type servedTest struct {
	Msg, Test, Page string
	Sent, Goodput   float64 // bit/s
}

// browsed is how long a test of M-Lab's client lasts here: the far end ends it, as it
// does after the ten seconds that are usual.
const browsed = 4 * time.Second

// TestBrowser lets M-Lab's own JavaScript client, in a real browser, test against
// a far end: over plain connections and TLS, all at once.
func TestBrowser(t *testing.T) {
	browse := startBrowser(t)
	type one struct {
		protocol, test, address string
		log                     transcript.Log
		came                    *jsTest
	}
	tests := []*one{{protocol: "ws", test: "download"}, {protocol: "ws", test: "upload"}, {protocol: "wss", test: "download"}, {protocol: "wss", test: "upload"}}
	var all sync.WaitGroup
	for _, c := range tests {
		c.address = startFarEnd(t, Config{
			Public: Limits{Transfer: browsed, Streams: 1, Transfers: 4, Samples: 1000}, Log: slog.New(slog.NewJSONHandler(&c.log, nil)),
		}, "127.0.0.1:0").address
		all.Go(func() { c.came = browse(t, "127.0.0.1", run(c.protocol, c.address, c.test)) })
	}
	all.Go(func() { foreignPages(t, browse) })
	all.Wait()
	for _, c := range tests {
		t.Run(c.protocol+"/"+c.test, func(t *testing.T) {
			if len(c.came.Errors) > 0 || c.came.Code != 0 || c.came.Complete == nil {
				t.Fatalf("the client says %+v", c.came)
			}
			ours, theirs := c.came.Complete.LastClientMeasurement, c.came.Complete.LastServerMeasurement
			if ours == nil || theirs == nil {
				t.Fatalf("the client has no measurement of one end: %+v", c.came.Complete)
			}
			if theirs.ConnectionInfo.Server != c.address || theirs.ConnectionInfo.UUID == "" || theirs.TCPInfo.MinRTT <= 0 {
				t.Errorf("the server's measurement is %+v", theirs)
			}
			served := eventuallyServed(t, &c.log)
			if served.Msg != "ndt7 test done" || served.Test != c.test || served.Page == "" {
				t.Errorf("the far end logs %+v", served)
			}
			want := max(served.Sent, served.Goodput) / 1e6
			for whose, rate := range map[string]float64{
				"client's":              ours.MeanClientMbps,
				"server's last message": 8 * theirs.AppInfo.NumBytes / theirs.AppInfo.ElapsedTime,
				"server's kernel":       8 * max(theirs.TCPInfo.BytesAcked, theirs.TCPInfo.BytesReceived) / theirs.TCPInfo.ElapsedTime,
			} {
				// What waits in the buffers of browser and kernel, some megabytes,
				// one end counts and the other does not. A browser whose processor is
				// busy begins late, and sends its last message early.
				buffers := 8 * 8e6 / browsed.Seconds() / 1e6
				if math.Abs(rate-want) > want/4+buffers || want <= 0 {
					t.Errorf("%s rate is %.0f Mb/s, the far end counted %.0f Mb/s", whose, rate, want)
				}
			}
		})
	}
}

// foreignPages: pages of another host have one place, whoever shows them, or
// none.
func foreignPages(t *testing.T, browse browse) {
	short := Limits{Transfer: 2 * time.Second, Streams: 1, Transfers: 4, Samples: 1000}
	some := startFarEnd(t, Config{Public: short}, "127.0.0.1:0")
	none := startFarEnd(t, Config{Public: short, NDT7: NDT7{Foreign: -1}}, "127.0.0.1:0")
	var both sync.WaitGroup
	var came [3]*jsTest
	for i, far := range []*farEnd{some, some, none} {
		both.Go(func() { came[i] = browse(t, "localhost", run("ws", far.address, "download")) })
	}
	both.Wait()
	if (came[0].Complete != nil) == (came[1].Complete != nil) {
		t.Errorf("of two tests at once, want one to be served:\n%+v\n%+v", came[0], came[1])
	}
	if came[2].Complete != nil {
		t.Errorf("a page tests where none may: %+v", came[2])
	}
}

// browse opens a site with M-Lab's client, as of the given host, in a new tab,
// and runs a script there.
type browse func(t *testing.T, host, script string) *jsTest

// startBrowser starts Chromium and the site.
func startBrowser(t *testing.T) browse {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("this test drives chromium, which is not installed")
	}
	const client = "../bin/ndt7-js/src"
	if _, err := os.Stat(filepath.Join(client, "ndt7.js")); err != nil {
		t.Skipf("this test needs M-Lab's client: .ci/install takes it from its npm package (%v)", err)
	}
	site := http.NewServeMux()
	site.Handle("/", http.FileServer(http.Dir(client)))
	site.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><title>ndt7</title><script src="ndt7.js"></script>`)
	})
	page := httptest.NewServer(site)
	t.Cleanup(page.Close)

	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(stop)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"),
		chromedp.NoSandbox, chromedp.Flag("ignore-certificate-errors", true))
	ctx, free := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(free)
	browser, quit := chromedp.NewContext(ctx)
	t.Cleanup(quit)
	if err := chromedp.Do(browser); err != nil { // all tabs are of one browser
		t.Fatalf("start chromium: %v", err)
	}
	return func(t *testing.T, host, script string) *jsTest {
		t.Helper()
		tab, closeTab := chromedp.NewContext(browser)
		defer closeTab()
		address := strings.Replace(page.URL, "127.0.0.1", host, 1) + "/page"
		if err := chromedp.Do(tab, chromedp.Navigate(address)); err != nil {
			t.Errorf("open %s: %v", address, err)
			return &jsTest{}
		}
		came, err := chromedp.Run(tab, chromedp.Evaluate[*jsTest](script, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Errorf("run the test: %v", err)
			return &jsTest{}
		}
		return came
	}
}

// eventuallyServed reads the far end's line about a test.
func eventuallyServed(t *testing.T, log *transcript.Log) (line servedTest) {
	t.Helper()
	eventually(t, "the far end's line about the test", func() bool {
		for text := range strings.Lines(log.String()) {
			if json.Unmarshal([]byte(text), &line) == nil && strings.HasPrefix(line.Msg, "ndt7 ") {
				return true
			}
		}
		return false
	})
	return line
}
