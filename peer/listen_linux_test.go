package peer

import (
	"net"
	"os"
	"strconv"
	"testing"

	"github.com/fullbore/fullbore/internal/cable"
)

// Where any port will do, one that somebody has for UDP is left, and another taken. One that was asked for is taken or not.
func TestIntegrationListenWhereUDPIsTaken(t *testing.T) {
	cable.ForTest(t, cable.Spec{})
	const first, last, each = 40_000, 40_127, 6 // two of six: with an even number, and with an odd one, which Linux looks at first
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte(strconv.Itoa(first)+" "+strconv.Itoa(last)), 0); err != nil {
		t.Fatal(err)
	}
	for port := first; port < last; port += each {
		for _, p := range []int{port, port + 1} {
			taken, err := net.ListenPacket("udp", net.JoinHostPort("198.18.0.1", strconv.Itoa(p)))
			if err != nil {
				t.Fatal(err)
			}
			defer taken.Close()
		}
	}
	for range 12 { // by the first port that comes, one in a hundred such dozens would be free of those
		listener, packets, err := Listen(t.Context(), "198.18.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		defer packets.Close()
		if a, b := listener.Addr().String(), packets.LocalAddr().String(); a != b {
			t.Errorf("TCP is on %s, and UDP on %s", a, b)
		}
	}
	if _, _, err := Listen(t.Context(), net.JoinHostPort("198.18.0.1", strconv.Itoa(first))); err == nil {
		t.Error("a port that somebody has was taken")
	}
}
