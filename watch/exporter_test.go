package watch

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fullbore/fullbore/flow"
)

// TestExporter: nothing before rates are known, then the latest look; a selection's
// Top is for the screen only.
func TestExporter(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	e, err := Export("127.0.0.1:0", Selection{Top: 1, Processes: []string{"ssh", "22"}}, 20, stop)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	get := func() (int, string) {
		t.Helper()
		response, err := http.Get("http://" + e.Addr().String() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	first := watchedFlows()
	first.Over = 0
	for _, look := range []*flow.Snapshot{nil, first} {
		if look != nil {
			if err := e.publish(look); err != nil {
				t.Fatal(err)
			}
		}
		if code, text := get(); code != http.StatusServiceUnavailable || !strings.Contains(text, "no rates are known yet") {
			t.Errorf("before there are rates: %d, %s", code, text)
		}
	}
	if err := e.publish(watchedFlows()); err != nil {
		t.Fatal(err)
	}
	code, text := get()
	if code != http.StatusOK || strings.Count(text, "fullbore_watch_flow_limit{") != 2 || strings.Contains(text, "psql") {
		t.Errorf("%d: %s", code, text)
	}
	if _, err := Export(e.Addr().String(), Selection{}, 20, stop); err == nil {
		t.Error("two listen on one port")
	}
	e.Close()
	if ctx.Err() != nil {
		t.Errorf("its own end is no failure: %v", context.Cause(ctx))
	}
}

// TestHint: a process without flows may be mistyped.
func TestHint(t *testing.T) {
	for processes, want := range map[string]string{
		"":            "",
		"ssh":         "",
		"23":          "", // psql, which is idle
		"sssh":        `no flow is of the process "sssh"; these have: a-very-long-name, psql, ssh`,
		"ssh,99":      `no flow is of the process "99"; `,
		"a\x1b[2Jb,x": `"a\x1b[2Jb"`,
	} {
		var out strings.Builder
		w := &Watch{Notes: &out}
		if processes != "" {
			w.Selection.Processes = strings.Split(processes, ",")
		}
		w.hint(watchedFlows())
		if want == "" && out.Len() > 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%q: %q, want %q", processes, &out, want)
		}
		if strings.ContainsRune(out.String(), '\x1b') {
			t.Errorf("%q acts on the terminal: %q", processes, &out)
		}
	}
	(&Watch{Selection: Selection{Processes: []string{"sssh"}}}).hint(watchedFlows()) // nobody reads it
	var out strings.Builder
	(&Watch{Selection: Selection{Processes: []string{"x"}}, Notes: &out}).hint(&flow.Snapshot{})
	if !strings.Contains(out.String(), "no process whose name is known has one") {
		t.Errorf("%q", &out)
	}
}
