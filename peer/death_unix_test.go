//go:build unix

package peer

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

func TestKilledFarEnd(t *testing.T) {
	t.Parallel()
	for _, d := range []bulk.Direction{bulk.Forward, bulk.Reverse} {
		t.Run(string(d), func(t *testing.T) { testDeath(t, d, syscall.SIGKILL) })
	}
}

// A stopped process keeps its connections and acknowledges, but never answers:
// as a host that hangs does.
func TestVanishedFarEnd(t *testing.T) {
	t.Parallel()
	for _, d := range []bulk.Direction{bulk.Forward, bulk.Reverse} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			testDeath(t, d, syscall.SIGSTOP)
		})
	}
}

func testDeath(t *testing.T, d bulk.Direction, signal os.Signal) {
	address, process := startProcess(t)
	client, err := Dial(within(t, generous), address, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	var died time.Time
	spec := bulk.Spec{Direction: d, Streams: 1, Duration: 30 * time.Second}
	result, err := client.Transfer(within(t, generous), spec, func(p bulk.Progress) {
		if died.IsZero() && moved(p) > 0 && p.At > 500*time.Millisecond {
			died = time.Now()
			_ = process.Signal(signal)
		}
	})
	wantKind(t, err, ErrLost, address, "went away")
	t.Logf("%v after its death: %v", time.Since(died).Round(time.Millisecond), err)
	if took := time.Since(died); took > 10*time.Second {
		t.Errorf("noticed after %v", took)
	}
	if len(result.Client.Streams) != 1 || result.Client.Streams[0].Bytes == 0 || len(result.Client.Streams[0].Samples) == 0 {
		t.Errorf("what was measured is not kept: %d streams", len(result.Client.Streams))
	}
	if result.Client.Error == "" {
		t.Error("the result does not say that it is partial")
	}
}
