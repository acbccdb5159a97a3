package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is also the two ends of a transfer: simple programs that block in
// read and write.
const (
	roleVariable = "WIRE_TEST_ROLE"
	port         = 5201
	blockSize    = 128 << 10
)

func TestMain(m *testing.M) {
	var result any
	var err error
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "receive":
		result, err = receive(os.Args[1], os.Args[2] == "check")
	case "send":
		result, err = send(os.Args[1], os.Args[2])
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, os.Getenv(roleVariable), err)
		os.Exit(1)
	}
}

func endpoint(address string) (family int, sa unix.Sockaddr, err error) {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return 0, nil, err
	}
	if addr.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: addr.As4()}, nil
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: port, Addr: addr.As16()}, nil
}

func receive(address string, check bool) (*received, error) {
	family, sa, err := endpoint(address)
	if err != nil {
		return nil, err
	}
	l, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	// The end of the transfer before may still be on its way.
	if err := unix.SetsockoptInt(l, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return nil, err
	}
	if err := unix.Bind(l, sa); err != nil {
		return nil, err
	}
	if err := unix.Listen(l, 1); err != nil {
		return nil, err
	}
	fd, _, err := unix.Accept(l)
	if err != nil {
		return nil, err
	}
	got := &received{}
	buf, want := make([]byte, blockSize), pattern()
	for began := time.Now(); ; {
		n, err := unix.Read(fd, buf)
		if n == 0 && err == nil || err == unix.ECONNRESET {
			got.Elapsed = time.Since(began)
			return got, nil
		}
		if err != nil && err != unix.EINTR {
			return nil, err
		}
		for b := buf[:max(n, 0)]; len(b) > 0; {
			n := min(len(b), len(want)-int(got.Bytes%blockSize))
			if from := got.Bytes % blockSize; check && !bytes.Equal(b[:n], want[from:from+int64(n)]) {
				return nil, fmt.Errorf("the %d bytes behind the first %d are not what was sent", n, got.Bytes)
			}
			b, got.Bytes = b[n:], got.Bytes+int64(n)
		}
	}
}

// pattern is the block that is sent over and over.
func pattern() []byte {
	block := make([]byte, blockSize)
	rand.NewChaCha8([32]byte{}).Read(block) // never fails
	return block
}

// senderInfo is part of the sender's TCP_INFO at the end.
type senderInfo struct {
	Options, SndMSS int
	Retransmits     int
	DeliveredCE     int
	DSACKs          int
	Reordered       int
	MinRTT          time.Duration
	Congestion      string
}

func send(address, duration string) (*senderInfo, error) {
	d, err := time.ParseDuration(duration)
	if err != nil {
		return nil, err
	}
	family, sa, err := endpoint(address)
	if err != nil {
		return nil, err
	}
	fd, err := connect(family, sa)
	if err != nil {
		return nil, err
	}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Usec: 100_000}); err != nil {
		return nil, err
	}
	block := pattern()
	rest := block
	for began := time.Now(); time.Since(began) < d; {
		n, err := unix.Write(fd, rest)
		if err != nil && err != unix.EINTR && err != unix.EAGAIN {
			return nil, err
		}
		if rest = rest[max(n, 0):]; len(rest) == 0 {
			rest = block
		}
	}
	if err := drain(fd); err != nil {
		return nil, err
	}
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return nil, err
	}
	algorithm, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	return &senderInfo{
		Options: int(info.Options), SndMSS: int(info.Snd_mss), Retransmits: int(info.Total_retrans),
		DeliveredCE: int(info.Delivered_ce), DSACKs: int(info.Dsack_dups), Reordered: int(info.Reord_seen),
		MinRTT: time.Duration(info.Min_rtt) * time.Microsecond, Congestion: algorithm,
	}, err
}

// drain waits until all is acknowledged. Where nothing gets through any more, it
// makes the end of the program reset the connection, so that the receiver ends too.
func drain(fd int) error {
	for range 100 {
		if n, err := unix.IoctlGetInt(fd, unix.TIOCOUTQ); n == 0 || err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// connect tries until the receiver listens.
func connect(family int, sa unix.Sockaddr) (fd int, err error) {
	for range 500 {
		if fd, err = unix.Socket(family, unix.SOCK_STREAM, 0); err != nil {
			return -1, err
		}
		if err = unix.Connect(fd, sa); err == nil {
			return fd, nil
		}
		unix.Close(fd)
		time.Sleep(10 * time.Millisecond)
	}
	return -1, err
}
