package host

import (
	"net"
	"testing"
)

func TestCountersCount(t *testing.T) {
	before, err := Counters()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	after, err := Counters()
	if err != nil {
		t.Fatal(err)
	}
	if changes := Delta(before, after); changes["Tcp.ActiveOpens"] < 1 || changes["IpExt.InOctets"] < 1 {
		t.Errorf("one connection more changed %v", changes)
	}
	if _, ok := after["TcpExt.TCPTimeouts"]; !ok {
		t.Error("there is no TcpExt.TCPTimeouts")
	}
}

// In a new namespace nothing has happened yet, whatever the process' others
// have seen.
func TestIntegrationCountersOfTheThreadsNamespace(t *testing.T) {
	inNamespace(t, func() {
		counters, err := Counters()
		if err != nil {
			t.Fatal(err)
		}
		if n := counters["Tcp.OutSegs"]; n != 0 {
			t.Errorf("%d segments were sent from a new namespace", n)
		}
	})
}
