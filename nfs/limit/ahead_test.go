package limit

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/unit"
)

// A program that reads in order gets what is read ahead of it in the time of one request, and
// by reading further ahead as much as the next limit lets through: the window, the path, or
// what clients are made to read ahead at most.
func TestReadAhead(t *testing.T) {
	ahead := 128 * unit.KiB
	inOrder := func(change func(*Evidence)) *Evidence {
		const takes = 10 * time.Millisecond
		e := &Evidence{
			Connections: 1, Depth: 2, Size: ahead, ReadAhead: &ahead,
			Idle: Beside{Handshake: takes, Null: takes}, Loaded: Beside{Handshake: takes, Null: takes},
			Again: Look{IOPS: 100, Mean: takes}, Alone: Look{IOPS: 100, Mean: takes}, Now: Look{IOPS: 200, Mean: takes}, More: Look{IOPS: 400, Mean: takes},
		}
		change(e)
		return e
	}
	for name, test := range map[string]struct {
		change    func(*Evidence)
		cause     string
		predicted float64
		says      string
	}{
		"alone":            {func(*Evidence) {}, ReadAhead, 2 * 15000.0 / 128 / 0.010, "read_ahead_kb of the mount's device at 16384"},
		"until the window": {func(e *Evidence) { e.Now.Window, e.Now.RTT = unit.MiB, 10*time.Millisecond }, ReadAhead, 800, "read_ahead_kb of the mount's device at 512"},
		"until the path":   {func(e *Evidence) { e.Path = 1024 * 128 * 8 * 1000 }, ReadAhead, 1000, "read_ahead_kb of the mount's device at 1024"},
		"none": {func(e *Evidence) {
			none := unit.Size(0)
			e.ReadAhead, e.Depth, e.Size, e.Now.IOPS, e.More.IOPS = &none, 1, 4*unit.KiB, 100, 200
			e.Path = 100 * unit.Mbps
		}, ReadAhead, 100e6 / 8 / 4096, "read_ahead_kb of the mount's device at 64"},
		"the server's slots": {func(e *Evidence) { e.Slots, e.More = 2, Look{} }, Slots, 400, "more slots"},
	} {
		found := Diagnose(inOrder(test.change))
		if len(found) == 0 || found[0].Cause != test.cause || !strings.Contains(found[0].Action, test.says) {
			t.Errorf("%s: %+v", name, found)
			continue
		}
		if p := found[0].Predicted; p < 0.999*test.predicted || p > 1.001*test.predicted {
			t.Errorf("%s: predicted %.1f a second, want %.1f", name, p, test.predicted)
		}
	}
}

// So much read-ahead is enough for a rate, half of it would not be, and it is never less than
// what there is.
func TestReadAheadFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := unit.Size(rapid.IntRange(0, 8<<10).Draw(t, "now")) * unit.KiB
		takes := time.Duration(rapid.Int64Range(1e4, 1e9).Draw(t, "takes"))
		rate := rapid.Float64Range(1e3, 1e10).Draw(t, "bytes")
		got := ReadAheadFor(rate, takes, now)
		need := min(rate*takes.Seconds()/2, 15000<<10)
		if float64(got) < need || got < 2*now || float64(got) >= max(2*need+float64(unit.KiB), float64(2*now)+1) {
			t.Fatalf("%v for %.3g bytes a second of %v, at %v: need %.0f", got, rate, takes, now, need)
		}
	})
}
