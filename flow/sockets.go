package flow

import (
	"net/netip"

	"github.com/fullbore/fullbore/bulk"
)

// Socket is an open TCP connection of this host as its kernel reports it.
type Socket struct {
	Local, Remote netip.AddrPort
	TCP           bulk.TCPInfo
}
