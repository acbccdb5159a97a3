package path

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"
)

// pinged is what a ping of to comes to in a while.
func pinged(t *testing.T, to netip.AddrPort, while time.Duration) []Pong {
	t.Helper()
	p := StartPing(t.Context(), to)
	select {
	case <-p.Burst():
	case <-time.After(5 * time.Second):
		t.Fatal("the burst has no end")
	}
	time.Sleep(while)
	return p.Stop()
}

func TestPing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	to := listener.Addr().(*net.TCPAddr).AddrPort()

	began := time.Now()
	pongs := pinged(t, to, 3*PingEvery)
	if len(pongs) <= burst {
		t.Errorf("%d handshakes: nothing came after the burst of %d", len(pongs), burst)
	}
	for _, pong := range pongs {
		if pong.RTT <= 0 || pong.RTT > time.Second || pong.At.Before(began) || pong.At.After(time.Now()) {
			t.Errorf("%+v", pong)
		}
	}

	// A port where nothing listens answers as well.
	listener.Close()
	if pongs := pinged(t, to, 0); len(pongs) != burst {
		t.Errorf("%d of %d refusals", len(pongs), burst)
	}
}

// It ends at once with its context, however silent the far end.
func TestPingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := StartPing(ctx, netip.MustParseAddrPort("127.0.0.1:9"))
	ended := make(chan struct{})
	go func() { p.Stop(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatal("it did not end")
	}
}
