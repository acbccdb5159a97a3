package twin

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/examine"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// suite is where scenarios of a known cause are, and what was measured in them.
const suite = "../accuracy"

// recorded are the names of scenarios of the accuracy suite of which evidence is kept.
func recorded(t testing.TB) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(suite, "testdata/recorded/*.1.json.gz"))
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded evidence", err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".1.json.gz"))
	}
	return names
}

// runOf is the run that diagnose would have kept of the recorded evidence.
func runOf(t testing.TB, name string) *record.Run {
	t.Helper()
	x, err := examine.Read(filepath.Join(suite, "testdata/recorded", name+".1.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return keptOf(t, x, name)
}

func keptOf(t testing.TB, x *examine.Examination, scenario string) *record.Run {
	t.Helper()
	e := &x.Evidence
	document, err := json.Marshal(struct {
		Direction bulk.Direction `json:"direction"`
		Path      any            `json:"path"`
		Goodput   float64        `json:"goodput_bps"`
		diagnose.Diagnosis
	}{e.Direction, e.Path, float64(e.Transfer.Goodput(e.Direction)), x.Diagnosis})
	if err != nil {
		t.Fatal(err)
	}
	run := &record.Run{
		Header: record.Header{
			Schema: record.Schema, ID: "019aa9c1-5a1b-7000-8000-0123456789ab", Kind: record.Diagnose, State: record.Done,
			From: "a", To: "b", Scenario: scenario, Verdict: x.Diagnosis.Verdict.Cause,
		},
		Document:  document,
		Transfers: []record.Transfer{{Phase: "measure a transfer", Result: e.Transfer}},
		Hosts:     []record.Host{{Side: record.Near, When: record.Before, Is: e.SenderHost}, {Side: record.Far, When: record.Before, Is: e.ReceiverHost}},
	}
	for _, trial := range e.Trials {
		if trial.Result != nil {
			run.Transfers = append(run.Transfers, record.Transfer{Phase: "ask: " + trial.Why, Result: trial.Result})
		}
	}
	return run
}

// original is the scenario that was measured.
func original(t testing.TB, name string) *lab.Scenario {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(suite, "scenarios/*", name+".yaml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("scenario %s: %v %v", name, files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	s, err := lab.Parse(files[0], data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The twin of what diagnose measured in a scenario is that scenario: each value that is
// measured or inferred is near the true one, what is bounded is within its bound, and
// nothing is there that the scenario does not have.
func TestTwinIsLikeItsOriginal(t *testing.T) {
	for _, name := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			made, err := Make(runOf(t, name))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, made, original(t, name))
		})
	}
}

// labAdded is what the lab added to a round trip when these runs were recorded: today it
// takes that off.
const labAdded = 60 * time.Microsecond

// tolerance is how far values may be off, as shares: what the run shows of each.
var tolerance = map[string]float64{"rate": 0.06, "delay": 0.02, "queue": 0.35, "policer": 0.05, "burst": 0.25, "by": 0.3, "slow": 0.02}

func compare(t *testing.T, made *Twin, o *lab.Scenario) {
	t.Helper()
	near := func(what string, got, want, within float64) {
		t.Helper()
		if math.Abs(got-want) > within*math.Abs(want) {
			t.Errorf("%s is %.4g, want %.4g", what, got, want)
		}
	}
	s := made.Scenario
	if s.Path.MTU != o.Path.MTU || s.Expect != o.Expect {
		t.Errorf("MTU %d, cause %s, want %d, %s", s.Path.MTU, s.Expect.Cause, o.Path.MTU, o.Expect.Cause)
	}
	for _, way := range []struct {
		name      string
		got, want wire.Direction
	}{{"a_to_b", s.Path.AToB, o.Path.AToB}, {"b_to_a", *s.Path.BToA, *o.Path.BToA}} {
		got, want := way.got, way.want
		at := "path." + way.name
		if k := key(made, at+".rate"); k.How == Measured || k.How == Inferred {
			near(at+".rate", float64(got.Rate), float64(want.Rate), tolerance["rate"])
		}
		delay := float64(want.Delay + labAdded/2)
		near(at+".delay", float64(got.Delay), delay, max(tolerance["delay"], 25e3/delay))
		if k := key(made, at+".queue"); k.How == Measured || k.How == Inferred {
			near(at+".queue", float64(inBytes(got.Queue, &got, s)), float64(inBytes(want.Queue, &want, o)), tolerance["queue"])
		}
		if got.BlackHoleAbove != want.BlackHoleAbove || got.MSSClamp != want.MSSClamp || !slices.Equal(got.Strip, want.Strip) || got.Outage != want.Outage || got.Duplicate != want.Duplicate {
			t.Errorf("%s: %+v, want %+v", at, got, want)
		}
		near(at+".policer.rate", float64(got.Policer.Rate), float64(want.Policer.Rate), tolerance["policer"])
		near(at+".policer.burst", float64(got.Policer.Burst), float64(want.Policer.Burst), tolerance["burst"])
		within(t, made, at+".loss", float64(got.Loss.Mean()), float64(want.Loss.Mean()))
		if want.Loss.Model != got.Loss.Model {
			t.Errorf("%s.loss: model %q, want %q", at, got.Loss.Model, want.Loss.Model)
		}
		within(t, made, at+".corrupt", float64(got.Corrupt), float64(want.Corrupt))
		within(t, made, at+".reorder", float64(got.Reorder.Share), float64(want.Reorder.Share))
		near(at+".reorder.by", float64(got.Reorder.By), float64(want.Reorder.By), tolerance["by"])
		if (got.ECN != wire.ECN{}) != (want.ECN != wire.ECN{}) || (got.Jitter > 0) != (want.Jitter > 0) {
			t.Errorf("%s: ecn %v, jitter %v, want %v, %v", at, got.ECN, got.Jitter, want.ECN, want.Jitter)
		}
	}
	for name, h := range map[string][2]*lab.HostSpec{"a": {&s.Hosts.A, &o.Hosts.A}, "b": {&s.Hosts.B, &o.Hosts.B}} {
		got, want := h[0], h[1]
		if got.Congestion != want.Congestion || got.CPUs != want.CPUs || got.Shape != want.Shape {
			t.Errorf("host %s: %+v, want %+v", name, got, want)
		}
		near(name+".slow_reader", float64(got.SlowReader), float64(want.SlowReader), tolerance["slow"])
		near(name+".slow_writer", float64(got.SlowWriter), float64(want.SlowWriter), tolerance["slow"])
		for sysctl, value := range want.Sysctl {
			if got.Sysctl[sysctl] != value {
				t.Errorf("host %s: %s is %q, want %q", name, sysctl, got.Sysctl[sysctl], value)
			}
		}
	}
	if (len(s.Traffic) > 0) != (len(o.Traffic) > 0) {
		t.Errorf("traffic %+v, want %+v", s.Traffic, o.Traffic)
	}
	for i := range min(len(s.Traffic), len(o.Traffic)) {
		if d := s.Traffic[i].Flows - o.Traffic[i].Flows; d < -1 || d > 1 {
			t.Errorf("traffic %+v, want %+v", s.Traffic, o.Traffic)
		}
	}
}

// within says whether a share is as likely as its interval says: one key in twenty is
// outside of it, so that half as far again is allowed.
func within(t *testing.T, made *Twin, at string, got, want float64) {
	t.Helper()
	k := key(made, at)
	if k == nil {
		if want > 0 {
			t.Errorf("%s is not known, want %.3g", at, want)
		}
		return
	}
	switch low, high := bound(t, k.Low), bound(t, k.High); {
	case got == 0 && want == 0:
	case got == 0 && k.How != Measured && k.High == "": // it says why that cannot be told
	case got == 0 && want > 1.5*high, got > 0 && (want < low/1.5 || want > high*1.5):
		t.Errorf("%s is %.3g (%s), want %.3g", at, got, k.Known(), want)
	}
}

// Whatever cause was found, a host that its quota of a processor stops says nothing of its
// program, of the queue and of losses at random.
func TestOfAThrottledHost(t *testing.T) {
	for _, name := range []string{"sender-cpu-2gbit-1ms-cubic", "receiver-cpu-2gbit-2ms-cubic"} {
		for _, cause := range []string{diagnose.SlowSender, diagnose.SlowReceiver, diagnose.CompetingTraffic} {
			run := runOf(t, name)
			var d map[string]any
			if err := json.Unmarshal(run.Document, &d); err != nil {
				t.Fatal(err)
			}
			d["verdict"].(map[string]any)["cause"] = cause
			var err error
			if run.Document, err = json.Marshal(d); err != nil {
				t.Fatal(err)
			}
			made, err := Make(run)
			if err != nil {
				t.Fatal(err)
			}
			s := made.Scenario
			throttled, program := &s.Hosts.A, s.Hosts.A.SlowWriter
			if strings.HasPrefix(name, "receiver") {
				throttled, program = &s.Hosts.B, s.Hosts.B.SlowReader
			}
			if throttled.CPUs != 0.02 || program != 0 || s.Path.AToB.Loss != (wire.Loss{}) {
				t.Errorf("%s, found to be %s: %v CPUs, program %v, loss %v", name, cause, throttled.CPUs, program, s.Path.AToB.Loss)
			}
			if k := key(made, "path.a_to_b.queue"); k == nil || k.How != Assumed {
				t.Errorf("%s, found to be %s: queue %+v", name, cause, k)
			}
		}
	}
}

func bound(t *testing.T, text string) float64 {
	t.Helper()
	if text == "" || strings.HasPrefix(text, "below") {
		return 0
	}
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, " %"), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v / 100
}

func key(made *Twin, at string) *Key {
	for i := range made.Keys {
		if made.Keys[i].Key == at {
			return &made.Keys[i]
		}
	}
	return nil
}

// inBytes is a queue as the wire has it.
func inBytes(q wire.Queue, d *wire.Direction, s *lab.Scenario) unit.Size {
	switch {
	case q.Packets > 0:
		return unit.Size(q.Packets * s.Path.MTU)
	case q == wire.Queue{}:
		return max(s.Path.BDP(d), unit.Size(wire.MinQueuePackets*s.Path.MTU))
	}
	return q.Size(d.Rate, s.Path.RTT())
}
