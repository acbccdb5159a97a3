package main

import (
	"strings"
	"testing"
)

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
