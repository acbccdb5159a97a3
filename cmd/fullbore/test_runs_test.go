package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/experiment"
)

// farProcess starts a far end on a free port of the loopback interface, and gives where.
func farProcess(t *testing.T, flags ...string) string {
	t.Helper()
	return farServes(t, nil, flags...).Listen
}

// farServes starts one with more in its environment, and gives all that it says of itself.
func farServes(t *testing.T, env []string, flags ...string) *serveDocument {
	t.Helper()
	command := exec.CommandContext(t.Context(), self(t), append([]string{"serve", "--json", "--ephemeral", "--bind", "127.0.0.1", "--port", "0"}, flags...)...)
	command.Env = append(append(os.Environ(), asMain+"=1"), env...)
	var log bytes.Buffer
	command.Stderr = &log
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // t.Context() is done
		if _ = command.Wait(); command.ProcessState.ExitCode() != exitDone {
			t.Errorf("far end: %v: %s", command.ProcessState, &log)
		}
	})
	var listening serveDocument
	if err := json.NewDecoder(out).Decode(&listening); err != nil {
		t.Fatal(err)
	}
	return &listening
}

// fullDisk is a file on a disk that is full.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// fullbore runs the command line to its end.
func fullbore(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), code
}

// tested is as much of the document as these tests look at.
type tested struct {
	Start struct {
		Connected []struct{} `json:"connected"`
	} `json:"start"`
	Intervals []struct{} `json:"intervals"`
	End       struct {
		Sent     struct{ Bytes int64 } `json:"sum_sent"`
		Received struct{ Bytes int64 } `json:"sum_received"`
	} `json:"end"`
	Error    string `json:"error"`
	FullBore struct {
		Schema  string             `json:"schema"`
		Spec    bulk.Spec          `json:"spec"`
		Figures []bulk.Figures     `json:"figures"`
		Runs    []experiment.Run   `json:"runs"`
		Repeat  *experiment.Repeat `json:"repeat"`
	} `json:"fullbore"`
}

func testJSON(t *testing.T, args ...string) tested {
	t.Helper()
	stdout, stderr, code := fullbore(t, append([]string{"test", "-J"}, args...)...)
	var doc tested
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatalf("exit code %d: %v\n%s\n%s", code, err, stdout, stderr)
	}
	if code != exitDone {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	return doc
}

// TestTestRuns runs transfers over the loopback interface, in all forms. They have a
// rate, as other tests wait for their own processor time beside them.
func TestTestRuns(t *testing.T) {
	t.Parallel()
	at := farProcess(t, "--max-clients", "32")

	t.Run("figures of both directions", func(t *testing.T) {
		t.Parallel()
		doc := testJSON(t, at, "-t", "0.5", "-i", "0.1", "-b", "20M", "--bidir", "-P", "2")
		if doc.FullBore.Schema != "fullbore/test/1" || len(doc.FullBore.Figures) != 2 {
			t.Fatalf("schema %q, %d figures", doc.FullBore.Schema, len(doc.FullBore.Figures))
		}
		if len(doc.Intervals) < 3 || len(doc.Start.Connected) != 4 {
			t.Errorf("%d intervals of %d streams", len(doc.Intervals), len(doc.Start.Connected))
		}
		for _, f := range doc.FullBore.Figures {
			if f.Goodput <= 0 || f.Received.Bytes <= 0 || f.Difference.Says == "" || f.Connection.SendPath != "copy" || f.SenderCPU == nil {
				t.Errorf("%s: %+v", f.Direction, f)
			}
			if f.SmallFlow == nil || f.SmallFlow.Before == nil || f.SmallFlow.Loaded == nil {
				t.Errorf("%s: the small flow: %+v", f.Direction, f.SmallFlow)
			}
		}
	})

	t.Run("no bytes, and one", func(t *testing.T) {
		t.Parallel()
		for _, n := range []string{"0", "1"} {
			for _, way := range []string{"--bytes=" + n, "--reverse"} {
				doc := testJSON(t, at, "-n", n, way)
				want := int64(n[0] - '0')
				if doc.End.Sent.Bytes != want || doc.End.Received.Bytes != want {
					t.Errorf("%s: %d sent, %d received, want %d", way, doc.End.Sent.Bytes, doc.End.Received.Bytes, want)
				}
			}
		}
	})

	t.Run("repeats", func(t *testing.T) {
		t.Parallel()
		doc := testJSON(t, at, "-n", "1M", "--repeat", "4")
		r := doc.FullBore.Repeat
		if len(doc.FullBore.Runs) != 4 || r == nil || r.Runs != 4 || r.Goodput.Median <= 0 ||
			r.Goodput.Interval == nil || r.Goodput.Interval.Low > r.Goodput.Interval.High || r.ClientProcess == nil {
			t.Errorf("%+v", r)
		}
	})

	t.Run("until it is known", func(t *testing.T) {
		t.Parallel()
		doc := testJSON(t, at, "-t", "0.2", "-b", "50M", "--until-ci", "90%")
		if r := doc.FullBore.Repeat; r == nil || r.Runs < 3 || r.Settled == nil || !*r.Settled {
			t.Errorf("%+v", r)
		}
		stdout, stderr, code := fullbore(t, "test", at, "-n", "256K", "--until-ci", "0.1%")
		if code != exitBelow || !strings.Contains(stderr, "not known to within 0.1 % after 30 runs") || !strings.Contains(stdout, "not settled") {
			t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
		}
	})

	t.Run("text", func(t *testing.T) {
		t.Parallel()
		stdout, stderr, code := fullbore(t, "test", "-c", at, "-t", "0.5", "-P", "2", "-b", "20M", "-T", "nightly")
		for _, want := range []string{"[SUM]", "sender\n", "receiver\n", "goodput", "small flow", "CPU-s/GB", "waited for"} {
			if !strings.Contains(stdout, want) {
				t.Errorf("%q is missing in\n%s", want, stdout)
			}
		}
		for line := range strings.SplitSeq(strings.TrimSpace(stdout), "\n") {
			if line != "" && !strings.HasPrefix(line, "nightly:  ") {
				t.Errorf("a line without its title: %q", line)
			}
		}
		if code != exitDone || stderr != "" {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	})

	t.Run("verbose", func(t *testing.T) {
		t.Parallel()
		stdout, stderr, code := fullbore(t, "test", at, "-t", "0.5", "-P", "128", "-b", "1M", "-V")
		for _, want := range []string{"for one ACK", "path MTU", "counters", "128 streams"} {
			if !strings.Contains(stdout, want) {
				t.Errorf("%q is missing", want)
			}
		}
		if code != exitDone {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	})

	t.Run("forms for machines", func(t *testing.T) {
		t.Parallel()
		for flag, want := range map[string][]string{
			"--json-stream": {`{"event":"start"`, `{"event":"interval"`, `{"event":"fullbore"`, `{"event":"end"`},
			"--csv":         {"row,start_s,", "interval,0,", "total,0,"},
			"--prometheus":  {"# HELP fullbore_", "fullbore_transfer_success{"},
		} {
			stdout, stderr, code := fullbore(t, "test", at, "-t", "0.3", "-b", "50M", flag)
			for _, w := range want {
				if !strings.Contains(stdout, w) {
					t.Errorf("%s: %q is missing in\n%s", flag, w, stdout)
				}
			}
			if code != exitDone || stderr != "" {
				t.Errorf("%s: exit code %d: %s", flag, code, stderr)
			}
		}
	})

	t.Run("UDP and the far end's report, by iperf3's protocol", func(t *testing.T) {
		t.Parallel()
		doc := testJSON(t, at, "-t", "0.5", "-u", "-b", "10M", "--get-server-output")
		if got := float64(doc.End.Received.Bytes) * 8 / 0.5; math.Abs(got-10e6) > 2e6 {
			t.Errorf("%.3g bit/s arrived of 10 Mbit/s", got)
		}
		if len(doc.FullBore.Figures) != 1 || doc.FullBore.Figures[0].Datagrams == nil {
			t.Errorf("%+v", doc.FullBore.Figures)
		}
	})

	t.Run("what iperf3's protocol settles is in the first event", func(t *testing.T) {
		t.Parallel()
		stdout, stderr, code := fullbore(t, "test", "iperf3://"+at, "-t", "0.3", "-u", "--json-stream")
		line, _, _ := strings.Cut(stdout, "\n")
		var first struct {
			Event string
			Data  struct {
				Cookie string
				Test   struct{ BlkSize int } `json:"test_start"`
			}
		}
		if err := json.Unmarshal([]byte(line), &first); err != nil || code != exitDone {
			t.Fatalf("exit code %d: %v in %s\n%s", code, err, line, stderr)
		}
		if first.Event != "start" || len(first.Data.Cookie) != 36 || first.Data.Test.BlkSize <= 1460 { // as much as the loopback interface takes
			t.Errorf("%+v", first)
		}
	})

	t.Run("ndt7 with a certificate of the far end's own", func(t *testing.T) {
		t.Parallel()
		_, stderr, code := fullbore(t, "test", "ndt7s://"+at, "-t", "0.3")
		if code != exitFailed || !strings.Contains(stderr, "--insecure") {
			t.Errorf("exit code %d: %s", code, stderr)
		}
		stdout, stderr, code := fullbore(t, "test", "ndt7s://"+at, "-t", "0.3", "--insecure")
		if code != exitDone || !strings.Contains(stdout, "Connecting to host 127.0.0.1, port "+at[strings.LastIndexByte(at, ':')+1:]+"\n") {
			t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
		}
	})

	t.Run("a full disk", func(t *testing.T) {
		t.Parallel()
		for _, form := range []string{"", "--json", "--json-stream", "--csv", "--prometheus", "--repeat=2"} {
			args := []string{"test", at, "-t", "30", "-i", "0.1", "-b", "50M"}
			if form != "" && form != "--json-stream" {
				args[3] = "0.2" // nothing is written before the end
			}
			if form != "" {
				args = append(args, form)
			}
			var errs bytes.Buffer
			began := time.Now()
			code := run(args, strings.NewReader(""), fullDisk{}, &errs)
			if code != exitFailed || strings.Count(errs.String(), "no space left") != 1 || time.Since(began) > 15*time.Second {
				t.Errorf("%q: exit code %d after %v: %s", form, code, time.Since(began), &errs)
			}
		}
	})

	t.Run("a far end that is not there, as a document", func(t *testing.T) {
		t.Parallel()
		stdout, stderr, code := fullbore(t, "test", "127.0.0.1:1", "-J")
		var doc tested
		if err := json.Unmarshal([]byte(stdout), &doc); err != nil || doc.Error == "" {
			t.Errorf("%v: %s", err, stdout)
		}
		if code != exitFailed || !strings.Contains(stderr, "fullbore serve") {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	})
}

// Ctrl-C in the middle prints what was measured so far, in every form.
func TestTestInterrupted(t *testing.T) {
	t.Parallel()
	at := farProcess(t, "--max-clients", "16")
	for _, form := range []string{"", "--json", "--json-stream", "--csv", "--prometheus"} {
		t.Run("form "+form, func(t *testing.T) {
			t.Parallel()
			args := []string{"test", at, "-t", "60", "-i", "0.2", "-b", "20M"}
			if form != "" {
				args = append(args, form)
			}
			command := exec.CommandContext(t.Context(), self(t), args...)
			command.Env = append(os.Environ(), asMain+"=1")
			var out, errs bytes.Buffer
			command.Stdout, command.Stderr = &out, &errs
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second) // some forms show nothing before their end
			_ = command.Process.Signal(os.Interrupt)
			began := time.Now()
			_ = command.Wait()
			if code := command.ProcessState.ExitCode(); code != exitFailed || time.Since(began) > 20*time.Second {
				t.Errorf("exit code %d after %v", code, time.Since(began))
			}
			if !strings.Contains(errs.String(), "interrupted") {
				t.Errorf("stderr: %s", errs.String())
			}
			switch text := out.String(); form {
			case "--json":
				var doc tested
				if err := json.Unmarshal(out.Bytes(), &doc); err != nil || doc.Error == "" || doc.End.Sent.Bytes == 0 || doc.End.Received.Bytes == 0 || len(doc.Intervals) == 0 {
					t.Errorf("%v, error %q, %d bytes sent, %d received, %d intervals", err, doc.Error, doc.End.Sent.Bytes, doc.End.Received.Bytes, len(doc.Intervals))
				}
			case "--json-stream":
				for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
					if !json.Valid([]byte(line)) {
						t.Errorf("not JSON: %s", line)
					}
				}
				if !strings.Contains(text, `"event":"error"`) || !strings.Contains(text, `"event":"end"`) {
					t.Error("error or end is missing")
				}
			default:
				for _, want := range map[string][]string{
					"": {"sec", "goodput"}, "--csv": {"interval,", "total,"}, "--prometheus": {"fullbore_transfer_success"},
				}[form] {
					if !strings.Contains(text, want) {
						t.Errorf("%q is missing in\n%s", want, text)
					}
				}
			}
		})
	}
}
