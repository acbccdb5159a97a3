package bulk

import (
	"errors"
	"io"
	"testing"
	"time"
)

// What a thread has read and not yet counted has come all the same: a server
// that stopped then would tell of fewer bytes than the client sent.
func TestBehind(t *testing.T) {
	a, b := connect(t, Spec{Direction: Reverse, Streams: 1})
	defer b[0].TCP.Close()
	conn := a[0]
	if _, err := b[0].TCP.Write(make([]byte, 100)); err != nil { // before the transfer: read by its caller
		t.Fatal(err)
	}
	if _, err := conn.TCP.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	sock, err := newSocket(conn.TCP, Patience, false)
	if err != nil {
		t.Fatal(err)
	}
	defer sock.close()
	var w window
	s := &stream{Conn: conn, sock: sock, meter: meter{window: &w}}
	s.before = s.taken()
	if s.isBehind() {
		t.Error("behind before anything came")
	}
	if _, err := b[0].TCP.Write(make([]byte, 300)); err != nil {
		t.Fatal(err)
	}
	if !s.isBehind() {
		t.Error("not behind with bytes unread")
	}
	n, err := sock.read(make([]byte, 1000))
	if err != nil || n != 300 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if !s.isBehind() {
		t.Error("not behind with bytes that are read and not counted")
	}
	s.meter.count(n, time.Second)
	if s.isBehind() {
		t.Error("behind with all counted")
	}
	b[0].TCP.Close()
	if _, err := sock.read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("the end of the data: %v", err)
	}
	if s.isBehind() {
		t.Error("behind with the end of the data")
	}
}
