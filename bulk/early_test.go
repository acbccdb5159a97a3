package bulk

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/unit"
)

// receiving is a receiver as its kernel has it: segments of 1000 bytes come in
// any order, those behind a hole wait, and the application reads now and then.
type receiving struct {
	next     int          // segment that comes next in order
	behind   map[int]bool // came behind a hole
	read     int64        // bytes, by the application
	arrived  int64        // bytes, each counted once
	carried  int64        // bytes, with those that came twice: each took its time on the path
	counted  uint32       // segments, as the kernel counts them
	truesize int          // memory of a segment
}

func (r *receiving) arrive(segment int) {
	r.counted++
	r.carried += 1000
	if segment < r.next || r.behind[segment] {
		return // it came twice
	}
	r.arrived += 1000
	r.behind[segment] = true
	for r.behind[r.next] {
		delete(r.behind, r.next)
		r.next++
	}
}

func (r *receiving) look() *Sample {
	unread := 1000*r.next - int(r.read)
	return &Sample{
		Unread: unread, Bytes: r.read,
		Mem: SockMem{RecvBuf: 1 << 20, RecvAlloc: (unread+999)/1000*r.truesize + len(r.behind)*r.truesize},
		TCP: TCPInfo{Length: 280, DataSegsIn: r.counted, BytesReceived: uint64(1000 * r.next), RcvMSS: 1000},
	}
}

// Whatever comes when, is lost, comes twice or is handed over several segments at
// a time, no more is counted than the path carried in the measured time,
// and no more than was read in it.
func TestOnlyWhatArrivedInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &receiving{behind: map[int]bool{}, truesize: rapid.IntRange(1000, 4000).Draw(t, "memory of a segment")}
		merges := rapid.Bool().Draw(t, "several are handed over as one")
		var opening *Sample
		var before receiving
		steps := rapid.IntRange(1, 60).Draw(t, "steps")
		begins := rapid.IntRange(0, steps-1).Draw(t, "measured from")
		for step := range steps {
			if step == begins {
				opening, before = r.look(), *r
			}
			for range rapid.IntRange(0, 10).Draw(t, "segments") {
				r.arrive(r.next + rapid.IntRange(-2, 12).Draw(t, "segment"))
				if merges && rapid.Bool().Draw(t, "of the one before") {
					r.counted--
				}
			}
			r.read += rapid.Int64Range(0, int64(1000*r.next)-r.read).Draw(t, "read")
		}
		s := &stream{opening: opening, latest: *r.look(), record: Stream{Omitted: before.read, Bytes: r.read - before.read}}
		s.leaveOutEarly(Spec{Duration: second, Omit: second})
		got, all := s.record.Bytes, r.read-before.read
		if s.record.Early == nil || got+*s.record.Early != all || s.record.Omitted != before.read+*s.record.Early || *s.record.Early < 0 {
			t.Fatalf("%d bytes were read: %+v", all, s.record)
		}
		if carried := r.carried - before.carried; got > carried {
			t.Fatalf("%d bytes are counted, the path carried %d", got, carried)
		}
		if want := min(all, r.arrived-before.arrived); !merges && r.carried == r.arrived && got != want {
			t.Fatalf("%d bytes are counted, want %d", got, want)
		}
	})
}

// A look that came late begins the measured time of what it tells.
func TestLateOpening(t *testing.T) {
	at := func(at time.Duration, segments uint32) Sample {
		return Sample{At: at, TCP: TCPInfo{Length: 280, DataSegsIn: segments, RcvMSS: 1000}}
	}
	opening := at(1200*time.Millisecond, 200)
	for name, test := range map[string]struct {
		spec Spec
		want Stream
	}{
		"timed":           {Spec{Duration: second, Omit: second}, Stream{Bytes: 800_000, Omitted: 1_200_000, Began: 1200 * time.Millisecond, Elapsed: 800 * time.Millisecond}},
		"without omitted": {Spec{Duration: second}, Stream{Bytes: 1_000_000, Omitted: 1_000_000, Began: second, Elapsed: second}},
		"of bytes":        {Spec{Bytes: 1, Omit: second}, Stream{Bytes: 1_000_000, Omitted: 1_000_000, Began: second, Elapsed: second}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stream{opening: &opening, latest: at(2*second, 1000), record: Stream{Bytes: 1_000_000, Omitted: 1_000_000, Began: second, Elapsed: second}}
			s.leaveOutEarly(test.spec)
			test.want.Early = new(int64(200_000))
			if diff := cmp.Diff(test.want, s.record); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestArrivedBetween(t *testing.T) {
	sample := func(segments uint32, inOrder uint64, memory, backlog, unread int) Sample {
		return Sample{Unread: unread, Mem: SockMem{RecvBuf: 1 << 20, RecvAlloc: memory, Backlog: backlog}, TCP: TCPInfo{Length: 280, DataSegsIn: segments, BytesReceived: inOrder, RcvMSS: 1448}}
	}
	length := func(s Sample, n int) Sample { s.TCP.Length = n; return s }
	for name, test := range map[string]struct {
		opening, ending Sample
		want            int64
		known           bool
	}{
		"segments":                               {sample(100, 144800, 0, 0, 0), sample(300, 434400, 0, 0, 0), 200 * 1448, true},
		"a hole was filled":                      {sample(200, 144800, 230400, 0, 0), sample(300, 434400, 0, 0, 0), 100 * 1448, true},
		"of segments in one":                     {sample(10, 144800, 0, 0, 0), sample(30, 434400, 0, 0, 0), 289600, true},
		"of segments in one, and a hole":         {sample(10, 144800, 100000, 20000, 5000), sample(30, 434400, 0, 0, 0), 289600 - 115000, true},
		"memory says less than nothing":          {sample(10, 144800, 500000, 0, 0), sample(11, 434400, 0, 0, 0), 1448, true},
		"the counter of segments began again":    {sample(1<<32-100, 144800, 0, 0, 0), sample(100, 144800, 0, 0, 0), 200 * 1448, true},
		"a kernel that tells only bytes":         {length(sample(0, 144800, 0, 0, 0), 136), length(sample(0, 434400, 0, 0, 0), 136), 289600, true},
		"a kernel that tells no bytes":           {length(sample(0, 0, 0, 0, 0), 104), length(sample(0, 0, 0, 0, 0), 104), 0, false},
		"the connection is not looked at at end": {sample(100, 144800, 0, 0, 0), Sample{}, 0, false},
		"memory is not told": {func() Sample { s := length(sample(0, 144800, 0, 0, 0), 136); s.Mem = SockMem{}; return s }(),
			length(sample(0, 434400, 0, 0, 0), 136), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, known := arrivedBetween(&test.opening, &test.ending); got != test.want || known != test.known {
				t.Errorf("%d, %v; want %d, %v", got, known, test.want, test.known)
			}
		})
	}
}

// Where all bytes stay in the record, the goodput alone is without those that came
// before the measured time.
func TestGoodputWithoutEarly(t *testing.T) {
	early := func(n int64) *int64 { return &n }
	for name, test := range map[string]struct {
		spec Spec
		want unit.Rate
	}{
		"timed":                             {Spec{Direction: Forward, Duration: second}, 8 * 700},
		"of bytes":                          {Spec{Direction: Forward, Bytes: 1000}, 8 * 700},
		"timed, part of it omitted":         {Spec{Direction: Forward, Duration: second, Omit: second}, 8 * 1000},
		"of bytes, part of it omitted":      {Spec{Direction: Forward, Bytes: 1000, Omit: second}, 8 * 700},
		"at a rate of the sending program":  {Spec{Direction: Forward, Duration: second, Rate: unit.Mbps}, 8 * 1000},
		"of bytes at a rate of the program": {Spec{Direction: Forward, Bytes: 1000, Rate: unit.Mbps}, 8 * 1000},
	} {
		r := &Result{Spec: test.spec, Server: End{Streams: []Stream{
			{ID: 1, Bytes: 600, Early: early(300), Elapsed: second}, {ID: 2, Bytes: 400, Elapsed: second},
		}}}
		if got := r.Goodput(Forward); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	// All had come before the first look, of which nothing would be left.
	r := &Result{Spec: Spec{Direction: Forward, Bytes: 1000}, Server: End{Streams: []Stream{{ID: 1, Bytes: 1000, Early: early(1000), Elapsed: second}}}}
	if got := r.Goodput(Forward); got != 8000 {
		t.Errorf("all early: %v, want 8 kb/s", got)
	}
}

// Where the receiving end does not tell what had come before, the figures say by
// how much its goodput may be too high.
func TestMayBeHigh(t *testing.T) {
	result := func(change func(*Result)) *Excess {
		r := recorded()
		for i, window := range []uint32{4_000_000, 6_000_000, 5_000_000, 9_000_000} {
			s := &r.Client.Streams[0].Samples[i]
			s.TCP.SndMSS, s.TCP.SndWnd = 1000, window
		}
		r.Client.Streams[0].Samples = append([]Sample{}, r.Client.Streams[0].Samples...)
		r.Server = End{Host: "b", Software: "iperf3", Streams: []Stream{{ID: 1, Bytes: 200_000_000, Elapsed: 2 * second, Retransmits: -1}}}
		change(r)
		return r.Figures(Forward).MayBeHigh
	}
	known := int64(0)
	for name, test := range map[string]struct {
		change func(*Result)
		want   float64 // share; below 0: not known; 0: it is right
	}{
		"the window is smaller than it was": {func(*Result) {}, 0.005},
		"data is selectively acknowledged":  {func(r *Result) { r.Client.Streams[0].Samples[1].TCP.Sacked = 3000 }, 0.015},
		"a moment later":                    {func(r *Result) { r.Client.Streams[0].Samples[2].TCP.Sacked = 3000 }, 0.02},
		"long after":                        {func(r *Result) { r.Client.Streams[0].Samples[3].TCP.Sacked = 3000 }, 0.005},
		"all that came, and more":           {func(r *Result) { r.Client.Streams[0].Samples[1].TCP.Sacked = 1 << 30 }, 1},
		"it measures from the beginning":    {func(r *Result) { r.Spec.Omit = 0 }, 0},
		"it tells":                          {func(r *Result) { r.Server.Streams[0].Early = &known }, 0},
		"most had come at the first look": {func(r *Result) {
			most := int64(150_000_000)
			r.Spec.Omit, r.Server.Streams[0].Early = 0, &most
		}, 0.75},
		"most of one stream had come, another does not tell": {func(r *Result) {
			most := int64(40_000_000)
			r.Spec.Omit, r.Server.Software = 0, ""
			r.Client.Streams[0].Samples, r.Server.Streams[0].RecvBuf = nil, 2_000_000
			r.Server.Streams = append(r.Server.Streams, Stream{ID: 2, Bytes: 50_000_000, Early: &most, Elapsed: 2 * second, Retransmits: -1})
		}, 0.168},
		"nothing came":                        {func(r *Result) { r.Server.Streams[0].Bytes = 0 }, 0},
		"datagrams":                           {func(r *Result) { r.Server.Streams[0].Datagrams = &Datagrams{} }, 0},
		"nothing waits":                       {func(r *Result) { r.Client.Streams[0].Samples[2].TCP.SndWnd = 6_000_000 }, 0},
		"the sender tells nothing":            {func(r *Result) { r.Client.Streams[0].Samples = nil }, -1},
		"the sender's kernel is old":          {func(r *Result) { r.Client.Streams[0].Samples[1].TCP.Length = 224 }, -1},
		"nor does it, but the receive buffer": {func(r *Result) { r.Client.Streams[0].Samples = nil; r.Server.Streams[0].RecvBuf = 2_000_000 }, 0.01},
		"fullbore on a system that reports nothing": {func(r *Result) {
			r.Client.Streams[0].Samples, r.Server.Software, r.Spec.Omit = nil, "", 0
			r.Server.Streams[0].RecvBuf = 2_000_000
		}, 0.01},
	} {
		t.Run(name, func(t *testing.T) {
			got := result(test.change)
			switch {
			case test.want == 0 && got != nil:
				t.Errorf("%+v", got)
			case test.want != 0 && got == nil:
				t.Error("it says nothing")
			case test.want < 0 && got.By != nil:
				t.Errorf("by %v: nobody knows", *got.By)
			case test.want > 0 && (got.By == nil || *got.By < test.want-1e-9 || *got.By > test.want+1e-9):
				text, _ := json.Marshal(got)
				t.Errorf("%s, want %v", text, test.want)
			case got != nil && !strings.Contains(got.Says, "too high"):
				t.Error(got.Says)
			}
		})
	}
}
