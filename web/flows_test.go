package web

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/flow"
)

// aLook has a flow that moves data, one that is idle, and one of a program with a name
// that no page may act on.
func aLook() *flow.Snapshot {
	limit := diagnose.Finding{Cause: diagnose.ApplicationWindow, Confidence: 0.94, Says: "ssh lets only about 2 MiB be in flight at a time."}
	return &flow.Snapshot{At: began, Over: time.Second, Notes: []string{"flows of other users have no names: run it as root"}, Flows: []flow.Flow{
		{ID: "1", Process: "ssh", PID: 27, Sends: true, Remote: netip.MustParseAddrPort("198.18.0.2:2222"), State: "established", Goodput: 106e6, RTT: 150 * time.Millisecond, MinRTT: 150 * time.Millisecond, Lost: 0.001, Limit: limit},
		{ID: "2", Process: hostile, Remote: netip.MustParseAddrPort("[2001:db8::1]:443"), State: "established", Goodput: 2e6, RTT: 20 * time.Millisecond, Limit: diagnose.Finding{Cause: diagnose.Unknown, Says: hostile}},
		{ID: "3", Process: "idle", Remote: netip.MustParseAddrPort("198.18.0.3:22"), State: "established", Idle: true},
	}}
}

// A look in words is what watch says: the program, where to, how fast, and what limits it;
// flows that move nothing are counted.
func TestFlowsInWords(t *testing.T) {
	got := flowsOf(aLook())
	want := Flows{Says: "2 of 3 flows move data, 108 Mb/s in all.", Notes: []string{"flows of other users have no names: run it as root"}, Rows: []FlowRow{
		{ID: "1", Process: "ssh[27]", Way: "to 198.18.0.2:2222", Rate: "106 Mb/s", RTT: "150 ms", Resent: "0.1 %", Limit: "application-window", Why: "ssh lets only about 2 MiB be in flight at a time."},
		got.Rows[1],
	}}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Flows{}, "At")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if row := got.Rows[1]; row.Way != "from [2001:db8::1]:443" || strings.ContainsAny(row.Process+row.Why, "\x1b\u202e") {
		t.Errorf("the other one is %+v", row)
	}
}

// The page has those flows; where a system does not tell them, it says so.
func TestFlowsPage(t *testing.T) {
	p := served(t, kept(t))
	shown := func(f Flows) string {
		w := httptest.NewRecorder()
		p.show(w, httptest.NewRequest(http.MethodGet, "/flows", nil), http.StatusOK, "flows", view{Title: "Flows", Data: f})
		audit(t, "flows", w.Body.String())
		return w.Body.String()
	}
	if body := shown(flowsOf(aLook())); !strings.Contains(body, "ssh[27]") || !strings.Contains(body, "run it as root") || strings.Contains(body, "Nothing moves") {
		t.Errorf("it shows %s", body)
	}
	if body := shown(Flows{Error: "watch TCP flows on plan9: not supported"}); !strings.Contains(body, "Flows cannot be seen here: watch TCP flows on plan9: not supported.") || strings.Contains(body, "<table") {
		t.Errorf("it shows %s", body)
	}
	if body := shown(Flows{}); !strings.Contains(body, "Nothing moves just now") {
		t.Errorf("it shows %s", body)
	}
}

// Many who look make few looks: one that is young enough is everyone's.
func TestLooksAreShared(t *testing.T) {
	l := looker{latest: flowsOf(aLook())}
	l.latest.At = time.Now().Add(time.Minute) // however slow this machine is
	if d := cmp.Diff(l.latest, l.look(t.Context())); d != "" {
		t.Errorf("a young look is not given again:\n%s", d)
	}
}
