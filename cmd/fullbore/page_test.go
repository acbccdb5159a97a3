//go:build unix

package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/web/task"
)

// pageProcess is a running page, and a browser that may start runs there.
type pageProcess struct {
	t      *testing.T
	site   string
	client *http.Client
	cmd    *exec.Cmd
	said   *bytes.Buffer // to stderr
	next   chan string   // addresses with the secrets that follow
}

// showPage starts a page, or a far end with one, and enters it.
func showPage(t *testing.T, args ...string) *pageProcess {
	t.Helper()
	p := &pageProcess{t: t, said: &bytes.Buffer{}, next: make(chan string, 10)}
	p.cmd = exec.CommandContext(t.Context(), self(t), args...)
	state := t.TempDir()
	p.cmd.Env = append(os.Environ(), asMain+"=1", "FULLBORE_STATE="+state, record.Variable+"="+filepath.Join(state, "record.db"))
	p.cmd.Stderr = p.said
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGINT) }
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.end()
		}
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("the page says nothing: %v", lines.Err())
	}
	var first struct{ Address, Page string }
	if err := json.Unmarshal(lines.Bytes(), &first); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.next)
		for lines.Scan() {
			var more pageDocument
			if json.Unmarshal(lines.Bytes(), &more) == nil {
				p.next <- more.Address
			}
		}
	}()
	address := first.Address + first.Page
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	p.client = &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	p.site, _, _ = strings.Cut(address, "/enter?")
	if status, body := p.ask(http.MethodGet, strings.TrimPrefix(address, p.site), nil); status != http.StatusOK || !strings.Contains(body, "You are in") {
		t.Fatalf("%s answers %d: %s", address, status, body)
	}
	if next := <-p.next; next == address || !strings.HasPrefix(next, p.site+"/enter?secret=") {
		t.Errorf("the next address is %q after %q", next, address)
	}
	return p
}

// end interrupts the page as Ctrl-C does, and gives what it said.
func (p *pageProcess) end() string {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGINT)
	for range p.next { // until its output ends
	}
	if _ = p.cmd.Wait(); p.cmd.ProcessState.ExitCode() != exitDone {
		p.t.Errorf("the page ends with %v: %s", p.cmd.ProcessState, p.said)
	}
	return p.said.String()
}

// ask sends a request, or a form.
func (p *pageProcess) ask(method, address string, form url.Values) (status int, body string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.site+address, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", p.site)
	}
	answer, err := p.client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if to := answer.Header.Get("Location"); to != "" {
		return answer.StatusCode, to
	}
	return answer.StatusCode, string(text)
}

// start starts a run by the form, and gives its task.
func (p *pageProcess) start(form url.Values) string {
	p.t.Helper()
	status, to := p.ask(http.MethodPost, "/new", form)
	id, ok := strings.CutPrefix(to, "/tasks/")
	if status != http.StatusSeeOther || !ok {
		p.t.Fatalf("the form answers %d: %s", status, to)
	}
	return id
}

// task asks the API how it is.
func (p *pageProcess) task(id string) (x task.Task) {
	p.t.Helper()
	status, body := p.ask(http.MethodGet, "/api/tasks/"+id, nil)
	if err := json.Unmarshal([]byte(body), &x); status != http.StatusOK || err != nil {
		p.t.Fatalf("the task answers %d: %s", status, body)
	}
	return x
}

// mute is a far end that accepts and never says anything.
func mute(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// Ctrl-C ends a page at once, with browsers that look on; what was started from it ends
// first, and the page says what it waits for.
func TestPageEnds(t *testing.T) {
	for name, args := range map[string][]string{
		"page":  {"page", "--json", "--bind", "127.0.0.1:0"},
		"serve": {"serve", "--json", "--ephemeral", "--page", "--bind", "127.0.0.1", "--port", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			p := showPage(t, args...)
			id := p.start(url.Values{"verb": {"test"}, "where": {"host"}, "host": {mute(t)}})
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.site+"/events?task="+id, nil)
			if err != nil {
				t.Fatal(err)
			}
			live, err := p.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer live.Body.Close()
			lines := bufio.NewScanner(live.Body)
			for running := false; !running; running = strings.Contains(lines.Text(), `"state":"running"`) {
				if !lines.Scan() { // the test's own deadline ends it, too
					t.Fatalf("who looks on was not told that it runs: %v", lines.Err())
				}
			}
			if state := p.task(id).State; state != task.Running {
				t.Errorf("who looks on was told that it runs, who asks that it is %s", state)
			}
			said := p.end()
			if !strings.Contains(said, "waiting for fullbore test 127.0.0.1:") {
				t.Errorf("it says %q", said)
			}
			for lines.Scan() { // it ends, too
			}
		})
	}
}

// A form that is wrong is shown again with what to do, and nothing starts; the metrics
// are there beside it.
func TestPageRefusesWhatTheCommandLineWould(t *testing.T) {
	p := showPage(t, "page", "--json", "--bind", "127.0.0.1:0")
	for name, form := range map[string]url.Values{
		"a flag for a host":     {"verb": {"test"}, "where": {"host"}, "host": {"--no-record"}},
		"no host":               {"verb": {"tune"}, "where": {"host"}},
		"a file for a scenario": {"verb": {"test"}, "where": {"lab"}, "scenario": {"/etc/passwd"}},
		"no number":             {"verb": {"test"}, "where": {"host"}, "host": {"x"}, "streams": {"many"}},
		"another verb":          {"verb": {"serve"}},
	} {
		if status, body := p.ask(http.MethodPost, "/new", form); status != http.StatusUnprocessableEntity || !strings.Contains(body, `role="alert"`) {
			t.Errorf("%s: %d %.300s", name, status, body)
		}
	}
	if status, body := p.ask(http.MethodGet, "/metrics", nil); status != http.StatusOK || !strings.Contains(body, "fullbore_build_info{") {
		t.Errorf("its metrics answer %d: %.300s", status, body)
	}
	if status, body := p.ask(http.MethodGet, "/api/tasks", nil); status != http.StatusOK || strings.TrimSpace(body) != "[]" {
		t.Errorf("%d tasks: %s", status, body)
	}
}

// In the lab: a test that is started by the form is seen as it goes on, and its report
// is there at the end; a sweep that was stopped goes on where it was by the button of
// its page, also of a page that was started later.
func TestIntegrationPageInLab(t *testing.T) {
	t.Parallel()
	p := showPage(t, "page", "--json", "--bind", "127.0.0.1:0")
	id := p.start(url.Values{"verb": {"test"}, "where": {"lab"}, "scenario": {"clean-lan"}, "seconds": {"1"}, "tags": {"from the page"}})
	await(t, "the run", func() bool { return p.task(id).Run != "" })
	status, body := p.ask(http.MethodGet, "/runs/"+p.task(id).Run, nil)
	if status != http.StatusOK || !strings.Contains(body, `id="live"`) {
		t.Errorf("while it runs, its page answers %d: %.500s", status, body)
	}
	awaitLong(t, "the end of the test", func() bool { return p.task(id).State.Ended() })
	if x := p.task(id); x.State != task.Done {
		t.Fatalf("%+v", x)
	}
	if status, body = p.ask(http.MethodGet, "/runs/"+p.task(id).Run, nil); status != http.StatusOK || !strings.Contains(body, "Goodput over time") {
		t.Errorf("at the end its page answers %d: %.500s", status, body)
	}

	sweep := p.start(url.Values{"verb": {"sweep"}, "experiment": {"gigaswift-acks"}, "where": {"lab"}})
	awaitLong(t, "a point of the sweep", func() bool {
		run := p.task(sweep).Run
		if run == "" {
			return false
		}
		_, body := p.ask(http.MethodGet, "/runs/"+run, nil)
		return strings.Contains(body, " left</span>")
	})
	if status, _ := p.ask(http.MethodPost, "/tasks/"+sweep+"/stop", url.Values{}); status != http.StatusSeeOther {
		t.Fatalf("stopping it answers %d", status)
	}
	awaitLong(t, "the end of the sweep", func() bool { return p.task(sweep).State.Ended() })
	run := p.task(sweep).Run
	if _, body := p.ask(http.MethodGet, "/runs/"+run, nil); !strings.Contains(body, "Go on with this sweep") {
		t.Errorf("the page of the stopped sweep has no button: %.500s", body)
	}
	on := p.start(url.Values{"verb": {"sweep"}, "experiment": {"gigaswift-acks"}})
	awaitLong(t, "that it goes on", func() bool {
		_, body := p.ask(http.MethodGet, "/tasks/"+on, nil)
		return strings.Contains(body, "of them are there already")
	})
}

// awaitLong is for what takes the time of a transfer in the lab.
func awaitLong(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not come", what)
		}
	}
}
