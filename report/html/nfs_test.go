package html

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// fileRun is a kept run about a file.
func fileRun(t testing.TB, kind record.Kind, document any, args ...string) *record.Run {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return &record.Run{
		Header: record.Header{Schema: record.Schema, ID: "019aa0f1-3c00-7000-8000-000000000006", Kind: kind, State: record.Done, Started: began, Ended: began.Add(11 * time.Second),
			Command: append([]string{"nfs", kind.Verb()[4:]}, args...), Version: "0.9.0", From: "filer", To: "client", Tags: []string{}},
		Document: text,
		Events:   []record.Event{{Kind: record.Phase, Text: "read of 4 KiB, at random"}, {At: 11 * time.Second, Kind: record.Result, Text: "17764 requests a second"}},
	}
}

// requestsRun is a test of a file on the lab's path of 1 ms with windows of 48 KB, over so
// many connections, repeated three times where there are several.
func requestsRun(t testing.TB, connections int) *record.Run {
	t.Helper()
	each := 17764.0
	iops := each * float64(connections)
	d := experiment.RequestsDocument{Document: &nfs.Document{
		Schema: nfs.Schema, Target: "nfs://filer/export/data", Version: "4.1", FileBytes: 1 << 40, MaxRead: 4 << 20, MaxWrite: 4 << 20, Slots: 64, Op: "read", Size: 4096, Random: true,
		Connections: connections, Depth: 64 * connections, Seconds: 10, Requests: int64(iops * 10), IOPS: iops, Goodput: iops * 32768,
		Latency: nfs.LatencySummary{Mean: 3.6, P50: 3.42, P95: 4.2, P99: 4.35, P999: 5, Max: 5.62}, InFlight: 64 * float64(connections), CPU: 4.23,
	}}
	for n := 0; n <= 60; n++ { // five for each halving, as a histogram's ticks are
		d.Distribution = append(d.Distribution, nfs.LatencyShare{Share: 1 - math.Pow(0.5, float64(n)/5), Up: 3 + 0.2*float64(n)/5})
	}
	for second := range 10 {
		rate := iops * (1 + 0.01*float64(second%3-1))
		d.Each = append(d.Each, nfs.StretchRate{Until: float64(second + 1), IOPS: rate, Goodput: rate * 32768})
	}
	for range connections {
		d.Shares = append(d.Shares, nfs.ShareSummary{Requests: int64(each * 10), Goodput: each * 32768, TCP: &nfs.TCPSummary{RTT: 1.1, LeastRTT: 0.955, ReceiveWindow: 78029, SendWindow: 65536, Congestion: 14480}})
	}
	run := fileRun(t, record.NFSTest, d, "nfs://filer/export/data")
	if connections > 1 {
		for i := range 3 {
			one := *d.Document
			one.IOPS *= 1 + 0.01*float64(i-1)
			one.Goodput = one.IOPS * 32768
			d.Runs = append(d.Runs, experiment.NewRequests(began.Add(time.Duration(i)*11*time.Second), &one))
		}
		d.Repeat = experiment.Repetition{Times: 3}.RepeatRequests(d.Runs)
		run = fileRun(t, record.NFSTest, d, "--repeat", "3", "--connections", "4", "nfs://filer/export/data")
		run.ID = strings.TrimSuffix(run.ID, "6") + "7"
	}
	run.IOPS, run.Goodput = iops, unit.Rate(iops*32768)
	return run
}

// limitsRun is a diagnosis of a file whose server has few threads.
func limitsRun(t testing.TB) *record.Run {
	t.Helper()
	ms := func(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }
	e := &limit.Evidence{
		Connections: 1, Depth: 16, Slots: 64, Size: 4096, Idle: limit.Beside{Handshake: ms(1), Null: ms(1.05)},
		Again: limit.Look{IOPS: 850, Mean: ms(1.17)}, Alone: limit.Look{IOPS: 660, Mean: ms(1.5)}, Now: limit.Look{IOPS: 3900, Mean: ms(4.1)}, Loaded: limit.Beside{Handshake: ms(1.02), Null: ms(3.4)},
		More: limit.Look{IOPS: 3950, Mean: ms(8.1)}, MoreLoaded: limit.Beside{Handshake: ms(1.02), Null: ms(7.2)},
	}
	found := limit.Diagnose(e)
	run := fileRun(t, record.NFSDiagnose, map[string]any{"schema": "fullbore/nfs-diagnose/1", "target": "nfs://filer/export/data", "verdict": found[0], "findings": found, "evidence": e}, "--depth", "16", "nfs://filer/export/data")
	run.IOPS, run.Goodput, run.Verdict = 3900, 3900*32768, found[0].Cause
	return run
}

// raisedRun is a tuning of a file.
func raisedRun(t testing.TB) *record.Run {
	t.Helper()
	figure := func(iops, p50, p99 float64) (f climb.Figure) {
		f.IOPS, f.Goodput, f.Runs = iops, unit.Rate(iops*32768), []float64{iops * 0.98, iops * 1.02}
		f.Latency.P50, f.Latency.P99 = p50, p99
		return f
	}
	r := climb.Result{
		Schema: climb.Schema, Target: "nfs://filer/export/data", Before: figure(1020, 0.97, 1.1), After: figure(234_000, 8.2, 14), Gain: 229, GainCI95: [2]float64{180, 291},
		Verdict: climb.Verdict{Cause: limit.OneReader, Says: "Who waits for each answer before asking again gets one in each round trip: 0.97 ms make 1031 a second, whatever the settings."},
		Steps: []climb.Step{
			{Setting: "windows", From: "as found", To: "as the path needs them", IOPS: 1018, Was: []float64{1021, 1019}, Runs: []float64{1018, 1020}, Says: "brings nothing"},
			{Setting: "requests in flight", From: "1", To: "2", IOPS: 2040, Was: []float64{1021, 1019}, Runs: []float64{2035, 2045}, Helps: true, Says: "helps"},
			{Setting: "windows and requests in flight", From: "as found, 16", To: "as the path needs them, 32", IOPS: 57_100, Was: []float64{14_500}, Runs: []float64{57_100}, Helps: true, Says: "helps"},
		},
		Kept: []climb.Outcome{{Setting: "windows", From: "as found", To: "as the path needs them", Effect: "x 13 by it"}, {Setting: "requests in flight", From: "1", To: "2048", Effect: "x 200 by it"},
			{Setting: "net.ipv4.tcp_wmem on filer", From: "4096 16384 98304", To: "4096 16384 4194304", Effect: "larger windows"}},
		PutBack: []climb.Outcome{{Setting: "connections", From: "1", To: "4", Effect: "as fast without it"}},
		Advice:  []string{"to undo, on filer: fullbore revert 20261120-093214-f03da3"},
	}
	run := fileRun(t, record.NFSTune, r, "nfs://filer/export/data")
	run.IOPS, run.Goodput, run.Verdict = r.After.IOPS, r.After.Goodput, r.Verdict.Cause
	return run
}

// A test's page shows what a storage engineer looks for, each with its numbers: how long
// requests took, their rate over time, each connection's share, and what the windows let
// through.
func TestFiguresOfRequests(t *testing.T) {
	titles := func(run *record.Run) string {
		var all []string
		for _, g := range galleries(run, 100) {
			for _, p := range g.Pictures {
				all = append(all, p.Title)
			}
		}
		return strings.Join(all, ", ")
	}
	for run, want := range map[*record.Run]string{
		requestsRun(t, 1): "How long requests took, Requests over time, What the windows let through",
		requestsRun(t, 4): "Requests a second of every run, How long requests took, Requests over time, Each connection's share, What the windows let through",
		limitsRun(t):      "How long calls take",
		raisedRun(t):      "The climb",
	} {
		if got := titles(run); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What the windows let through is window over round trip, of all connections together, and
// is said only where the kernel tells it of all of them.
func TestWhatWindowsLetThrough(t *testing.T) {
	d := nfs.Document{Op: "read", Goodput: 1, Shares: []nfs.ShareSummary{{TCP: &nfs.TCPSummary{LeastRTT: 10, ReceiveWindow: 125_000, SendWindow: 1}}, {TCP: &nfs.TCPSummary{LeastRTT: 1, ReceiveWindow: 12_500}}}}
	if most, ok := throughWindows(&d); !ok || math.Abs(most-2e8) > 1 {
		t.Errorf("%v, %v; want 200 Mb/s", most, ok)
	}
	d.Shares = append(d.Shares, nfs.ShareSummary{})
	if most, ok := throughWindows(&d); ok {
		t.Errorf("of a connection nothing is known, and together it is %v", most)
	}
	if most, ok := throughWindow("write", &nfs.TCPSummary{LeastRTT: 1, ReceiveWindow: 1 << 20, SendWindow: 50_000, Congestion: 25_000}); !ok || math.Abs(most-2e8) > 1 {
		t.Errorf("writes: %v, %v", most, ok)
	}
}

// Two tests of files are compared by their requests a second; beside a transfer only what
// both moved can be.
func TestComparisonOfRequests(t *testing.T) {
	c := newComparison([]*record.Run{requestsRun(t, 1), requestsRun(t, 4)}, ticket)
	if c.Of != "requests a second" || c.Runs[0].Goodput != "17764/s" || c.Runs[1].Goodput != "71056/s" || !strings.Contains(c.Headline, "x 4") {
		t.Errorf("%+v", c)
	}
	c = newComparison([]*record.Run{requestsRun(t, 1), testedRun(t)}, ticket)
	if c.Of != "goodput" || c.Runs[0].Goodput != "582 Mb/s" {
		t.Errorf("%+v", c)
	}
}

// Documents that say nothing, or anything, make a page all the same.
func TestOddRequests(t *testing.T) {
	for _, kind := range []record.Kind{record.NFSTest, record.NFSDiagnose, record.NFSTune} {
		for _, document := range []string{`{}`, `null`, `[]`, `{"evidence":{}}`, `{"iops":1e300,"latency_ms":{"p50":-1,"p99":1e300},"shares":[{"tcp":{}}],"each_second":[{},{}],"latency_distribution":[{},{"share":2,"ms":-1}],"runs":[{},{}],"repeat":{}}`,
			`{"op":"read","size_bytes":-1,"file_bytes":-9223372036854775808,"depth":-5}`, `{"gain":1e300,"steps":[{"runs_iops":[-1,0]}],"before":{"iops":-1},"kept":[{"setting":"<b> on <script>"}]}`,
			`{"evidence":{"now":{"iops":1e300,"mean_ns":-5}},"verdict":{"predicted_iops":1e301},"findings":[{"share":1e300},{}]}`} {
			run := fileRun(t, kind, json.RawMessage(document))
			run.IOPS = 1e300
			audit(t, written(t, run))
			if page := string(written(t, run, run)); strings.Contains(page, strings.Repeat("0", 40)) {
				t.Errorf("%s, %s: a number is written out", kind, document)
			}
		}
	}
}

// Names of servers are redacted, also in the target; what a setting went from and to is no
// name.
func TestRedactRequests(t *testing.T) {
	all, err := Redact([]*record.Run{requestsRun(t, 4), raisedRun(t)})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(all)
	if err != nil || strings.Contains(string(text), "filer") {
		t.Errorf("%v: %s", err, text)
	}
	for _, stays := range []string{`"kind":"nfs-test"`, `"to":"2048"`, `"setting":"windows"`, `nfs://host-a/export/data`, `["nfs","test","--repeat"`} {
		if !strings.Contains(string(text), stays) {
			t.Errorf("%s does not stay in %s", stays, text)
		}
	}
}
