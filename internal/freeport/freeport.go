// Package freeport gives tests ports that programs of other people may listen on.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// The kernel gives connections ports of their own from 32768 up
// (net.ipv4.ip_local_port_range). One of those that was free a moment ago may be
// taken when a server asks for it, for good or, as iperf3 does for UDP, once more
// for every test. So these lie below.
const (
	lowest  = 20000
	highest = 32000
)

var (
	mu   sync.Mutex
	next = lowest + rand.IntN(highest-lowest) // another test binary is elsewhere
)

// Find gives a port that nobody listens on over TCP or UDP, IPv4 or IPv6, and that no
// other test of this process gets soon.
func Find(t testing.TB) string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	for range highest - lowest {
		number := next
		if next++; next == highest {
			next = lowest
		}
		if unused(number) {
			return strconv.Itoa(number)
		}
	}
	t.Fatalf("no port from %d to %d is free", lowest, highest)
	return ""
}

func unused(number int) bool {
	// A process that is being started has this one's sockets until it runs its own program: on a busy
	// machine so long that who is given the port finds it taken.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	address := fmt.Sprintf(":%d", number)
	stream, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	defer stream.Close()
	packets, err := net.ListenPacket("udp", address)
	if err != nil {
		return false
	}
	return packets.Close() == nil
}
