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
