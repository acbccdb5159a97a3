package diagnose

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
)

// What diagnose counts in the measured time is what the figures of the transfer
// count in it, wherever the samples lie and whenever counters begin again at 0.
func TestMeasuredTimeIsThatOfTheFigures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := bulk.Stream{ID: 1, Sender: true, Began: time.Duration(rapid.IntRange(0, 3000).Draw(t, "began")) * time.Millisecond}
		at, repeated := time.Duration(0), rapid.Uint32().Draw(t, "repeated before")
		for range rapid.IntRange(2, 30).Draw(t, "samples") {
			s.Samples = append(s.Samples, bulk.Sample{At: at, Omitted: at < s.Began, TCP: bulk.TCPInfo{Length: 280, TotalRetrans: repeated}})
			at += time.Duration(rapid.IntRange(1, 1000).Draw(t, "interval")) * time.Millisecond
			repeated += rapid.Uint32Range(0, 1000).Draw(t, "repeated")
		}
		transfer := &bulk.Result{Spec: bulk.Spec{Direction: bulk.Forward, Streams: 1}, Client: bulk.End{Streams: []bulk.Stream{s}}}
		want := int64(0)
		if figures := transfer.Figures(bulk.Forward); figures.Repeated != nil && figures.Repeated.Segments != nil {
			want = *figures.Repeated.Segments
		}
		v := newView(&Evidence{Direction: bulk.Forward, Transfer: transfer})
		if got := int64(v.loss.packets); got != want {
			t.Fatalf("%d segments repeated in the measured time, the figures say %d", got, want)
		}
	})
}
