package task

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/record"
)

// role makes this program another process of a test: what a task starts, or a page.
const role = "FULLBORE_TASK_TEST"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "child":
		os.Exit(childMain(os.Args[1:]))
	case "page":
		pageMain()
	}
	os.Exit(m.Run())
}

// childMain stands for the command line. Its last argument, the far end, says what it does.
func childMain(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx = EndsWithPage(ctx)
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	switch args[len(args)-1] {
	case "measures":
		r := record.Start(os.Getenv(record.Variable), record.Header{Kind: record.Kind(args[0]), Command: args})
		r.Event(record.Phase, "measure")
		r.Progress(bulk.Progress{At: 100 * time.Millisecond, Streams: []bulk.Look{{ID: 1, Sender: true, Sample: bulk.Sample{Bytes: 1e6}}}})
		if err := r.End(record.Outcome{State: record.Done, Goodput: 7}); err != nil {
			say("fullbore: %v", err)
			return 1
		}
		say(".. measure")
	case "waits":
		say("it changed something")
		<-ctx.Done()
		say("it puts that back") // whoever read this may be gone
		if name := os.Getenv("PUT_BACK"); name != "" {
			_ = os.WriteFile(name, []byte("put back"), 0o600)
		}
		say("fullbore: interrupted: both hosts are as they were")
		return 1
	case "ignores":
		signal.Ignore(os.Interrupt)
		say("it ignores all")
		time.Sleep(time.Hour)
	case "refuses":
		say("fullbore: not allowed\n  hint: ask somebody")
		return 3
	case "tells":
		say("args %s, token %s, EndsWithStdin %s", strings.Join(args, " "), os.Getenv("FULLBORE_TOKEN"), os.Getenv(EndsWithStdin))
	}
	return 0
}

// pageMain starts a task, and is killed once that runs.
func pageMain() {
	tasks := New(Options{Env: []string{role + "=child"}})
	x, err := tasks.Start(Request{Verb: Tune, Host: "waits"})
	for err == nil {
		if x, err = tasks.Get(x.ID); len(x.Lines) > 0 {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {}
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
