package bulk

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/unit"
)

const second = time.Second

// recorded is a transfer of two measured seconds behind one that was omitted,
// with counters that wrap in the middle.
func recorded() *Result {
	sample := func(at time.Duration, n uint32, omitted bool) Sample {
		wrap := uint32(math.MaxUint32 - 1500) // the counters pass 2^32 in the second measured second
		return Sample{At: at, Omitted: omitted, TCP: TCPInfo{
			Length: 248, State: 1, RTT: 20_000 + 1000*n, MinRTT: 19_000, PMTU: 1500, Reordering: 3 + n,
			DataSegsOut: wrap + 1000*n, SegsIn: wrap + 500*n, DataSegsIn: wrap + 990*n, SegsOut: wrap + 495*n,
			TotalRetrans: 10 * n, BytesRetrans: 14480 * uint64(n), BytesSent: 1_448_000 * uint64(n), DsackDups: 2 * n, ReordSeen: n,
			BusyTime: 900_000 * uint64(n), RwndLimited: 300_000 * uint64(n), SndbufLimited: 200_000 * uint64(n),
			RcvOooPack: 7 * n, RcvRTT: 21_000, RcvSpace: 65536 * n, RcvWnd: 131072 * n, TotalRTO: uint16(math.MaxUint16) + uint16(n),
		}}
	}
	samples := []Sample{sample(0, 0, true), sample(second, 1, true), sample(2*second, 2, false), sample(3*second, 3, false)}
	stream := func(sender bool) Stream {
		return Stream{ID: 1, Sender: sender, Congestion: "cubic", MSS: 1448, Began: second, Elapsed: 2 * second, Samples: samples, Retransmits: -1}
	}
	from, to := stream(true), stream(false)
	from.Bytes, from.Omitted, from.SendPath = 250_000_000, 120_000_000, SendCopy
	to.Bytes, to.Omitted, to.RecvPath = 245_000_000, 110_000_000, RecvTruncate
	from.CPUs = []int{1}
	cpu := CPU{Elapsed: 2 * second, User: 200 * time.Millisecond, System: 800 * time.Millisecond,
		Cores: []Core{{ID: 0, Busy: 0.75, SoftIRQ: 0.25}, {ID: 1, Busy: 0.25, SoftIRQ: 0.05}}}
	small := []Latency{{At: -200 * time.Millisecond, RTT: 10}, {At: -100 * time.Millisecond, RTT: 12}, {At: -1}, {At: second / 2, RTT: 5},
		{At: second, RTT: 40}, {At: 2 * second, RTT: 60}, {At: 2500 * time.Millisecond}, {At: 3 * second, RTT: 1}}
	return &Result{
		Spec:   Spec{Direction: Forward, Streams: 1, Duration: 2 * second, Omit: second},
		Client: End{Host: "a", Streams: []Stream{from}, CPU: cpu}, Server: End{Host: "b", Streams: []Stream{to}, CPU: cpu},
		SmallFlow: small,
	}
}

func TestFigures(t *testing.T) {
	cost := &Cost{Process: 0.5, ProcessPerGB: new(1 / 0.245), Host: new(1.0), HostPerGB: new(2 / 0.245), SoftIRQ: new(0.3), Busiest: new(0.75), Cores: 2}
	ms := time.Millisecond
	want := Figures{
		Direction: Forward, From: "a", To: "b", Streams: 1, Goodput: 980 * unit.Mbps,
		Sent: Moved{250_000_000, 2}, Received: Moved{245_000_000, 2},
		Difference: Difference{Bytes: 5_000_000, Before: new(int64(10_000_000)), After: new(int64(15_000_000)),
			Says: "4.77 MiB more sent than received: 9.54 MiB were in flight when the measured time began, 14.3 MiB in buffers or in flight when it ended; 28.3 KiB more went over the path, sent again"},
		SenderCPU: cost, ReceiverCPU: cost,
		Connection: Connection{Congestion: "cubic", MSS: 1448, PathMTU: 1500, SendPath: "copy", RecvPath: "truncate", SenderCPUs: []int{1}},
		SenderACKs: &ACKs{Data: 2000, Back: 1000, Ratio: 2, Series: []ACKPoint{
			{At: 2 * second, Rate: 1000, Ratio: 2, Again: 10}, {At: 3 * second, Rate: 1000, Ratio: 2, Again: 10}}},
		ReceiverACKs: &ACKs{Data: 1980, Back: 990, Ratio: 2, Series: []ACKPoint{
			{At: 2 * second, Rate: 990, Ratio: 2, Again: 10}, {At: 3 * second, Rate: 990, Ratio: 2, Again: 10}}},
		Repeated: &Repeated{Segments: new(int64(20)), Bytes: new(int64(28960)), Share: new(0.01), Spurious: new(int64(4)),
			Reorders: new(int64(2)), Reordering: new(6), Timeouts: new(int64(2))},
		Arrived:   &Arrived{OutOfOrder: new(int64(14)), RTT: 21 * ms, Space: 3 * 65536, Window: 3 * 131072},
		Waited:    &Waited{Window: 0.3, Buffer: 0.2, Path: 0.4, Idle: 0.1},
		LoadedRTT: &Spread{Count: 2, Min: 22 * ms, Median: 22500 * time.Microsecond, P95: 22950 * time.Microsecond, Max: 23 * ms},
		LeastRTT:  19 * ms,
		SmallFlow: &SmallFlow{Before: &Spread{2, 10, 11, 11, 12}, Loaded: &Spread{2, 40, 50, 59, 60}, Lost: 1},
	}
	got := recorded().Figures(Forward)
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What an end does not tell is absent from the document: 0 would be a claim.
func TestFiguresOfLittle(t *testing.T) {
	t.Run("a far end that only counts bytes", func(t *testing.T) {
		r := recorded()
		r.Server = End{Host: "b", Software: "iperf3", Streams: []Stream{{ID: 1, Bytes: 245_000_000, Elapsed: 2 * second, Retransmits: -1}}}
		r.SmallFlow = nil
		f := r.Figures(Forward)
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, absent := range []string{"receiver_cpu", "receiver_acks", "arrived", "small_flow", "before", "recv_path"} {
			if strings.Contains(string(text), `"`+absent+`"`) {
				t.Errorf("%s is told of an end that does not know it: %s", absent, text)
			}
		}
		if f.Repeated == nil || *f.Repeated.Segments != 20 {
			t.Errorf("sent again: %+v, want the 20 of this end", f.Repeated)
		}
	})
	t.Run("an iperf3 server that sends", func(t *testing.T) {
		r := recorded()
		r.Spec.Direction = Reverse
		r.Client, r.Server = r.Server, End{Software: "iperf3", Streams: []Stream{{ID: 1, Sender: true, Bytes: 250_000_000, Elapsed: 2 * second, Retransmits: 33}}}
		f := r.Figures(Reverse)
		if d := cmp.Diff(&Repeated{Segments: new(int64(33))}, f.Repeated); d != "" {
			t.Error(d)
		}
		if f.Arrived == nil || *f.Arrived.OutOfOrder != 14 {
			t.Errorf("arrived %+v: this end's kernel saw 14 out of order", f.Arrived)
		}
	})
	t.Run("an old kernel", func(t *testing.T) {
		r := recorded()
		for i := range r.Client.Streams[0].Samples { // both ends share them
			r.Client.Streams[0].Samples[i].TCP.Length = 104 // Linux 3.x
		}
		f := r.Figures(Forward)
		if f.SenderACKs != nil || f.Waited != nil || f.LeastRTT != 0 || f.Repeated.Bytes != nil || f.Repeated.Segments == nil {
			t.Errorf("%+v, %+v", f, f.Repeated)
		}
	})
	t.Run("it never began", func(t *testing.T) {
		f := (&Result{Spec: Spec{Direction: Both, Streams: 1}}).Figures(Reverse)
		if d := cmp.Diff(Figures{Direction: Reverse, Difference: Difference{Says: "one end's count is not known"}}, f); d != "" {
			t.Error(d)
		}
	})
}

// Counters are told from the sample that is nearest to the beginning of the
// measured time: one of a long interval would bring what was omitted with it.
func TestFiguresBeginNearby(t *testing.T) {
	r := recorded()
	for _, s := range []*Stream{&r.Client.Streams[0], &r.Server.Streams[0]} {
		s.Began = 1900 * time.Millisecond
	}
	if got := *r.Figures(Forward).Repeated.Segments; got != 10 {
		t.Errorf("%d segments sent again, want the 10 of the last second", got)
	}
}

// A stream that never was in the measured time says nothing of when it began.
func TestSmallFlowBesideAStreamThatNeverBegan(t *testing.T) {
	r := recorded()
	r.Client.Streams = append(r.Client.Streams, Stream{ID: 2, Sender: true})
	if d := cmp.Diff(&Spread{2, 40, 50, 59, 60}, r.Small().Loaded); d != "" {
		t.Error(d)
	}
}

// A far end's samples are what it likes.
func TestFiguresOfSamplesInDisorder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := recorded()
		s := &r.Server.Streams[0]
		s.Samples = append([]Sample{}, s.Samples...)
		for i := range s.Samples {
			s.Samples[i].At = time.Duration(rapid.Int64().Draw(t, "at"))
			s.Samples[i].Omitted = rapid.Bool().Draw(t, "omitted")
		}
		s.Began, s.Elapsed = time.Duration(rapid.Int64().Draw(t, "began")), time.Duration(rapid.Int64().Draw(t, "elapsed"))
		if _, err := json.Marshal(r.Figures(Forward)); err != nil {
			t.Error(err)
		}
	})
}

func TestFiguresOfDatagrams(t *testing.T) {
	flow := func(id int, d Datagrams) Stream {
		return Stream{ID: id, Bytes: 100 * (d.Packets - d.Lost), Elapsed: second, Datagrams: &d}
	}
	r := &Result{
		Spec:   Spec{Protocol: UDP, Direction: Forward, Streams: 2, Duration: second},
		Client: End{Streams: []Stream{{ID: 1, Sender: true, Bytes: 1000, Elapsed: second}, {ID: 2, Sender: true, Bytes: 2000, Elapsed: second}}},
		Server: End{Streams: []Stream{
			flow(1, Datagrams{Packets: 10, Lost: 2, OutOfOrder: 1, Jitter: 0.001, Malformed: 3, Omitted: Counts{Packets: 5, Lost: 1}}),
			flow(2, Datagrams{Packets: 15, Lost: 1, Jitter: 0.003, Malformed: 1, Omitted: Counts{Packets: 2, OutOfOrder: 1}}),
		}},
	}
	f := r.Figures(Forward)
	want := &Datagrams{Packets: 25, Lost: 3, OutOfOrder: 1, Jitter: 0.002, Malformed: 4, Omitted: Counts{Packets: 7, Lost: 1, OutOfOrder: 1}}
	if d := cmp.Diff(want, f.Datagrams, cmpopts.EquateApprox(1e-9, 0)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// 30 were sent, 22 came, 3 were lost: 5 had not come.
	if want := "3 of 25 datagrams were lost; 500 B were in flight, or lost, when the measured time ended"; f.Difference.Says != want {
		t.Errorf("%q, want %q", f.Difference.Says, want)
	}
}

// A transfer in both directions is charged for the bytes of both, once.
func TestFiguresBothWays(t *testing.T) {
	r := recorded()
	r.Spec.Direction = Both
	back := r.Server.Streams[0]
	back.ID, back.Sender = 2, true
	r.Server.Streams = append(r.Server.Streams, back)
	back.Sender = false
	r.Client.Streams = append(r.Client.Streams, back)
	for _, d := range r.Spec.Directions() {
		if got, want := *r.Figures(d).SenderCPU.ProcessPerGB, 1/0.490; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %v CPU-s/GB, want %v", d, got, want)
		}
	}
}

// Whatever two ends counted, the difference is what lay between them at the end
// less what lay there at the beginning.
func TestFiguresDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Int64Range(0, 1<<50)
		r := &Result{
			Spec:   Spec{Direction: Forward, Streams: 1, Duration: second, Omit: second},
			Client: End{Streams: []Stream{{ID: 1, Sender: true, Bytes: count.Draw(t, "sent"), Omitted: count.Draw(t, "before")}}},
			Server: End{Streams: []Stream{{ID: 1, Bytes: count.Draw(t, "received"), Omitted: count.Draw(t, "before it")}}},
		}
		d := r.Figures(Forward).Difference
		if d.Bytes != *d.After-*d.Before || d.Says == "" {
			t.Fatalf("%+v", d)
		}
	})
}

// Streams that ran one after the other took as long as both.
func TestFiguresMoved(t *testing.T) {
	r := &Result{Spec: Spec{Direction: Forward, Bytes: 2000}, Server: End{Streams: []Stream{
		{ID: 1, Bytes: 1000, Began: 1 * second, Elapsed: 8 * second}, {ID: 2, Bytes: 1000, Began: 9 * second, Elapsed: 8 * second}, {ID: 3},
	}}}
	f := r.Figures(Forward)
	if want := (Moved{Bytes: 2000, Seconds: 16}); f.Received != want || f.Goodput != 1000 {
		t.Errorf("%+v, %v", f.Received, f.Goodput)
	}
}

// A series has no more points than a figure needs, and no packet is lost in it.
func TestFiguresSeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Stream
		at := time.Duration(0)
		var data, acks uint32
		for i := range rapid.IntRange(2, 3000).Draw(t, "samples") {
			s.Samples = append(s.Samples, Sample{At: at, Omitted: i == 0, TCP: TCPInfo{Length: 248, DataSegsOut: data, SegsIn: acks}})
			at += time.Duration(rapid.IntRange(1, 100).Draw(t, "step")) * 100 * time.Millisecond
			data += rapid.Uint32Range(0, 1<<20).Draw(t, "data")
			acks += rapid.Uint32Range(0, 1<<20).Draw(t, "acks")
		}
		s.Sender = true
		a := (&Result{Spec: Spec{Direction: Forward}, Client: End{Streams: []Stream{s}}}).Figures(Forward).SenderACKs
		if len(a.Series) > seriesPoints+1 {
			t.Fatalf("%d points", len(a.Series))
		}
		var sum float64
		last := time.Duration(0)
		for _, p := range a.Series {
			sum += p.Rate * (p.At - last).Seconds()
			last = p.At
		}
		if math.Abs(sum-float64(a.Data)) > 1e-6*float64(a.Data)+1e-6 {
			t.Fatalf("%v segments in the series, %d in all", sum, a.Data)
		}
	})
}
