package twin

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/lab"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/record"
	"github.com/fullbore/fullbore/unit"
)

// A twin as people get it, and as programs do.
func TestTwinAsWritten(t *testing.T) {
	made, err := Make(runOf(t, "random-loss-50mbit-40ms-reno"))
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "random-loss.yaml", made.YAML())
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(made); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "random-loss.json", text.Bytes())
}

// What a twin's file says is what its scenario has: whatever was measured, the lab reads
// the file, and finds in it every value that is said to be known.
func TestTwinReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := drawn(t)
		made, err := Make(run)
		if err != nil {
			t.Fatal(err)
		}
		text := made.YAML()
		read, err := lab.Parse("twin.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if d := cmp.Diff(made.Scenario, read); d != "" {
			t.Fatalf("the file says something else (-twin +file):\n%s", d)
		}
		for _, k := range made.Keys {
			if k.Value != "" && !strings.Contains(text, k.Value) {
				t.Errorf("%s: %s is not in\n%s", k.Key, k.Value, text)
			}
		}
		if c := run.Transfers[0].Result; read.Path.AToB.Rate <= 0 || read.Path.RTT() > 20*time.Second || len(c.Client.Streams) == 0 {
			t.Errorf("%+v", read.Path)
		}
	})
}

// drawn is a run with any figures that a path may have, or hardly.
func drawn(t *rapid.T) *record.Run {
	rate := unit.Rate(math.Exp(rapid.Float64Range(math.Log(1e4), math.Log(4e11)).Draw(t, "rate")))
	rtt := time.Duration(math.Exp(rapid.Float64Range(math.Log(2e4), math.Log(5e9)).Draw(t, "rtt")))
	share := func(name string) float64 {
		return rapid.SampledFrom([]float64{0, 0.0001, 0.01, 0.5, 1}).Draw(t, name)
	}
	word := rapid.StringMatching(`[a-zA-Z0-9.@:"'#\\ é-]{0,80}`)
	cause := rapid.SampledFrom(diagnose.Causes).Draw(t, "cause").ID
	capacity := path.Capacity{
		Rate: rate, Low: rate * unit.Rate(1-share("below")/2), High: rate * unit.Rate(1+share("above")), Lost: share("train loss"),
		Burst: unit.Size(rapid.IntRange(0, 1<<24).Draw(t, "burst")), Assumed: rapid.Bool().Draw(t, "assumed"),
	}
	way := path.Direction{Capacity: capacity, MTU: path.MTU{
		Bytes: rapid.SampledFrom([]int{0, 68, 1280, 1400, 1500, 9000, 65535}).Draw(t, "mtu"), Link: rapid.SampledFrom([]int{0, 1500, 9000, 65535}).Draw(t, "link"), BlackHole: rapid.Bool().Draw(t, "hole"),
	}}
	estimate := path.Estimate{Forward: way, Reverse: way, RTT: path.RTT{Min: rtt, Median: rtt + rtt/time.Duration(rapid.IntRange(2, 100).Draw(t, "median")), Max: 3 * rtt, Count: 10}}
	document, err := json.Marshal(map[string]any{
		"direction": rapid.SampledFrom([]string{"forward", "reverse"}).Draw(t, "direction"), "path": estimate, "goodput_bps": rate / 2,
		"verdict": diagnose.Finding{Cause: cause, Confidence: 0.9, Evidence: []diagnose.Fact{{Name: "goodput", Value: float64(rate) / 2}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	facts := func(name string) *host.Facts {
		return &host.Facts{
			Name: word.Draw(t, "host"), OS: "linux", CPUs: 2,
			Interfaces: []host.Interface{{Name: "eth0", MTU: 1500, Speed: rapid.SampledFrom([]int{0, 100, 100_000}).Draw(t, "speed"), Qdiscs: []host.Qdisc{{Kind: "tbf", Rate: rate * unit.Rate(share("shaper "+name))}}}},
			Tunables:   map[string]string{"net.ipv4.tcp_rmem": "4096  131072\t6291456", "net.ipv4.tcp_sack": "1", "net.core.rmem_max": "212992", "net.ipv4.tcp_timestamps": word.Draw(t, "value"), word.Draw(t, "tunable"): "1"},
		}
	}
	run := &record.Run{
		Header:   record.Header{ID: record.NewID(), Kind: record.Diagnose, State: record.Done, From: word.Draw(t, "from"), To: word.Draw(t, "to"), Scenario: rapid.SampledFrom([]string{"", "clean-wan", strings.Repeat("x", 64)}).Draw(t, "scenario")},
		Document: document,
		Hosts:    []record.Host{{Side: record.Near, When: record.Before, Is: facts("a")}, {Side: record.Far, When: record.Before, Is: facts("b")}},
	}
	for range rapid.IntRange(1, 3).Draw(t, "transfers") {
		run.Transfers = append(run.Transfers, record.Transfer{Result: transfer(t, rate, rtt)})
	}
	return run
}

// transfer has streams both ways, so that either direction finds its own.
func transfer(t *rapid.T, rate unit.Rate, rtt time.Duration) *bulk.Result {
	count := rapid.Uint32Range(0, 1<<20)
	r := &bulk.Result{Spec: bulk.Spec{Direction: bulk.Both, Streams: 1, Duration: 2 * time.Second}}
	for _, end := range []*bulk.End{&r.Client, &r.Server} {
		end.Links = []host.LinkDelta{{Name: "eth0", Used: true, Route: true, LinkCounters: host.LinkCounters{CRC: int64(count.Draw(t, "crc") >> 14)}}}
		end.Counters = map[string]int64{"TcpExt.TCPSackRecovery": int64(count.Draw(t, "recoveries") >> 10), "Tcp.InCsumErrors": int64(count.Draw(t, "csum") >> 12)}
		end.CPU.Quota = rapid.SampledFrom([]float64{0, 0.01, 0.5, 4000}).Draw(t, "quota")
		for _, sender := range []bool{true, false} {
			s := bulk.Stream{Sender: sender, Congestion: rapid.SampledFrom([]string{"", "bbr", "cubic", "no such; thing"}).Draw(t, "congestion"), Bytes: int64(float64(rate) / 8), Elapsed: 2 * time.Second}
			tcp := bulk.TCPInfo{SndMSS: rapid.SampledFrom([]uint32{0, 36, 244, 1448, 8948, 65000}).Draw(t, "mss"), Options: uint8(count.Draw(t, "options"))}
			for i := range rapid.IntRange(2, 12).Draw(t, "samples") {
				tcp.RTT = uint32(rtt.Microseconds()) + count.Draw(t, "queued")>>6
				tcp.MinRTT = uint32(rtt.Microseconds())
				tcp.DataSegsOut += count.Draw(t, "sent")
				tcp.Delivered += count.Draw(t, "delivered")
				tcp.TotalRetrans += count.Draw(t, "again") >> 8
				tcp.DsackDups += count.Draw(t, "needless") >> 10
				tcp.ReordSeen += count.Draw(t, "reordered") >> 12
				tcp.DeliveredCE += count.Draw(t, "marked") >> 14
				tcp.Reordering = 3 + count.Draw(t, "distance")>>11
				tcp.SegsOut += count.Draw(t, "out")
				tcp.SegsIn += count.Draw(t, "in")
				tcp.DeliveryRate = uint64(count.Draw(t, "rate"))
				s.Samples = append(s.Samples, bulk.Sample{At: time.Duration(i) * 100 * time.Millisecond, TCP: tcp})
			}
			end.Streams = append(end.Streams, s)
		}
	}
	return r
}

// A run that shows too little makes no twin, and the error says what it lacks.
func TestRunsThatLackSomething(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*record.Run)
		is     error
		want   string
	}{
		{"another verb", func(r *record.Run) { r.Kind = record.Test }, ErrKind, "a run of test"},
		{"no result", func(r *record.Run) { r.Document, r.State = nil, record.Interrupted }, ErrNothing, "was interrupted"},
		{"not JSON", func(r *record.Run) { r.Document = []byte("{") }, nil, "what diagnose printed cannot be read"},
		{"no transfer", func(r *record.Run) { r.Transfers = nil }, ErrNothing, "nothing was measured"},
		{"no samples", func(r *record.Run) {
			r.Transfers[0].Result.Client.Streams[0].Samples = nil
			r.Transfers = r.Transfers[:1]
		}, ErrNothing, "nothing was measured"},
		{"no facts of the far end", func(r *record.Run) { r.Hosts = r.Hosts[:1] }, nil, "run diagnose with --token"},
		{"no facts of this end", func(r *record.Run) { r.Hosts = r.Hosts[1:] }, nil, "no facts of this end"},
		{"no facts at all", func(r *record.Run) { r.Hosts = nil }, nil, "no facts of either host"},
	} {
		t.Run(test.name, func(t *testing.T) {
			run := runOf(t, "slow-sender-50mbit-30ms-reno")
			test.change(run)
			_, err := Make(run)
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	if _, err := Make(nil); !errors.Is(err, ErrNothing) {
		t.Errorf("no run: %v", err)
	}
}

// A run whose data came from the far end has that as host a.
func TestTwinOfTheOtherDirection(t *testing.T) {
	run := runOf(t, "slow-sender-50mbit-30ms-reno")
	run.Document = bytes.Replace(run.Document, []byte(`"forward"`), []byte(`"reverse"`), 1)
	run.From, run.To = "b", "a"
	for i := range run.Transfers {
		r := run.Transfers[i].Result
		r.Spec.Direction, r.Client, r.Server = bulk.Reverse, r.Server, r.Client
	}
	run.Hosts[0].Side, run.Hosts[1].Side = record.Far, record.Near
	made, err := Make(run)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := made.Scenario.Hosts.A, made.Scenario.Hosts.B; a.SlowWriter == 0 || b.SlowWriter != 0 || a.Congestion != "reno" {
		t.Errorf("a is %+v, b is %+v", a, b)
	}
}

// Figures that no measurement makes, and text that no host has, make an odd twin or an
// error, and no panic.
func FuzzMake(f *testing.F) {
	for _, name := range []string{"policer-50mbit-40ms-bbr", "reordering-50mbit-20ms-reno", "slow-receiver-50mbit-100ms-reno"} {
		run := runOf(f, name)
		for i := range run.Transfers { // small enough to be changed in all places
			for _, end := range []*bulk.End{&run.Transfers[i].Result.Client, &run.Transfers[i].Result.Server} {
				for j := range end.Streams {
					end.Streams[j].Samples = end.Streams[j].Samples[:min(3, len(end.Streams[j].Samples))]
				}
			}
		}
		run.Transfers = run.Transfers[:1]
		text, err := json.Marshal(run)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "", 1.0)
		f.Add(string(text), "a\nname: x\u2028# \"", -1e300)
		f.Add(string(text), strings.Repeat("-ä", 500), math.NaN())
		f.Add(string(text), "x", math.Inf(1))
	}
	f.Fuzz(func(t *testing.T, text, name string, factor float64) {
		run := &record.Run{}
		if json.Unmarshal([]byte(text), run) != nil {
			return
		}
		if name != "" {
			run.From, run.To, run.ID = name, name, name
			for i := range run.Hosts {
				if run.Hosts[i].Is != nil {
					run.Hosts[i].Is.Name = name
				}
			}
		}
		for i := range run.Transfers {
			if r := run.Transfers[i].Result; r != nil && factor != 1 {
				r.Client.CPU.Quota *= factor
				for j := range r.Server.Streams {
					r.Server.Streams[j].Bytes = int64(float64(r.Server.Streams[j].Bytes) * factor)
				}
			}
		}
		made, err := Make(run)
		if err != nil {
			return
		}
		if read, err := lab.Parse("twin.yaml", []byte(made.YAML())); err != nil || !cmp.Equal(read, made.Scenario) {
			t.Fatalf("%v\n%s", err, made.YAML())
		}
		if _, err := json.Marshal(made); err != nil {
			t.Fatal(err)
		}
	})
}
