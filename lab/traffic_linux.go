package lab

import (
	"fmt"
	"net"
	"net/netip"
	"time"
)

// sinkPort is where competing traffic goes: discard (RFC 863).
const sinkPort = 9

// redial is how long a competing flow waits before it tries again, should its
// connection fail.
const redial = time.Second

// listenSink takes in competing traffic for as long as the host lives.
func listenSink() error {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{Port: sinkPort})
	if err != nil {
		return fmt.Errorf("listen for competing traffic: %w", err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go discard(conn)
		}
	}()
	return nil
}

func discard(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	buffer := make([]byte, 256<<10)
	for {
		if _, err := conn.Read(buffer); err != nil {
			return
		}
	}
}

// send starts the flows to the peer's sink; they last as long as the host.
func (t Traffic) send(to netip.Addr) {
	time.Sleep(t.Start)
	for range t.Flows {
		go func() {
			for {
				fill(netip.AddrPortFrom(to, sinkPort))
				time.Sleep(redial)
			}
		}()
	}
}

// fill sends until the connection fails.
func fill(to netip.AddrPort) {
	conn, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(to))
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	buffer := make([]byte, 256<<10)
	for {
		if _, err := conn.Write(buffer); err != nil {
			return
		}
	}
}
