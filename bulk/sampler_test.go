package bulk

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fullbore/fullbore/unit"
)

func TestThin(t *testing.T) {
	samples := func(at ...time.Duration) []Sample {
		var all []Sample
		for _, at := range at {
			all = append(all, Sample{At: at})
		}
		return all
	}
	running := &stream{record: Stream{Samples: samples(0, 1, 2, 3, 4, 5)}}
	ended := &stream{record: Stream{Samples: samples(0, 1, 2, 2)}, done: true}
	p := &sampler{streams: []*stream{running, ended}, stride: 1}
	p.thin()
	if diff := cmp.Diff(samples(0, 2, 4), running.record.Samples); diff != "" {
		t.Errorf("running stream (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(samples(0, 2, 2), ended.record.Samples); diff != "" {
		t.Errorf("ended stream keeps its last (-want +got):\n%s", diff)
	}
	if p.stride != 2 {
		t.Errorf("stride %d, want 2", p.stride)
	}
}

// A day at full speed, looked at every second: 32-bit counters begin again many
// times, most samples are dropped, and still all adds up.
func TestDay(t *testing.T) {
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		streams         int
		segments, again uint64 // a second, each
		every           time.Duration
	}{
		"one stream at 100 Gb/s":         {1, 8_632_596, 100_000, time.Second},
		"four streams at 25 Gb/s":        {4, 2_158_149, 60_000, time.Second},
		"256 streams, one has the path":  {256, 6_000_000, 50_000, time.Minute},
		"one stream that repeats a lot":  {1, 8_632_596, 4_000_000, time.Second},
		"one stream that repeats little": {1, 86_325, 0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := &window{omit: 10 * time.Second}
			w.fix()
			var streams []*stream
			for range test.streams {
				s := &stream{Conn: Conn{Sender: true}, record: Stream{Retransmits: -1}}
				s.meter.window = w
				streams = append(streams, s)
			}
			p := newSampler(streams)
			look := func(at time.Duration) func(*stream) Sample {
				return func(*stream) Sample {
					seconds := uint64(at / time.Second)
					info := TCPInfo{Length: 280, SndMSS: 1448, SndCwnd: 1000, SndWnd: 3 << 20, RTT: 20_000}
					switch at { // what a sample that is dropped alone has seen
					case day/3 + test.every:
						info.SndCwnd, info.RTT = 5000, 30_000
					case day/5 + test.every:
						info.SndWnd, info.RTT = 6<<20, 10_000
					case 5 * time.Second: // omitted
						info.SndCwnd, info.RTT = 9000, 1
					}
					// The counters had begun again just before the transfer.
					info.DataSegsOut = uint32(seconds*test.segments) - 1000
					info.TotalRetrans = uint32(seconds*test.again) - 1000
					return Sample{At: at, Omitted: !w.isOpen(at), TCP: info}
				}
			}
			for at := time.Duration(0); at <= day; at += test.every {
				p.takeOf(at, look(at))
			}
			for _, s := range streams {
				s.learn(look(day)(s))
				s.record.Samples = append(s.record.Samples, s.latest)
				if n := len(s.record.Samples); n > p.limit+1 {
					t.Fatalf("%d samples were kept", n)
				}
				seconds := int64(day / time.Second)
				counted := seconds - int64(w.omit/time.Second)
				if test.every > w.omit {
					counted = seconds - int64(test.every/time.Second) // from the first look
				}
				if got, want := Grown(s.record.Samples, func(t *TCPInfo) uint32 { return t.DataSegsOut }), seconds*int64(test.segments); got != want {
					t.Errorf("%d segments, want %d", got, want)
				}
				if got, want := s.record.Retransmits, counted*int64(test.again); got != want {
					t.Errorf("%d segments again, want %d", got, want)
				}
				want := Peaks{MaxSndCwnd: 5000 * 1448, MaxSndWnd: 6 << 20, MinRTT: 10_000, MaxRTT: 30_000, MeanRTT: 20_000}
				if diff := cmp.Diff(want, s.record.Peaks); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// Segments that are sent again count from the end of the omitted time; a
// receiver, and a system that does not count them, have none to tell of.
func TestRetransmits(t *testing.T) {
	type look struct {
		at    time.Duration
		total uint32
	}
	for name, test := range map[string]struct {
		receiver bool
		omit     time.Duration
		length   int
		looks    []look
		want     int64
	}{
		"from the first look":           {looks: []look{{0, 3}, {1, 5}, {2, 9}}, length: 280, want: 6},
		"from the end of omitted time":  {omit: 10, looks: []look{{0, 3}, {9, 5}, {10, 7}, {11, 8}, {12, 8}}, length: 280, want: 1},
		"the counter begins again":      {looks: []look{{0, 1<<32 - 2}, {1, 3}}, length: 280, want: 5},
		"only omitted time":             {omit: 10, looks: []look{{0, 3}, {9, 5}}, length: 280, want: 0},
		"a receiver":                    {receiver: true, looks: []look{{0, 3}, {1, 5}}, length: 280, want: -1},
		"a system that does not count":  {looks: []look{{0, 0}, {1, 0}}, want: -1},
		"a kernel of long ago":          {looks: []look{{0, 3}, {1, 5}}, length: 100, want: -1},
		"the oldest one that counts it": {looks: []look{{0, 3}, {1, 5}}, length: 104, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := &window{omit: test.omit}
			w.fix()
			s := &stream{Conn: Conn{Sender: !test.receiver}, record: Stream{Retransmits: -1}}
			s.meter.window = w
			for _, l := range test.looks {
				s.learn(Sample{At: l.at, Omitted: !w.isOpen(l.at), TCP: TCPInfo{Length: test.length, TotalRetrans: l.total}})
			}
			if s.record.Retransmits != test.want {
				t.Errorf("%d, want %d", s.record.Retransmits, test.want)
			}
		})
	}
}

func TestSamplerLimit(t *testing.T) {
	for streams, want := range map[int]int{1: maxSamples, 10: maxSamples, 64: 512, MaxStreams: minSamples} {
		if got := newSampler(make([]*stream, streams)).limit; got != want {
			t.Errorf("%d streams: %d samples each, want %d", streams, got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	sender := &stream{Conn: Conn{ID: 1, Sender: true}}
	receiver := &stream{Conn: Conn{ID: 2}}
	p := newSampler([]*stream{sender, receiver})
	p.advance(0)

	// What is written says nothing yet: it lies in the send buffer.
	sender.latest = Sample{Bytes: 9000, Omitted: true, TCP: TCPInfo{Length: 280, BytesAcked: 1000}}
	receiver.latest = Sample{Bytes: 500, Omitted: true}
	p.advance(time.Second)
	want := Progress{At: time.Second, Omitting: true, Sent: 9000, Received: 500, SendRate: 8 * unit.Kbps, RecvRate: 4 * unit.Kbps, Rate: 12 * unit.Kbps}
	if diff := cmp.Diff(want, p.progress, cmpopts.IgnoreFields(Progress{}, "Streams")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// A kernel that does not count acknowledged bytes, and a stream that has
	// passed Omit.
	p = newSampler([]*stream{sender})
	sender.latest = Sample{}
	p.advance(0)
	sender.latest = Sample{Bytes: 2000}
	p.advance(time.Second)
	if got := p.progress; got.Omitting || got.SendRate != 16*unit.Kbps {
		t.Errorf("old kernel: omitting %v at %v, want 16 kb/s", got.Omitting, got.SendRate)
	}
}
