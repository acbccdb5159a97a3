//go:build !unix

package iperf3

import (
	"errors"
	"net"
)

// bufferSize is what a socket's buffer really has, in bytes.
func bufferSize(*net.TCPConn, bool) (int, error) { return 0, errors.ErrUnsupported }
