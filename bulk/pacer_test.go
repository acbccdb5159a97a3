package bulk

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/unit"
)

// A sender is never more than a burst ahead of its rate, and never behind it
// unless it is held up.
func TestPacer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{
			Rate:   unit.Rate(rapid.Int64Range(1000, 1e11).Draw(t, "rate")),
			Length: rapid.IntRange(1, MaxLength).Draw(t, "length"),
			Burst:  rapid.IntRange(0, 1000).Draw(t, "burst"),
		}
		p := newPacer(spec)
		var now time.Duration
		var written int64
		for range rapid.IntRange(1, 300).Draw(t, "writes") {
			n, wait := p.allow(spec.Length, now)
			if wait > 0 {
				if wait > spec.pause()+time.Nanosecond {
					t.Fatalf("waits %v, want up to %v", wait, spec.pause())
				}
				if now += wait; now > MaxDuration {
					return // no transfer is that long
				}
				continue
			}
			if n < 1 || n > spec.Length {
				t.Fatalf("%d bytes of %d", n, spec.Length)
			}
			n = rapid.IntRange(1, n).Draw(t, "taken") // by the kernel
			p.wrote(n)
			written += int64(n)
			if due := int64(float64(spec.Rate) / 8 * (now + 1).Seconds()); written > due+spec.burst()+1 {
				t.Fatalf("%d bytes after %v, want up to %d and a burst of %d", written, now, due, spec.burst())
			}
		}
	})
}

func TestNoPacer(t *testing.T) {
	p := newPacer(Spec{})
	p.wrote(1 << 30)
	if n, wait := p.allow(100, 0); n != 100 || wait != 0 {
		t.Errorf("%d bytes, wait %v", n, wait)
	}
}

func TestRate(t *testing.T) {
	for name, spec := range map[string]Spec{
		"a block at a time": {Rate: 40 * unit.Mbps, Length: 10_000},
		"in bursts":         {Rate: 40 * unit.Mbps, Length: 1000, Burst: 20, Omit: 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec.Direction, spec.Streams, spec.Duration = Both, 2, time.Second
			client, server := transferOver(t, spec)
			if client.err != nil || server.err != nil {
				t.Fatalf("client: %v, server: %v", client.err, server.err)
			}
			result := Result{Spec: spec, Client: client.End, Server: server.End}
			for _, d := range spec.Directions() {
				// Never more than the rate and a burst. TestPacer shows that it is not
				// less either, for a thread that has its turn.
				for _, s := range result.Senders(d) {
					if most := int64(spec.Rate.BytesIn(s.Began+s.Elapsed)) + spec.burst(); s.Omitted+s.Bytes > most {
						t.Errorf("%s: stream %d sent %d+%d bytes in %v+%v, want up to %d", d, s.ID, s.Omitted, s.Bytes, s.Began, s.Elapsed, most)
					}
				}
				if got := result.Goodput(d); got < spec.Rate {
					t.Errorf("%s: %v, want %v for each of two streams", d, got, spec.Rate)
				}
			}
		})
	}
}

// A rate so low that a pause is longer than the patience with a silent peer,
// and than the transfer: the sender notices all the same that it is over.
func TestLowRate(t *testing.T) {
	t.Parallel()
	spec := Spec{Direction: Forward, Streams: 1, Duration: 700 * time.Millisecond, Rate: 1000}
	a, b := connect(t, spec)
	started := time.Now()
	server := start(t.Context(), spec, b, 100*time.Millisecond)
	client := wait(t, start(t.Context(), spec, a, 100*time.Millisecond))
	far := wait(t, server)
	if client.err != nil || far.err != nil {
		t.Errorf("client: %v, server: %v", client.err, far.err)
	}
	if got := far.Streams[0].Bytes; got != DefaultLength {
		t.Errorf("%d bytes came, want one block", got)
	}
	if took := time.Since(started); took > 10*time.Second { // a pause is 17 minutes
		t.Errorf("it took %v", took)
	}
}
