package lab

import (
	"testing"
	"time"
)

// TestRequest: the checksum of an echo request is that of RFC 1071: with it, all sixteen
// bit words come to all ones.
func TestRequest(t *testing.T) {
	for _, number := range []uint16{0, 1, 255, 256, 0xf7ff, 0xffff} {
		var sum uint32
		b := request(number)
		for i := 0; i < len(b); i += 2 {
			sum += uint32(b[i])<<8 | uint32(b[i+1])
		}
		for sum > 0xffff {
			sum = sum>>16 + sum&0xffff
		}
		if sum != 0xffff || len(b) != echoSize {
			t.Errorf("request %d: %d bytes whose sum is %#x", number, len(b), sum)
		}
	}
}

// TestIntegrationEcho: a host's echoes take as long as the path's delay, at least; what is
// taken off it for the hosts' own time is bounded, and nothing is on a long path, or
// where the peer answers no echoes.
func TestIntegrationEcho(t *testing.T) {
	for _, test := range []struct {
		delay, sysctl string
		answers       bool
	}{{"75us", "", true}, {"20ms", "", true}, {"75us", "sysctl: {net.ipv4.icmp_echo_ignore_all: 1}", false}} {
		s, err := Parse("echo.yaml", []byte("name: echo\npath:\n  a_to_b: {rate: 1gbit, delay: "+test.delay+"}\nhosts:\n  b: {"+test.sysctl+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		l := start(t, s)
		asked, err := time.ParseDuration(test.delay)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := l.hosts[0].echo()
		if err != nil {
			t.Fatal(err)
		}
		if len(seen) != map[bool]int{true: echoes}[test.answers] {
			t.Errorf("%d echoes of %d came back on a path of 2 x %s (%s)", len(seen), echoes, test.delay, test.sysctl)
		}
		if test.answers && seen[0] < 2*asked-l.own {
			t.Errorf("an echo over 2 x %s took %v", test.delay, seen[0])
		}
		if long := 2*asked > shortPath; l.own < 0 || l.own > mostOwn || (long || !test.answers) && l.own != 0 {
			t.Errorf("%v were taken off 2 x %s (%s)", l.own, test.delay, test.sysctl)
		}
	}
}
