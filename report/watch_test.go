package report

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/unit"
)

// watched is a look at flows of all kinds.
func watched() *flow.Snapshot {
	at := netip.MustParseAddrPort
	return &flow.Snapshot{
		At: time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC), Over: time.Second, TimeWait: 3, Hidden: 1,
		Notes: []string{"1 flow belongs to another user: run fullbore watch as root to see its process"},
		Flows: []flow.Flow{
			{ID: "1", Local: at("198.18.0.1:36200"), Remote: at("198.18.0.2:22"), State: "established", PID: 21, Process: "ssh", Sends: true, Goodput: 111e6,
				Bytes: 80 << 20, RTT: 151 * time.Millisecond, MinRTT: 150 * time.Millisecond, Congestion: "cubic",
				Limit: diagnose.Finding{Cause: diagnose.ApplicationWindow, Confidence: 0.94, Says: "ssh keeps about 2 MiB under way. TCP has room for more.",
					Evidence: []diagnose.Fact{{Name: "window", Value: 2 << 20, Unit: "B", Says: "one round trip moves 2 MiB"}},
					Action:   "TCP tuning will not help; HPN-SSH or several transfers will", Gain: 2, Predicted: 222e6}},
			{ID: "2", Local: at("[::ffff:198.18.0.1]:443"), Remote: at("[::ffff:203.0.113.7]:50000"), State: "established", PID: 30, Process: "nginx", Sends: true,
				Goodput: 5e6, RTT: 20 * time.Millisecond, Lost: 0.0123, Limit: diagnose.Finding{Cause: diagnose.RandomLoss, Says: "Loss."}},
			{ID: "3", Local: at("[2001:db8::1]:40000"), Remote: at("[2001:db8::2]:443"), State: "established", PID: 22, Process: "curl", Goodput: 20e6,
				RTT: 300 * time.Millisecond, Limit: diagnose.Finding{Cause: diagnose.SlowReceiver}},
			{ID: "4", Local: at("[fe80::1%eth0]:22"), Remote: at("[fe80::2%eth0]:50001"), State: "established", Goodput: 1e6,
				Limit: diagnose.Finding{Cause: diagnose.Unknown, Says: "It is being measured."}},
			{ID: "5", Local: at("198.18.0.1:36300"), Remote: at("198.18.0.3:5432"), State: "established", PID: 23, Process: "psql", Idle: true,
				Limit: diagnose.Finding{Cause: diagnose.Unknown, Says: "It moves next to nothing."}},
			{ID: "6", Local: at("198.18.0.1:800"), Remote: at("198.18.0.4:2049"), State: "established", Process: flow.Kernel, Sends: true, Goodput: 3e6, RTT: time.Millisecond},
		},
	}
}

// fastestFirst are the flows that move data, the fastest first.
const fastestFirst = "1 3 2 6 4"

// chosen are flows of a look, by their IDs.
func chosen(look *flow.Snapshot, ids string) []flow.Flow {
	var out []flow.Flow
	for id := range strings.FieldsSeq(ids) {
		for _, f := range look.Flows {
			if f.ID == id {
				out = append(out, f)
			}
		}
	}
	return out
}

func TestWatch(t *testing.T) {
	for name, test := range map[string]struct {
		shown   string // IDs of flows, in their order
		explain bool
		change  func(*flow.Snapshot)
	}{
		"lines":     {shown: fastestFirst},
		"explained": {shown: "1 3", explain: true},
		"none-open": {change: func(s *flow.Snapshot) { s.Flows, s.Notes = nil, nil }},
		"none-moves": {explain: true, change: func(s *flow.Snapshot) {
			s.Flows, s.Notes = s.Flows[4:5], nil
		}},
		"none-selected": {},
		"nasty": {shown: fastestFirst, explain: true, change: func(s *flow.Snapshot) {
			s.Flows = s.Flows[:1]
			s.Flows[0].Process, s.Notes[0] = "a\x1b[2J", "b\x1b[2J\n"
			s.Flows[0].Limit.Says = "c\x1b[2J"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			look := watched()
			if test.change != nil {
				test.change(look)
			}
			var out bytes.Buffer
			err := Watch(&out, look, chosen(look, test.shown))
			if test.explain {
				out.Reset()
				err = WatchExplained(&out, look, chosen(look, test.shown), Style{})
			}
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "watch-"+name+".txt", out.Bytes())
		})
	}
}

func TestWatchMetrics(t *testing.T) {
	for name, few := range map[string]int{"watch": 20, "watch-two": 2, "watch-sums": 0} {
		t.Run(name, func(t *testing.T) {
			look := watched()
			look.Flows[2].Process = "a\"b\\c\nd\xff"
			var out bytes.Buffer
			if err := WatchMetrics(&out, look, chosen(look, fastestFirst), few); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, name+".prom", out.Bytes())
			promtool(t, out.Bytes())
		})
	}
}

// However many flows there are, what Prometheus has to keep stays small; and no
// series is there twice.
func TestWatchMetricsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.IntRange(0, 8).Draw(t, "few")
		look := watched()
		look.Flows = nil
		for i := range rapid.IntRange(0, 300).Draw(t, "flows") {
			look.Flows = append(look.Flows, flow.Flow{
				ID: fmt.Sprint(i), Local: netip.AddrPortFrom(netip.MustParseAddr("198.18.0.1"), uint16(i)), Remote: netip.MustParseAddrPort("198.18.0.2:80"),
				Process: rapid.StringMatching(`[a-z]{0,2}|\(others\)`).Draw(t, "process"), Goodput: unit.Rate(rapid.Float64Range(0, 1e10).Draw(t, "rate")),
				Limit: diagnose.Finding{Cause: rapid.SampledFrom(diagnose.Causes).Draw(t, "cause").ID},
			})
		}
		var out bytes.Buffer
		if err := WatchMetrics(&out, look, look.Flows, few); err != nil {
			t.Fatal(err)
		}
		series := map[string]bool{}
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			name := line[:strings.LastIndex(line, " ")]
			if series[name] {
				t.Fatalf("%s is there twice", name)
			}
			series[name] = true
		}
		if most := 5 + 3*(len(diagnose.Causes)+1) + 3*(few+1) + 4*few; len(series) > most {
			t.Fatalf("%d series, want at most %d", len(series), most)
		}
	})
}

type noRoom struct{}

func (noRoom) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestWatchNoRoom(t *testing.T) {
	look := watched()
	for name, err := range map[string]error{
		"lines":        Watch(noRoom{}, look, look.Flows),
		"explanations": WatchExplained(noRoom{}, look, look.Flows, Style{}),
		"metrics":      WatchMetrics(noRoom{}, look, look.Flows, 1),
	} {
		if err == nil {
			t.Errorf("%s could not be written, and nobody is told", name)
		}
	}
}
