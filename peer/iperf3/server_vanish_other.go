//go:build !linux

package iperf3

import (
	"net"
	"time"
)

// setUserTimeout does nothing where there is no such option: what is
// unacknowledged is repeated for as long as the system does so.
func setUserTimeout(*net.TCPConn, time.Duration) error { return nil }
