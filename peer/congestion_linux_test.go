package peer

import (
	"strings"
	"testing"

	"github.com/fullbore/fullbore/bulk"
)

// Congestion control is the sender's: who only receives need not have it.
func TestCongestionControlIsTheSenders(t *testing.T) {
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	client := far.dial(t, "")
	for direction, says := range map[bulk.Direction]string{
		bulk.Forward: "connect streams", // this end refuses
		bulk.Reverse: "TCP_CONGESTION",
	} {
		spec := short(direction, 1)
		spec.Congest = "nosuch"
		_, err := client.Transfer(within(t, generous), spec, nil)
		if err == nil || !strings.Contains(err.Error(), says) || direction == bulk.Reverse && strings.Contains(err.Error(), "connect") {
			t.Errorf("%s: got %v, want an error with %q", direction, err, says)
		}
	}
}
