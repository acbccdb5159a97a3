package transcript

import (
	"fmt"
	"testing"
	"time"
)

func TestAwait(t *testing.T) {
	var log Log
	go func() {
		for i := range 3 {
			time.Sleep(20 * time.Millisecond)
			fmt.Fprintf(&log, "line %d\n", i)
		}
	}()
	log.Await(t, "line 2\n")
	if got, want := log.String(), "line 0\nline 1\nline 2\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
