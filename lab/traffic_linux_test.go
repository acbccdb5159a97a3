package lab

import (
	"io"
	"net"
	"net/netip"
	"testing"
)

// A flow is one connection for as long as it lasts, not one for each block.
func TestFillKeepsItsConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ended := make(chan struct{})
	go func() {
		fill(netip.MustParseAddrPort(listener.Addr().String()))
		close(ended)
	}()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, conn, 8<<20); err != nil {
		t.Errorf("the flow ended: %v", err)
	}
	conn.Close()
	<-ended // and it ends with its connection
}
