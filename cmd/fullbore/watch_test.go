package main

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/internal/golden"
)

// watchedFlows is a look with a flow that an application limits, one that is
// idle, and more that move data.
func watchedFlows() *flow.Snapshot {
	at := netip.MustParseAddrPort
	look := &flow.Snapshot{
		At: time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC), Over: time.Second, TimeWait: 3, Hidden: 1, Notes: []string{"1 flow belongs to another user"},
		Flows: []flow.Flow{
			{ID: "1f", Local: at("198.18.0.1:36200"), Remote: at("198.18.0.2:22"), State: "established", PID: 21, Process: "ssh", Sends: true, Goodput: 111e6,
				Bytes: 80 << 20, RTT: 151 * time.Millisecond, MinRTT: 150 * time.Millisecond, Congestion: "cubic", Lost: 0.0001,
				Limit: diagnose.Finding{Cause: diagnose.ApplicationWindow, Confidence: 0.94,
					Says: "ssh keeps about 2 MiB under way, whatever the path can carry. TCP itself would let it have more than that.",
					Evidence: []diagnose.Fact{
						{Name: "window", Value: 2 << 20, Unit: "B", Says: "in flight at the median: 2 MiB"},
						{Name: "congestion_window", Value: 4 << 20, Unit: "B", Says: "TCP would allow 4 MiB"},
					},
					Action: "TCP tuning will not help; HPN-SSH or several transfers will", Gain: 2, Predicted: 222e6}},
			{ID: "2a", Local: at("[2001:db8:85a3:8d3:1319:8a2e:370:7348]:40000"), Remote: at("[2001:db8:85a3:8d3:1319:8a2e:370:7344]:443"), State: "established",
				PID: 22, Process: "a-very-long-name", Goodput: 20e6, RTT: 300 * time.Millisecond, Limit: diagnose.Finding{Cause: diagnose.SlowReceiver}},
			{ID: "30", Local: at("198.18.0.1:36300"), Remote: at("198.18.0.3:5432"), State: "established", PID: 23, Process: "psql", Idle: true,
				Limit: diagnose.Finding{Cause: diagnose.Unknown, Says: "It moves next to nothing."}},
		},
	}
	return look
}

// TestWatchJSON holds the document's keys fixed (docs/json.md).
func TestWatchJSON(t *testing.T) {
	look := watchedFlows()
	var got bytes.Buffer
	if err := printJSON(&got, documentOf(look, look.Flows[:1])); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "watch.json", got.Bytes())
	none, err := json.Marshal(documentOf(&flow.Snapshot{}, nil))
	if err != nil || !strings.Contains(string(none), `"flows":[]`) {
		t.Errorf("no flows are no list: %s, %v", none, err)
	}
}

// TestWatchUsage: what is wrong with a command line, and what to write.
func TestWatchUsage(t *testing.T) {
	for flags, want := range map[string]string{
		"--cause window-of-application":          `"window-of-application" is not a cause: use healthy, receiver-buffer`,
		"--remote example.com":                   `"example.com" is neither an address nor a prefix such as 192.0.2.0/24`,
		"--remote 192.0.2.0/33":                  "neither an address nor a prefix",
		"--port 0":                               "--port: 0: use 1 to 65535",
		"--port 70000":                           "70000",
		"--port ssh":                             "ssh",
		"--sort speed":                           "--sort must be one of",
		"--top=-1":                               "--top: -1: use 1 or more",
		"--count=-1":                             "--count: -1: use 1 or more",
		"--interval 1ms":                         "--interval: 1ms: use 100ms to 1h0m0s",
		"--interval fast":                        "--interval",
		"--for 1s --interval 2s":                 "--for: 1s ends before the first look, after 2s",
		"--once --for 2s":                        "--once is one look",
		"--once --prometheus-listen 127.0.0.1:0": "--once ends before anyone could ask",
		"--prometheus-flows 1001":                "use 0 to 1000",
		"ssh":                                    "unexpected argument ssh",
	} {
		_, stderr, code := fullbore(t, append([]string{"watch", "--count", "1"}, strings.Fields(flags)...)...)
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("watch %s: exit code %d, %s", flags, code, stderr)
		}
	}
	_, stderr, code := fullbore(t, "watch", "--prometheus-listen", "nowhere")
	if code == exitDone || !strings.Contains(stderr, "--prometheus-listen takes an address and a free port") && !strings.Contains(stderr, "watch TCP flows on") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// TestOnceAfter: long enough for a verdict, and never for ever.
func TestOnceAfter(t *testing.T) {
	for longest, want := range map[time.Duration]time.Duration{
		0: time.Second, time.Millisecond: time.Second, 150 * time.Millisecond: 1650 * time.Millisecond, time.Minute: 5 * time.Second,
	} {
		if got := onceAfter([]flow.Flow{{RTT: longest}, {}}); got != want {
			t.Errorf("with a round trip of %v it takes %v, want %v", longest, got, want)
		}
	}
}

func TestParseRemote(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "192.0.2.7/24": "192.0.2.0/24", "::ffff:192.0.2.1": "192.0.2.1/32",
		"[2001:db8::1]": "2001:db8::1/128", "fe80::1%eth0": "fe80::1/128", "2001:db8::/32": "2001:db8::/32",
	} {
		if got, err := parseRemote(text); err != nil || got.String() != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
}
