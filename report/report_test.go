package report

import (
	"bytes"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/tune"
	"github.com/fullbore/fullbore/unit"
)

func estimate() *path.Estimate {
	way := path.Direction{
		MTU:      path.MTU{Bytes: 1500, Method: "udp probe"},
		Capacity: path.Capacity{Rate: unit.Gbps, Low: 998 * unit.Mbps, High: 1003 * unit.Mbps, Method: "packet trains"},
	}
	rtt := path.RTT{Min: 150 * time.Millisecond, Median: 150 * time.Millisecond, Max: 151 * time.Millisecond, Count: 10, Method: "tcp handshake"}
	return &path.Estimate{RTT: rtt, Forward: way, Reverse: way}
}

func tuned() *tune.Result {
	return &tune.Result{
		Schema: tune.ResultSchema, Direction: bulk.Forward, From: "a", To: "b", Path: estimate(), Apply: tune.ApplyLive,
		Before: tune.Figure{Goodput: 2.94e6, Runs: []unit.Rate{2.93e6, 2.94e6}},
		After:  tune.Figure{Goodput: 965e6, Runs: []unit.Rate{965e6, 965e6}, Retrans: 0.0049},
		Gain:   328, GainCI95: [2]float64{324, 333},
		Verdict: diagnose.Finding{Cause: diagnose.ReceiverBuffer, Confidence: 0.97,
			Says: "The sender waits for the receiver: its window of 53.9 KiB is used up on every round trip of 150 ms, which makes 2.93 Mb/s."},
		Kept: []tune.Outcome{{Host: "b", Tunable: "net.ipv4.tcp_rmem", From: "4096 65536 87380", To: "4096 65536 67108864",
			Effect: "965 Mb/s with it, 2.93 Mb/s without", Why: "the path holds 17.9 MiB", Source: "Linux ip-sysctl, https://docs.kernel.org/networking/ip-sysctl.html"}},
		PutBack: []tune.Outcome{{Host: "a", Tunable: "net.ipv4.tcp_wmem", From: "4096 16384 4194304", To: "4096 16384 67108864",
			Effect: "no measurable difference: 964 Mb/s -> 965 Mb/s"}},
		Advice: []tune.Advice{{Host: "b", Says: "its administrator should run", Commands: []string{"sysctl -w net.ipv4.tcp_rmem='4096 65536 67108864'"}},
			{Says: "what another host said must not \x1b[2Jclear the screen"}},
		Latency: tune.LatencyPair{Before: 150, After: 244}, TestSeconds: 68, TestBytes: 2 << 30,
		ChangeSets: []tune.ChangeSet{{Host: "b", ID: "20261121-003238-f03da3", Undo: "fullbore revert 20261121-003238-f03da3"}},
	}
}

func TestTune(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(r *tune.Result)
	}{
		{"kept", func(*tune.Result) {}},
		{"proven-only", func(r *tune.Result) { r.Apply, r.ChangeSets = tune.ApplyNone, nil }},
		{"nothing-wrong", func(r *tune.Result) {
			r.Kept, r.PutBack, r.Advice, r.ChangeSets = nil, nil, nil, nil
			r.Before, r.Gain = r.After, 1
			r.Verdict = diagnose.Finding{Cause: diagnose.Healthy, Confidence: 0.97, Says: "The path is full."}
		}},
		{"interrupted", func(r *tune.Result) {
			r.Kept, r.ChangeSets, r.Interrupted = nil, nil, "stopped by a signal"
		}},
		{"not-undone", func(r *tune.Result) {
			r.Kept, r.ChangeSets, r.Interrupted = nil, nil, "stopped by a signal"
			r.NotUndone = "not everything could be put back immediately: revert change set 1 on b: no answer (it reverts by itself within 30s)"
		}},
		{"unmeasured-path", func(r *tune.Result) {
			r.Path.Forward.Capacity = path.Capacity{Rate: path.AssumedRate, Assumed: true, Method: "assumed"}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := tuned()
			test.change(r)
			var out bytes.Buffer
			Tune(&out, r)
			golden.Check(t, "tune-"+test.name+".txt", out.Bytes())
		})
	}
}

func transferred() *bulk.Result {
	sample := func(at time.Duration, bytes uint64) bulk.Sample {
		return bulk.Sample{At: at, Bytes: int64(bytes), TCP: bulk.TCPInfo{
			Length: 280, RTT: 150_200, MinRTT: 150_000, SndMSS: 1448, SndCwnd: 12_950, SegsOut: 90_000, TotalRetrans: uint32(bytes >> 24),
			BytesSent: bytes, BytesRetrans: bytes >> 12, BusyTime: uint64(at / time.Microsecond), RwndLimited: uint64(at/time.Microsecond) / 2,
			DataSegsOut: uint32(bytes / 1448), SegsIn: uint32(bytes / 2896), DsackDups: uint32(bytes >> 27), PMTU: 1500, Reordering: 3,
			DataSegsIn: uint32(bytes / 1448), RcvWnd: 3 << 20, RcvSpace: 1 << 20, RcvRTT: 151_000, RcvOooPack: uint32(bytes >> 22),
		}}
	}
	samples := []bulk.Sample{sample(0, 0), sample(time.Second, 100<<20), sample(2*time.Second, 200<<20)}
	samples[0].Omitted = true
	cpu := bulk.CPU{Elapsed: 2 * time.Second, User: 100 * time.Millisecond, System: time.Second,
		Cores: []bulk.Core{{ID: 0, Busy: 0.7, SoftIRQ: 0.2}, {ID: 1, Busy: 0.3, SoftIRQ: 0.1}}}
	stream := func(sender bool) bulk.Stream {
		return bulk.Stream{ID: 1, Sender: sender, Local: "198.18.0.1:40000", Remote: "198.18.0.2:5201", Congestion: "cubic", MSS: 1448,
			Bytes: 200 << 20, Elapsed: 2 * time.Second, Samples: samples}
	}
	return &bulk.Result{
		Spec:      bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: 2 * time.Second},
		Client:    bulk.End{Host: "a", Streams: []bulk.Stream{stream(true)}, CPU: cpu},
		Server:    bulk.End{Host: "b", Streams: []bulk.Stream{stream(false)}, CPU: cpu, Error: "the far end's error"},
		SmallFlow: []bulk.Latency{{At: -time.Second, RTT: 150 * time.Millisecond}, {At: time.Second, RTT: 190 * time.Millisecond}, {At: 1500 * time.Millisecond}},
	}
}

func TestTransfer(t *testing.T) {
	for name, change := range map[string]func(*bulk.Result) (verbose bool){
		"transfer.txt":         func(*bulk.Result) bool { return false },
		"transfer-verbose.txt": func(*bulk.Result) bool { return true },
		"transfer-both.txt": func(r *bulk.Result) bool {
			r.Spec.Direction = bulk.Both
			back := r.Client.Streams[0]
			back.ID = 2
			r.Server.Streams = append(r.Server.Streams, back)
			back.Sender = false
			r.Client.Streams = append(r.Client.Streams, back)
			return false
		},
		"transfer-udp.txt": func(r *bulk.Result) bool {
			r.Spec.Protocol, r.Spec.Rate, r.Spec.Length = bulk.UDP, unit.Gbps, 1448
			for _, e := range []*bulk.End{&r.Client, &r.Server} {
				e.Streams[0].Samples = nil
				e.Streams[0].Datagrams = &bulk.Datagrams{Packets: 1000, Lost: 3, OutOfOrder: 1, Jitter: 12e-6}
			}
			return false
		},
		"transfer-iperf3.txt": func(r *bulk.Result) bool {
			r.Server = bulk.End{Software: "iperf3", Streams: []bulk.Stream{{ID: 1, Bytes: 199 << 20, Elapsed: 2 * time.Second, Retransmits: -1}}}
			return true
		},
		"transfer-zerocopy.txt": func(r *bulk.Result) bool {
			s := &r.Client.Streams[0]
			s.SendPath, s.ZeroCopied, s.Copied, s.CPUs = bulk.SendZeroCopy, 10, 90, []int{1}
			r.Server.Streams[0].RecvPath, r.Server.Streams[0].PathNote = bulk.RecvCopy, "splice: not supported here"
			return true
		},
	} {
		r := transferred()
		verbose := change(r)
		var out bytes.Buffer
		Transfer(&out, r, verbose)
		golden.Check(t, name, out.Bytes())
	}
}
