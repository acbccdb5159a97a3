package wire

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/unit"
)

// star is three devices around a switch, whose links have that direction.
func star(d Direction) *Fabric {
	f := &Fabric{Routes: make([][][]int, 3)}
	for i, name := range []string{"a", "b", "c"} {
		f.Links = append(f.Links, Link{Name: name + " up", Direction: d}, Link{Name: name + " down", Direction: d})
		f.Devices = append(f.Devices, Device{Name: name, Addresses: []netip.Addr{netip.AddrFrom4([4]byte{198, 18, 0, byte(i + 1)})}})
		for j := range 3 {
			var route []int
			if i != j {
				route = []int{2 * i, 2*j + 1}
			}
			f.Routes[i] = append(f.Routes[i], route)
		}
	}
	return f
}

// sockets are what a network reads and writes in place of devices: the other ends are ours.
func sockets(t *testing.T, count int) (devices []*os.File, ours []int) {
	t.Helper()
	for range count {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		file := os.NewFile(uintptr(fds[0]), "device")
		t.Cleanup(func() { _ = file.Close(); _ = unix.Close(fds[1]) })
		devices, ours = append(devices, file), append(ours, fds[1])
	}
	return devices, ours
}

// comes waits for a packet.
func comes(t *testing.T, fd int) []byte {
	t.Helper()
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, 5000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n != 1 {
			t.Fatalf("no packet comes: %v", err)
		}
		buf := make([]byte, bufferSize)
		size, err := unix.Read(fd, buf)
		if err != nil {
			t.Fatal(err)
		}
		return buf[:size]
	}
}

func to(host byte) []byte {
	b := superPacket{version: 4, payload: []byte{host, 2, 3}}.build()
	b[vnetLen+19] = host
	setIPv4Checksum(b[vnetLen:])
	return b
}

// A packet comes to the device that has its address, as it was sent, once both links' times are over.
func TestNetwork(t *testing.T) {
	const delay = 3 * time.Millisecond
	devices, ours := sockets(t, 3)
	n, err := StartFabric(devices, 1500, star(Direction{Rate: unit.Gbps, Delay: delay}))
	if err != nil {
		t.Fatal(err)
	}
	for from := range 3 {
		for host := range 3 {
			if host == from {
				continue
			}
			began := time.Now()
			sent := to(byte(host + 1))
			if _, err := unix.Write(ours[from], sent); err != nil {
				t.Fatal(err)
			}
			if got := comes(t, ours[host]); !bytes.Equal(got, sent) {
				t.Errorf("from %d to %d came % x", from, host, got)
			}
			if took := time.Since(began); took < 2*delay {
				t.Errorf("from %d to %d in %v, the links take %v", from, host, took, 2*delay)
			}
		}
	}
	for _, nowhere := range [][]byte{to(9), to(1), {1, 2, 3}} { // nobody's, the sender's own, none
		if _, err := unix.Write(ours[0], nowhere); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(5 * time.Second); n.Nowhere() < 3 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		continue
	}
	if n.Nowhere() != 3 {
		t.Errorf("%d packets went nowhere, want 3", n.Nowhere())
	}
	for i, s := range n.Stats() {
		if s.SegmentsIn != 2 || s.SegmentsOut != 2 || s.Waiting != 0 {
			t.Errorf("link %s: %+v", n.fabric.Links[i].Name, s)
		}
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

// A device that is gone ends the network, which says so; what it is not given to begin with is refused.
func TestNetworkEnds(t *testing.T) {
	devices, ours := sockets(t, 3)
	n, err := StartFabric(devices, 1500, star(Direction{Rate: unit.Gbps}))
	if err != nil {
		t.Fatal(err)
	}
	malformed := to(2)
	malformed[vnetGSOType] = gsoTCPv4
	if _, err := unix.Write(ours[0], malformed); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Second); n.Stats()[0].Drops.Malformed == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		continue
	}
	if err := n.Close(); err == nil || !strings.Contains(err.Error(), "link a up: 1 could not be cut") {
		t.Errorf("%v", err)
	}
	if err := n.Close(); err == nil {
		t.Error("the second time it says nothing")
	}
	for want, start := range map[string]func() (*Network, error){
		"MTU 67":                      func() (*Network, error) { return StartFabric(devices, 67, star(Direction{})) },
		"2 devices, the fabric has 3": func() (*Network, error) { return StartFabric(devices[:2], 1500, star(Direction{})) },
		"link a up: jitter":           func() (*Network, error) { return StartFabric(devices, 1500, star(Direction{Jitter: time.Second})) },
	} {
		if _, err := start(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
