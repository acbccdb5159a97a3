package iperf3

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/internal/cable"
)

// The client's host vanishes without a word: its place is free within seconds,
// whoever was sending.
func TestIntegrationClientVanishes(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("iperf3")
	if err != nil {
		t.Skip("iperf3 is not installed")
	}
	for _, direction := range []string{"", "-R", "--bidir"} {
		t.Run("client"+direction, func(t *testing.T) {
			t.Parallel()
			c := cable.ForTest(t, cable.Spec{})
			s := startServer(t, ServerConfig{Limits: ServerLimits{Time: time.Minute, Streams: 8}})
			client := exec.Command(program, strings.Fields("-c 198.18.0.1 -t 30 -P 2 -b 1M -p "+s.port+" "+direction)...)
			if err := c.Far.Do(client.Start); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = client.Process.Kill()
				_ = client.Wait()
			}()
			for end := time.Now().Add(5 * time.Second); s.places.Load() == 0 && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(500 * time.Millisecond) // data flows
			if err := c.Pull(); err != nil {
				t.Fatal(err)
			}
			pulled := time.Now()
			s.log.Await(t, "transfer ended early")
			if took := time.Since(pulled); took > 8*time.Second {
				t.Errorf("that took %v", took)
			}
		})
	}
}
