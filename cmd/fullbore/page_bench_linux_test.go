package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
	"github.com/fullbore/fullbore/web/live"
	"github.com/fullbore/fullbore/web/task"
)

// What BenchmarkLivePages runs.
const (
	livePages = 200
	livePairs = 20 // of runs with and without pages, in turns
)

// BenchmarkLivePages runs the same test from a page again and again, in turns with nobody watching and with
// 200 live pages open, and reports what docs/page.md shows: the ratio of goodput. Over
// loopback both ends, the page and all its readers share this machine's processors,
// which the transfer alone would fill; in the lab the path is what limits.
func BenchmarkLivePages(b *testing.B) {
	for _, c := range []struct {
		name    string
		request func(b *testing.B) task.Request
	}{
		{"loopback", func(b *testing.B) task.Request {
			at, token := benchFarEnd(b)
			return task.Request{Verb: task.Test, Host: at, Token: token, Seconds: 5}
		}},
		{"lab", func(*testing.B) task.Request {
			return task.Request{Verb: task.Test, Scenario: "gigaswift", Seconds: 5}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				request := c.request(b)
				p := newBenchPage(b)
				p.run(request, livePages) // warm
				var alone, watched, used []float64
				for range livePairs {
					for _, pages := range rand.Perm(2) {
						goodput, cpus := p.run(request, pages*livePages)
						if pages == 0 {
							alone = append(alone, goodput)
							continue
						}
						watched, used = append(watched, goodput), append(used, cpus)
					}
				}
				ratio := stat.PairedAt(0.95, alone, watched)
				b.ReportMetric(ratio.Gain, "of-goodput")
				b.ReportMetric(0, "ns/op")
				b.Logf("| %s | %s | %s | %.3f (%.3f to %.3f) | %.3f |", c.name, unit.Rate(stat.Median(alone)), unit.Rate(stat.Median(watched)), ratio.Gain, ratio.Low, ratio.High, stat.Median(used))
			}
		})
	}
}

// processorTime is what this process, the page with its readers, has taken so far.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// benchFarEnd starts a far end on the loopback interface.
func benchFarEnd(b *testing.B) (at, token string) {
	b.Helper()
	c := exec.CommandContext(b.Context(), self(b), "serve", "--json", "--ephemeral", "--bind", "127.0.0.1", "--port", "0")
	c.Env = append(os.Environ(), "FULLBORE_STATE="+b.TempDir())
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	var listening serveDocument
	if err := json.NewDecoder(out).Decode(&listening); err != nil {
		b.Fatal(err)
	}
	return listening.Listen, listening.Token
}

// benchPage is a page without its pages: tasks, hub and server.
type benchPage struct {
	b     *testing.B
	tasks *task.Tasks
	hub   *live.Hub
	url   string
	after string // what the run before had sent
}

func newBenchPage(b *testing.B) *benchPage {
	b.Helper()
	p := &benchPage{b: b, hub: live.NewHub()}
	p.tasks = task.New(task.Options{
		Program: self(b), Env: []string{"FULLBORE_STATE=" + b.TempDir()},
		Observe: func(string) func(string, record.Message) { return p.hub.Observer(benchTask) },
		Changed: func(x task.Task) { p.hub.Publish(live.OfTask(benchTask), x) },
	})
	server := httptest.NewServer(p.hub)
	p.url = server.URL
	b.Cleanup(func() {
		p.tasks.Close(nil)
		p.hub.Close()
		server.Close()
	})
	return p
}

// benchTask is the name that all tasks have here, so that pages are open before one starts.
const benchTask = "bench"

// run runs a test that so many pages watch which are open already, and gives its
// goodput, and the CPUs that the page and its readers used meanwhile.
func (p *benchPage) run(r task.Request, pages int) (goodput, cpus float64) {
	p.b.Helper()
	ctx, leave := context.WithCancel(p.b.Context())
	defer leave()
	var opened, readers sync.WaitGroup
	var points atomic.Int64
	opened.Add(pages)
	after := p.after
	for range pages {
		readers.Go(func() { p.read(ctx, after, opened.Done, &points) })
	}
	opened.Wait()
	before := processorTime()
	x, err := p.tasks.Start(r)
	if err == nil {
		x, err = p.tasks.Wait(p.b.Context(), x.ID)
	}
	if err != nil || x.State != task.Done {
		p.b.Fatalf("%+v, %v", x, err)
	}
	readers.Wait()
	cpus = (processorTime() - before).Seconds() / time.Since(x.Began).Seconds()
	run, ok := p.hub.Run(x.Run)
	if !ok || run.Header.State != record.Done {
		p.b.Fatalf("%+v", run.Header)
	}
	p.after = run.Cursor
	if want := int64(pages * len(run.Points)); points.Load() != want || len(run.Points) < 2*r.Seconds {
		p.b.Fatalf("%d points came to %d pages, want %d", points.Load(), pages, want)
	}
	return float64(run.Header.Goodput), cpus
}

// read is a page: it reads until the run has ended.
func (p *benchPage) read(ctx context.Context, after string, opened func(), points *atomic.Int64) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s?task=%s&runs&after=%s", p.url, benchTask, after), nil)
	if err != nil {
		p.b.Error(err)
		return
	}
	response, err := http.DefaultClient.Do(request)
	opened()
	if err != nil {
		p.b.Error(err)
		return
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		switch line := lines.Text(); {
		case line == "event: progress":
			points.Add(1)
		case line == "event: end":
			return
		case strings.HasPrefix(line, "event: reset"):
			p.b.Error("a page had to begin anew")
		}
	}
	p.b.Error("the stream ended before the run: ", ctx.Err())
}
