package iperf3

import (
	"net"
	"strconv"
)

// target is the server as the caller named it.
type target struct {
	host string // name or address, without brackets
	port uint16
}

// String is how a person would write it.
func (t target) String() string { return net.JoinHostPort(t.host, strconv.Itoa(int(t.port))) }
