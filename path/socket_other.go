//go:build !linux

package path

import (
	"net"
	"net/netip"
	"time"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// canDontFragment: nothing is known here of the way to set DF, so that the
// path MTU cannot be probed.
const canDontFragment = false

func prepare(conn *net.UDPConn) error { return conn.SetReadBuffer(maxTrainBytes) }

// reader reads datagrams. Their time of arrival is when this process saw them,
// which makes dispersions of fast paths less certain.
type reader struct {
	conn   *net.UDPConn
	buffer []byte
}

func newReader(conn *net.UDPConn) *reader {
	return &reader{conn: conn, buffer: make([]byte, maxPacket)}
}

func (r *reader) read(handle func(datagram)) error {
	n, from, err := r.conn.ReadFromUDPAddrPort(r.buffer)
	if err != nil {
		return err
	}
	handle(datagram{from: from, at: time.Duration(time.Now().UnixNano()), size: n, head: r.buffer[:min(n, headerSize)]})
	return nil
}

// sendTrain sends datagrams of equal size one by one. Waits for room cannot be
// distinguished from sending here, so that a slow first hop looks like a slow sender and
// only a lower bound comes out.
func sendTrain(conn *net.UDPConn, to netip.AddrPort, datagrams []byte, size int) (busy time.Duration, err error) {
	start := time.Now()
	for ; len(datagrams) > 0 && err == nil; datagrams = datagrams[min(size, len(datagrams)):] {
		if to.IsValid() {
			_, err = conn.WriteToUDPAddrPort(datagrams[:min(size, len(datagrams))], to)
		} else {
			_, err = conn.Write(datagrams[:min(size, len(datagrams))])
		}
	}
	return time.Since(start), err
}

func kernelMTU(*net.UDPConn) (int, error) { return 0, host.ErrUnsupported }

func linkSpeed(string) unit.Rate { return 0 }
