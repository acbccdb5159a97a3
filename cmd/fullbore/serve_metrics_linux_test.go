package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fullbore/fullbore/change"
	"github.com/fullbore/fullbore/internal/freeport"
	"github.com/fullbore/fullbore/internal/transcript"
	"github.com/fullbore/fullbore/record"
)

// TestPrometheusScrapesServe: Prometheus, told what the manual says, scrapes a far end;
// it then knows what the last runs came to, and every panel of the dashboard has data.
func TestPrometheusScrapesServe(t *testing.T) {
	if _, err := exec.LookPath("prometheus"); err != nil {
		t.Skip("prometheus is not installed")
	}
	t.Parallel()
	dir := t.TempDir()
	place, state := filepath.Join(dir, "record.db"), filepath.Join(dir, "state")
	if _, says, code := keeping(t, place, "history", "import", "../../metrics/testdata/runs.ndjson"); code != exitDone {
		t.Fatal(says)
	}
	pendingChange(t, filepath.Join(state, "changes"))
	movingFlow(t)
	files := filepath.Join(dir, "prometheus")
	address := farServes(t, []string{"FULLBORE_STATE=" + state, record.Variable + "=" + place}, "--metrics", files).Listen
	if _, says, code := keeping(t, place, "test", address, "-t", "1", "-b", "20M", "--tag", "real"); code != exitDone {
		t.Fatal(says)
	}
	history := kept(t, place, "--tag", "real")
	if len(history.Runs) != 1 {
		t.Fatalf("%+v", history)
	}
	ran := history.Runs[0]
	ask := startPrometheus(t, dir, files, address)

	goodput := `fullbore_run_goodput_bytes_per_second{from="paris",to="tokyo",kind="test"}`
	awaitData(t, ask, goodput)
	if came, err := ask(goodput); err != nil || len(came) != 1 || came[0] != "1.165e+08" && came[0] != "116500000" {
		t.Errorf("the last run of 932 Mb/s came to %v, %v", came, err)
	}
	for query, want := range map[string]string{
		`up{job="fullbore"}`: "1",
		fmt.Sprintf(`abs(8 * fullbore_run_goodput_bytes_per_second{from=%q,to=%q} - %f) < bool 1`, ran.From, ran.To, float64(ran.Goodput)): "1",
		fmt.Sprintf(`count(fullbore_run_loaded_rtt_seconds{from=%q,to=%q})`, ran.From, ran.To):                                             "1",
		`fullbore_serve_tests_total{protocol="fullbore",result="done"}`:                                                                    "1",
		`fullbore_serve_moved_bytes_total{protocol="fullbore",direction="in"} > bool 1e6`:                                                  "1",
		`sum(fullbore_scrape_error)`:                                            "0",
		`fullbore_run_gain_ratio{from="paris"}`:                                 "2.28",
		`sum(fullbore_change_sets{state=~"planned|applying|live"})`:             "1",
		`fullbore_change_next_revert_timestamp_seconds - time() > bool 60`:      "1",
		`count(fullbore_run_verdict{cause="receiver-buffer",scenario=""} == 1)`: "2",
	} {
		if came, err := ask(query); err != nil || len(came) != 1 || came[0] != want {
			t.Errorf("%s is %v, %v; want %s", query, came, err, want)
		}
	}

	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	text, err := os.ReadFile("../../docs/prometheus/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			// As Grafana does where "All" is chosen.
			expr := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$from", ".*", "$to", ".*").Replace(target.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("%s has a variable that is not known: %s", p.Title, expr)
			}
			awaitData(t, ask, expr)
			asked++
		}
	}
	if asked < 20 {
		t.Errorf("only %d expressions were asked", asked)
	}
}

// pendingChange leaves a change set that nobody confirms, of no tunable.
func pendingChange(t *testing.T, dir string) {
	t.Helper()
	manager, err := change.NewManager(dir, change.Kernel{})
	if err != nil {
		t.Fatal(err)
	}
	manager.StartWatchdog = func(string, string) error { return nil }
	if _, err := manager.Begin(t.Context(), "to be seen", time.Hour); err != nil {
		t.Fatal(err)
	}
}

// movingFlow has a flow over loopback that moves some 3 MB a second.
func movingFlow(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close(); listener.Close() })
	go func() {
		for read := make([]byte, 1<<16); ; {
			if _, err := far.Read(read); err != nil {
				return
			}
		}
	}()
	go func() {
		for block := make([]byte, 1<<16); ; time.Sleep(20 * time.Millisecond) {
			if _, err := near.Write(block); err != nil {
				return
			}
		}
	}()
}

// startPrometheus runs Prometheus with the manual's configuration, and gives what
// answers a query with the values that it has.
func startPrometheus(t *testing.T, dir, files, address string) (ask func(query string) ([]string, error)) {
	t.Helper()
	manual, err := os.ReadFile("../../docs/prometheus.md")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile("(?s)```yaml\n(rule_files:.*?)```").FindSubmatch(manual)
	if said == nil {
		t.Fatal("docs/prometheus.md has no scrape_config")
	}
	rules, err := os.ReadFile("../../docs/prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	config := strings.NewReplacer("/etc/prometheus/fullbore", files, "b.example:5201", address).Replace(string(said[1]))
	config = "global: {scrape_interval: 2s, scrape_timeout: 2s}\n" + config
	name := filepath.Join(dir, "prometheus.yml")
	for path, text := range map[string][]byte{name: []byte(config), filepath.Join(files, "rules.yml"): rules} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "promtool", "check", "config", name).CombinedOutput(); err != nil {
		t.Fatalf("promtool check config: %v\n%s", err, out)
	}
	at := "127.0.0.1:" + freeport.Find(t)
	var log transcript.Log
	server := exec.CommandContext(t.Context(), "prometheus", "--config.file="+name, "--storage.tsdb.path="+filepath.Join(dir, "tsdb"), "--web.listen-address="+at)
	server.Stderr = &log
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	server.WaitDelay = 20 * time.Second
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // t.Context() is done
	log.Await(t, "Server is ready")
	return func(query string) ([]string, error) { return instantQuery(t.Context(), at, query) }
}

// instantQuery asks Prometheus, and gives the values of all series.
func instantQuery(ctx context.Context, at, query string) (values []string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/api/v1/query?query="+url.QueryEscape(query), nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Error string
		Data  struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("%s: %s", query, answer.Error)
	}
	for _, r := range answer.Data.Result {
		values = append(values, fmt.Sprint(r.Value[1]))
	}
	return values, nil
}

// awaitData asks until there is an answer with data: of a rate it takes two scrapes.
func awaitData(t *testing.T, ask func(string) ([]string, error), query string) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		came, err := ask(query)
		if err != nil {
			t.Fatal(err)
		}
		if len(came) > 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("no data: %s", query)
			return
		}
	}
}
