package record

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
)

// audience keeps what a relay's observer is told.
type audience struct {
	mu   sync.Mutex
	seen []Message
}

func (a *audience) observe(_ string, m Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, m)
}

// heard is what came, a word each, with how many points there were.
func (a *audience) heard() (words string, points int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.seen {
		switch {
		case m.Begin != nil:
			words += " begin:" + m.Begin.Scenario
		case m.Event != nil:
			words += " " + m.Event.Text
		case m.Transfer != nil:
			words += " transfer"
		case m.Host != nil:
			words += " host"
		case m.End != nil:
			words += " end:" + string(m.End.State)
		case m.Progress != nil:
			points++
		}
	}
	return strings.TrimSpace(words), points
}

// watchedRelay is one whose audience is told what goes on.
func watchedRelay(t *testing.T, place string) (*Relay, *audience) {
	t.Helper()
	a := &audience{}
	r, err := NewRelay(place, nil, a.observe)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r, a
}

// look is what the engine tells of a transfer with so many streams, after so long.
func look(at time.Duration, streams int) bulk.Progress {
	p := bulk.Progress{At: at}
	for i := range streams {
		acked := uint64(at.Milliseconds()) * 125_000 // 1 Gb/s
		p.Streams = append(p.Streams, bulk.Look{ID: i + 1, Sender: true, Sample: bulk.Sample{At: at, Bytes: int64(acked) + 1<<20, TCP: bulk.TCPInfo{
			Length: 280, RTT: 150_000, SndCwnd: 1000, SndMSS: 1448, Unacked: 900, SndWnd: math.MaxUint32, RcvWnd: 65536, TotalRetrans: 7, BytesAcked: acked,
		}}})
	}
	return p
}

// someRun records a run of two steps with a second of looks between them.
func someRun(t *testing.T, place string) (id string, err error) {
	t.Helper()
	r := Start(place, Header{Kind: Tune, From: "a", To: "b"})
	r.Event(Phase, "measure")
	for at := 100 * time.Millisecond; at <= time.Second; at += 100 * time.Millisecond {
		r.Progress(look(at, 2))
	}
	r.Transfer(time.Now(), aTransfer("measure"))
	r.Event(Result, "fast")
	return r.ID(), r.End(Outcome{State: Done, Goodput: 5})
}

// Whoever watches a relay is told all of a run in its order, with some four points of progress
// a second; the run is kept without those.
func TestWatched(t *testing.T) {
	onBoth(t, func(t *testing.T, place string) {
		relay, audience := watchedRelay(t, place)
		id, err := someRun(t, relay.Place())
		if err != nil {
			t.Fatal(err)
		}
		words, points := audience.heard()
		if want := "begin: measure transfer fast end:done"; words != want || points != 4 {
			t.Errorf("%q with %d points, want %q with 4", words, points, want)
		}
		run, err := opened(t, place).Load(t.Context(), id)
		if err != nil || run.State != Done || len(run.Events) != 2 || len(run.Transfers) != 1 {
			t.Errorf("%+v, %v", run, err)
		}
	})
}

// A run in the lab that a page started goes from the relay of the lab's process to the page's: that
// one sees what the first knew better, and all of the run is kept.
func TestWatchedThroughARelay(t *testing.T) {
	place := filepath.Join(t.TempDir(), "record.db")
	page, audience := watchedRelay(t, place)
	id, err := someRun(t, relayTo(t, page.Place()).Place())
	if err != nil {
		t.Fatal(err)
	}
	words, points := audience.heard()
	if want := "begin:lan measure transfer fast end:done"; words != want || points != 4 {
		t.Errorf("%q with %d points, want %q with 4", words, points, want)
	}
	run, err := opened(t, place).Load(t.Context(), id)
	if err != nil || run.State != Done || run.Scenario != "lan" || len(run.Transfers[0].Result.Client.Streams[0].Samples) != 50 {
		t.Errorf("%+v, %v", run, err)
	}
}

// What a relay cannot keep, or is not to keep, is watched to its end all the same.
func TestWatchedOnly(t *testing.T) {
	for _, c := range []struct{ place, fails string }{
		{Nowhere, ""},
		{"/proc/nothing/record.db", "open the record"},
	} {
		relay, audience := watchedRelay(t, c.place)
		_, err := someRun(t, relay.Place())
		if text := fmt.Sprint(err); (err != nil) != (c.fails != "") || !strings.Contains(text, c.fails) && err != nil {
			t.Errorf("%s: %v", c.place, err)
		}
		if words, points := audience.heard(); words != "begin: measure transfer fast end:done" || points != 4 {
			t.Errorf("%s: %q with %d points", c.place, words, points)
		}
	}
}

// A process that dies is seen to be interrupted, behind a relay of its own too.
func TestWatchedDeath(t *testing.T) {
	page, audience := watchedRelay(t, Nowhere)
	between := relayTo(t, page.Place())
	dying, err := dialRelay(t.Context(), between.Place(), Header{ID: NewID(), State: Running})
	if err != nil {
		t.Fatal(err)
	}
	if err := dying.conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := dying.close(); err == nil {
		t.Error("nothing is said of a run without an end")
	}
	if words, _ := audience.heard(); words != "begin:lan end:interrupted" {
		t.Error(words)
	}
}

// Progress costs nothing where nobody watches: not in a file, nor through a relay that
// only keeps.
func TestUnwatchedProgress(t *testing.T) {
	place := filepath.Join(t.TempDir(), "record.db")
	for _, place := range []string{place, relayTo(t, place).Place(), relayTo(t, Nowhere).Place()} {
		r := Start(place, Header{Kind: Test})
		p := look(time.Second, 8)
		if n := testing.AllocsPerRun(100, func() { r.Progress(p); p.At += time.Second }); n != 0 || len(r.messages) != 0 {
			t.Errorf("%s: %v allocations a look, %d messages", place, n, len(r.messages))
		}
		if err := r.End(Outcome{State: Done}); err != nil {
			t.Error(err)
		}
	}
}

// Points go first where messages wait: the other half of the queue is for what must be kept.
func TestPointsAreSpared(t *testing.T) {
	r := &Recorder{began: time.Now(), messages: make(chan Message, waiting), watched: &watching{}} // nobody empties it
	for i := range 4 * waiting {
		r.Progress(look(time.Duration(i)*time.Second, 1))
	}
	for range waiting/2 - 1 {
		r.Event(Result, "a step")
	}
	if r.lost > 0 || len(r.messages) != waiting {
		t.Errorf("%d lost, %d of %d wait", r.lost, len(r.messages), waiting)
	}
}

// The rates of all points, each times the time since the one before, add up to what was moved, in every
// transfer anew, and never come more often than eyes can follow.
func TestRatesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w watching
		for transfer := range rapid.IntRange(1, 3).Draw(t, "transfers") {
			streams := rapid.IntRange(1, 4).Draw(t, "streams")
			p, added, last := look(0, streams), 0.0, time.Duration(0)
			for range rapid.IntRange(3, 30).Draw(t, "looks") {
				p.At += time.Duration(rapid.IntRange(90, 110).Draw(t, "ms")) * time.Millisecond
				moved := int64(0)
				for i := range p.Streams {
					s := &p.Streams[i]
					s.Sender = i%2 == 0
					s.TCP.BytesAcked += uint64(rapid.IntRange(0, 1e7).Draw(t, "bytes"))
					s.Bytes = int64(s.TCP.BytesAcked)
					moved += s.Bytes
				}
				now, ok := w.look(p, p.At)
				if !ok {
					continue
				}
				if gap := p.At - last; gap < lookEvery && last > 0 {
					t.Fatalf("a point %v after the one before", gap)
				}
				added += float64(now.Sends+now.Receives) / 8 * (p.At - last).Seconds()
				last = p.At
				if math.Abs(added-float64(moved)) > 1 {
					t.Fatalf("transfer %d, after %v: the points add up to %.0f bytes of %d", transfer, p.At, added, moved)
				}
			}
		}
	})
}

// A point is small, however many streams there are: beyond 128 it has their sums.
func TestPointsAreSmall(t *testing.T) {
	for streams, each := range map[int]int{1: 1, MostStreams: MostStreams, MostStreams + 1: 0, bulk.MaxStreams: 0} {
		var w watching
		now, _ := w.look(look(time.Hour, streams), 2*time.Hour)
		text, err := json.Marshal(now)
		if err != nil || len(text) > 32<<10 || len(now.Streams) != each || now.Count != streams {
			t.Errorf("%d streams: %d bytes, %d of them, %v", streams, len(text), len(now.Streams), err)
		}
		if want := 1e9 * float64(streams); math.Abs(float64(now.Sends)-want) > 1 || now.Receives != 0 {
			t.Errorf("%d streams: %v", streams, now.Sends)
		}
	}
}
