package wire

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is also the two ends of a transfer: plain programs that block in
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
		result, err = receive(os.Args[1])
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

func receive(address string) (*received, error) {
	family, sa, err := endpoint(address)
	if err != nil {
		return nil, err
	}
	l, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
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
	buf := make([]byte, blockSize)
	for began := time.Now(); ; {
		n, err := unix.Read(fd, buf)
		if err != nil && err != unix.EINTR {
			return nil, err
		}
		if n == 0 && err == nil {
			got.Elapsed = time.Since(began)
			return got, nil
		}
		got.Bytes += int64(max(n, 0))
	}
}

// senderInfo is part of the sender's TCP_INFO at the end.
type senderInfo struct {
	Options, SndMSS      int
	SndWScale, RcvWScale int
	Segments, Retrans    int
	Reordering           int
	DeliveredCE          int
	DSACKs, ReordSeen    int
	RTTMicros, MinRTT    int
	CongestionAlgorithm  string
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
	block := make([]byte, blockSize)
	for began := time.Now(); time.Since(began) < d; {
		if _, err := unix.Write(fd, block); err != nil && err != unix.EINTR {
			return nil, err
		}
	}
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return nil, err
	}
	algorithm, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	return &senderInfo{
		Options: int(info.Options), SndMSS: int(info.Snd_mss),
		Segments: int(info.Segs_out), Retrans: int(info.Total_retrans), Reordering: int(info.Reordering),
		DeliveredCE: int(info.Delivered_ce), DSACKs: int(info.Dsack_dups), ReordSeen: int(info.Reord_seen),
		RTTMicros: int(info.Rtt), MinRTT: int(info.Min_rtt), CongestionAlgorithm: algorithm,
	}, err
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
