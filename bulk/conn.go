package bulk

import (
	"net"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Conn is one connected stream handed to the engine.
type Conn struct {
	ID     int          // the same at both ends
	Sender bool         // this end sends on it
	Server bool         // this is the server's end: the far one dialled
	TCP    *net.TCPConn // Run and Start take it over, and close it
	UDP    *net.UDPConn // instead of TCP: a connected socket; see bulk/datagram
}

// local is the address of this end.
func (c Conn) local() net.Addr {
	if c.UDP != nil {
		return c.UDP.LocalAddr()
	}
	return c.TCP.LocalAddr()
}

// Progress is how far a transfer is, for showing it while it runs.
type Progress struct {
	At       time.Duration // since Run began
	Omitting bool          // no stream has passed Spec.Omit yet
	Sent     int64         // bytes the application has written so far
	Received int64         // bytes the application has read so far
	SendRate unit.Rate     // over the last interval: bytes acknowledged
	RecvRate unit.Rate     // over the last interval: bytes the application read
	Rate     unit.Rate     // both together: of a one-way transfer, its rate
	Streams  []Look        // the latest of every stream, in the order of conns
}

// Look is one stream's latest sample.
type Look struct {
	ID     int
	Sender bool   // this end sends
	Local  string // address:port
	Remote string // address:port
	Sample
}
