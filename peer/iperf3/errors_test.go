package iperf3

import (
	"runtime"
	"testing"
)

func TestRemoteError(t *testing.T) {
	reset := ", errno: connection reset by peer"
	if runtime.GOOS != "linux" {
		reset = ", errno: 104"
	}
	for e, want := range map[RemoteError]string{
		{IEAuthTest, 0}:     "SERVER ERROR - test authorization failed",
		{IEDuration, 0}:     "SERVER ERROR - test duration valid values are 0 to 86400 seconds",
		{IEStreamRead, 104}: "SERVER ERROR - unable to read from stream socket" + reset,
		{IEStreamRead, -1}:  "SERVER ERROR - unable to read from stream socket",
		{999, 0}:            "SERVER ERROR - iperf3 error 999",
		{-1, 0}:             "SERVER ERROR - iperf3 error -1",
	} {
		if got := e.Error(); got != want {
			t.Errorf("%d, %d: %q, want %q", e.Number, e.Errno, got, want)
		}
	}
}
