package web

import (
	"bufio"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/web/task"
)

// Without the script the page of a running run is complete as it stands: its steps, its
// figure, and that it loads itself again.
func TestRunningWithoutScript(t *testing.T) {
	p := served(t, kept(t))
	goesOn(p, numbered(90), 20)
	_, body := p.visit(t).get("/runs/" + numbered(90))
	for _, want := range []string{`<noscript><meta http-equiv="refresh" content="3"></noscript>`, "measure as it is now", "2.94 Mb/s; the limit is receiver-buffer (97 % sure)", ">try: larger receive buffers</span></p>", "stream 3", `id="now-rate">8`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if n := strings.Count(body, `<svg class="figure"`); n != 1 {
		t.Errorf("%d figures", n)
	}
	audit(t, "a running run", body)
	if _, body := p.visit(t).get("/"); !strings.Contains(body, "Running now") || !strings.Contains(body, "/runs/"+numbered(90)) {
		t.Error("the list has no running run")
	}
	if _, body := p.visit(t).get("/?kind=test"); strings.Contains(body, "Running now") {
		t.Error("a running tune is among the tests")
	}
}

// A run that no record keeps is seen while it runs, and as it ended.
func TestEndedAndNotKept(t *testing.T) {
	p := served(t, record.Nowhere)
	goesOn(p, numbered(90), 20)
	p.Hub.Observer("")(numbered(90), record.Message{End: &record.Outcome{State: record.Failed, Ended: time.Now().Add(-time.Hour), Error: "the far end is gone"}})
	status, body := p.visit(t).get("/runs/" + numbered(90))
	if status != http.StatusOK || !strings.Contains(body, "It has ended") || !strings.Contains(body, "the far end is gone") || strings.Contains(body, "data-events") || strings.Contains(body, "refresh") {
		t.Errorf("%d: %s", status, body)
	}
	audit(t, "a run that is not kept", body)
}

// A run that began elsewhere and is kept in the same record is among those that run;
// its page says how to see more.
func TestRunningElsewhere(t *testing.T) {
	place := kept(t)
	elsewhere := record.Start(place, record.Header{Kind: record.Test, Command: []string{"test", "far"}, From: "nas1", To: "far", Tags: []string{}})
	elsewhere.Event(record.Phase, "measure")
	defer func() { _ = elsewhere.End(record.Outcome{State: record.Done}) }()
	p := served(t, place)
	for range 100 {
		if _, body := p.visit(t).get("/"); strings.Contains(body, "/runs/"+elsewhere.ID()) && strings.Contains(body, "Running now") {
			if _, body := p.visit(t).get("/runs/" + elsewhere.ID()); !strings.Contains(body, "It was started elsewhere") {
				t.Error("its page does not say that it was started elsewhere")
			}
			return
		}
		time.Sleep(50 * time.Millisecond) // it is written by somebody else
	}
	t.Error("the list does not have it")
}

// The token of a far end goes to the process that needs it, and is never shown again.
func TestTokenIsNotShown(t *testing.T) {
	p := served(t, kept(t))
	v := p.entered(t)
	const token = "fb1-not-to-be-seen"
	answer, body := v.post("/new", url.Values{"verb": {"tune"}, "where": {"host"}, "host": {"nas2"}, "token": {token}})
	if answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d %s", answer.StatusCode, body)
	}
	address := answer.Header.Get("Location")
	wrong, shown := v.post("/new", url.Values{"verb": {"tune"}, "where": {"host"}, "host": {"--nas2"}, "token": {token}})
	_, page := v.get(address)
	_, api := v.get("/api" + address)
	_, form := v.get("/new?verb=tune&host=nas2&token=" + token)
	if wrong.StatusCode != http.StatusUnprocessableEntity || strings.Contains(shown+page+api+form, token) {
		t.Error("the token is shown")
	}
	if again, _ := v.post(address+"/again", url.Values{}); again.StatusCode != http.StatusSeeOther || again.Header.Get("Location") != "/new?host=nas2&verb=tune" {
		t.Errorf("running it again leads to %q, want the form, as the token is not kept", again.Header.Get("Location"))
	}
}

// A task in the lab is started again by its button; a running one is stopped by its own.
func TestStopAndAgain(t *testing.T) {
	script := filepath.Join("testdata", "waits.sh")
	p := served(t, kept(t), func(c *Config, _ *AccessOptions) {
		c.Tasks = task.New(task.Options{Program: script, Observe: c.Hub.Observer})
	})
	v := p.entered(t)
	answer, _ := v.post("/new", url.Values{"verb": {"diagnose"}, "where": {"lab"}, "scenario": {"clean-lan"}, "direction": {"reverse"}, "host": {"ignored"}})
	address := answer.Header.Get("Location")
	if _, body := v.get(address); !strings.Contains(body, `action="`+address+`/stop"`) || !strings.Contains(body, "diagnose --lab=clean-lan") {
		t.Errorf("its page has no button: %s", body)
	}
	if _, body := p.visit(t).get(address); strings.Contains(body, "/stop") {
		t.Error("who may only read has a button")
	}
	if stopped, _ := v.post(address+"/stop", url.Values{}); stopped.StatusCode != http.StatusSeeOther {
		t.Errorf("stopping it answers %d", stopped.StatusCode)
	}
	x, err := p.Tasks.Wait(t.Context(), strings.TrimPrefix(address, "/tasks/"))
	if err != nil || x.State != task.Stopped {
		t.Errorf("it is %+v, %v", x, err)
	}
	again, _ := v.post(address+"/again", url.Values{})
	id, _ := strings.CutPrefix(again.Header.Get("Location"), "/tasks/")
	next, err := p.Tasks.Get(id)
	if err != nil || cmp.Diff(next.Request, x.Request) != "" || next.ID == x.ID {
		t.Errorf("again it is %+v, %v", next, err)
	}
}

// What is told of a run reaches who looks on, as it comes.
func TestEvents(t *testing.T) {
	p := served(t, kept(t))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.site.URL+"/events?run="+numbered(90)+"&runs", nil)
	if err != nil {
		t.Fatal(err)
	}
	goesOn(p, numbered(90), 2)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" || answer.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("it is %q", kind)
	}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), "try: larger receive buffers") {
	}
	if lines.Err() != nil {
		t.Error(lines.Err())
	}
}

// The form's fields are the request, and back.
func TestFormIsTheRequest(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9.-]{0,12}`)
		want := task.Request{
			Verb: rapid.SampledFrom([]task.Verb{task.Test, task.Diagnose, task.Tune, task.Sweep}).Draw(r, "verb"), Host: name.Draw(r, "host"), Scenario: name.Draw(r, "scenario"), Experiment: name.Draw(r, "experiment"),
			Direction: rapid.SampledFrom([]bulk.Direction{"", bulk.Forward, bulk.Reverse}).Draw(r, "direction"), Streams: rapid.IntRange(0, 300).Draw(r, "streams"), Seconds: rapid.IntRange(0, 4000).Draw(r, "seconds"),
			Apply: rapid.SampledFrom([]string{"", "none", "persist"}).Draw(r, "apply"), Tags: rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,5}( [a-z]{1,5})?`), 0, 3).Draw(r, "tags"),
		}
		if len(want.Tags) == 0 {
			want.Tags = nil
		}
		got, err := asked(fields(&want))
		if d := cmp.Diff(want, got); d != "" || err != nil {
			r.Fatalf("(-want +got) %v:\n%s", err, d)
		}
	})
}

// A sweep that was stopped is gone on with by what its command line was, whoever typed
// that; of one that cannot be known for sure there is no button.
func TestGoingOnWithASweep(t *testing.T) {
	for command, want := range map[string]*task.Request{
		"sweep window-rtt":                             {Verb: task.Sweep, Experiment: "window-rtt"},
		"sweep window-rtt --lab clean-lan":             {Verb: task.Sweep, Experiment: "window-rtt", Scenario: "clean-lan"},
		"sweep --lab=clean-lan window-rtt":             {Verb: task.Sweep, Experiment: "window-rtt", Scenario: "clean-lan"},
		"sweep window-rtt nas2 --token ...":            {Verb: task.Sweep, Experiment: "window-rtt", Host: "nas2"},
		"sweep --tag x --afresh --json receive-spread": {Verb: task.Sweep, Experiment: "receive-spread"},
		"sweep mine.yaml":                              nil,
		"sweep window-rtt --lab mine.yaml":             nil,
		"sweep":                                        nil,
	} {
		h := record.Header{Kind: record.Sweep, State: record.Interrupted, Command: strings.Fields(command)}
		if d := cmp.Diff(want, onward(&h)); d != "" {
			t.Errorf("%s (-want +got):\n%s", command, d)
		}
		h.State = record.Done
		if onward(&h) != nil {
			t.Errorf("%s came to its end, and has a button", command)
		}
	}
}

// Whatever an address has for the place in a list, it is read or refused; what was
// written is read.
func FuzzMark(f *testing.F) {
	f.Add("")
	f.Add("1-x")
	f.Add(markText(record.Mark{Started: began, ID: numbered(1)}))
	f.Fuzz(func(t *testing.T, text string) {
		m, err := mark(text)
		if err != nil || m.ID == "" {
			return
		}
		if again, err := mark(markText(m)); err != nil || again != m {
			t.Errorf("%q is %+v, and that is %+v, %v", text, m, again, err)
		}
	})
}
