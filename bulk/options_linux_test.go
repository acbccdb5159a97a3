package bulk

import (
	"context"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// What a spec asks for is what the kernel then says of the connections.
func TestOptions(t *testing.T) {
	const small = 64 << 10 // below any host's rmem_max and wmem_max
	spec := Spec{
		Direction: Both, Streams: 1, Duration: 300 * time.Millisecond, Interval: 20 * time.Millisecond,
		SendBuf: small, RecvBuf: small, MSS: 1000, Congest: "reno", Pace: 80 * unit.Mbps, NoDelay: true,
	}
	a, b := connect(t, spec)
	for _, conn := range append(slices.Clip(a), b...) {
		raw, err := conn.TCP.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		err = raw.Control(func(fd uintptr) {
			if n, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NODELAY); err != nil || n == 0 {
				t.Errorf("stream %d: TCP_NODELAY is %d, %v", conn.ID, n, err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	server := start(t.Context(), spec, b, Patience)
	client, err := Run(t.Context(), spec, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	far := wait(t, server)
	if far.err != nil {
		t.Fatal(far.err)
	}
	for _, s := range append(client.Streams, far.Streams...) {
		// The kernel doubles buffers, for its own overhead (socket(7)).
		if s.Sender && s.SendBuf != 2*small {
			t.Errorf("stream %d: send buffer %d, want %d", s.ID, s.SendBuf, 2*small)
		}
		if !s.Sender && s.RecvBuf != 2*small {
			t.Errorf("stream %d: receive buffer %d, want %d", s.ID, s.RecvBuf, 2*small)
		}
		if s.MSS > 1000 || s.MSS < 900 {
			t.Errorf("stream %d: MSS %d, want 1000 less the options", s.ID, s.MSS)
		}
		if s.Sender && s.Congestion != "reno" {
			t.Errorf("stream %d: congestion control %q, want reno", s.ID, s.Congestion)
		}
		last := s.Samples[len(s.Samples)-1]
		if want := uint64(spec.Pace / 8); s.Sender && last.TCP.MaxPacingRate != want {
			t.Errorf("stream %d: pacing rate %d, want %d", s.ID, last.TCP.MaxPacingRate, want)
		}
		if last.Mem.SendBuf != s.SendBuf || last.Mem.RecvBuf != s.RecvBuf {
			t.Errorf("stream %d: SO_MEMINFO %+v, buffers %d and %d", s.ID, last.Mem, s.SendBuf, s.RecvBuf)
		}
	}
}

// Both ends mark what they send, over IPv4, over IPv6, and over IPv4 on a socket
// of IPv6, which is what a server accepts.
func TestTOS(t *testing.T) {
	const tos = 0xb8 // expedited forwarding
	for name, test := range map[string]struct{ listen, dial string }{
		"IPv4":           {"127.0.0.1:0", "127.0.0.1"},
		"IPv6":           {"[::1]:0", "::1"},
		"IPv4 in socket": {"[::]:0", "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", test.listen)
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			spec := Spec{Direction: Forward, Streams: 1, TOS: tos, NotSentLowat: 300_000}
			_, port, _ := net.SplitHostPort(listener.Addr().String())
			a, b := connectAt(t, listener, net.JoinHostPort(test.dial, port), spec)
			for _, conn := range []Conn{a[0], b[0]} {
				defer conn.TCP.Close()
				six := conn.TCP.LocalAddr().(*net.TCPAddr).IP.To4() == nil
				option := func(level, option int) (value int) {
					raw, err := conn.TCP.SyscallConn()
					if err != nil {
						t.Fatal(err)
					}
					raw.Control(func(fd uintptr) { value, err = unix.GetsockoptInt(int(fd), level, option) })
					if err != nil {
						t.Error(err)
					}
					return value
				}
				if got := option(unix.IPPROTO_IP, unix.IP_TOS); !six && got != tos {
					t.Errorf("sender %v: IP_TOS %#x, want %#x", conn.Sender, got, tos)
				}
				if six && option(unix.IPPROTO_IPV6, unix.IPV6_TCLASS) != tos {
					t.Errorf("sender %v: IPV6_TCLASS is not %#x", conn.Sender, tos)
				}
				if got := option(unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT); conn.Sender && got != 300_000 {
					t.Errorf("TCP_NOTSENT_LOWAT %d", got)
				}
			}
		})
	}
}

// Inspect tells of any connection.
func TestInspect(t *testing.T) {
	a, b := connect(t, Spec{Direction: Forward, Streams: 1})
	defer a[0].TCP.Close()
	defer b[0].TCP.Close()
	if _, err := a[0].TCP.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(b[0].TCP, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	sent, err := Inspect(a[0].TCP)
	if err != nil || sent.BytesSent != 1000 || sent.SndMSS == 0 {
		t.Errorf("sender: %+v, %v", sent, err)
	}
	if got, err := Inspect(b[0].TCP); err != nil || got.BytesReceived != 1000 {
		t.Errorf("receiver: %+v, %v", got, err)
	}
	a[0].TCP.Close()
	if _, err := Inspect(a[0].TCP); err == nil {
		t.Error("a closed connection: no error")
	}
}

func TestUnknownCongestion(t *testing.T) {
	available, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{Congest: "warp9"}
	a, b := connect(t, Spec{Direction: Forward, Streams: 1})
	defer a[0].TCP.Close()
	defer b[0].TCP.Close()
	dialer := net.Dialer{Control: Control(spec)}
	_, dialErr := dialer.DialContext(context.Background(), "tcp", "127.0.0.1:1")
	for which, err := range map[string]error{"Prepare": Prepare(a[0].TCP, spec, true), "Control": dialErr} {
		if err == nil {
			t.Errorf("%s: no error", which)
			continue
		}
		for _, word := range append(strings.Fields(string(available)), "TCP_CONGESTION", strconv.Quote("warp9")) {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q does not mention %s", which, err, word)
			}
		}
	}
}

func TestFastPace(t *testing.T) {
	a, b := connect(t, Spec{Direction: Forward, Streams: 1})
	defer a[0].TCP.Close()
	defer b[0].TCP.Close()
	for _, rate := range []unit.Rate{8, 1 * unit.Gbps, 30 * unit.Gbps, 100 * unit.Gbps} {
		if err := Prepare(a[0].TCP, Spec{Pace: rate}, true); err != nil {
			t.Errorf("%v: %v", rate, err)
			continue
		}
		raw, err := a[0].TCP.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		err = raw.Control(func(fd uintptr) {
			if got, err := unix.GetsockoptUint64(int(fd), unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE); err != nil || got != uint64(rate/8) {
				t.Errorf("%v: the kernel has %d bytes/s, %v", rate, got, err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// What the samples of a real transfer say fits together.
func TestSamplesAreReal(t *testing.T) {
	spec := Spec{Direction: Forward, Streams: 1, Duration: 500 * time.Millisecond, Interval: 10 * time.Millisecond}
	client, server := transferOver(t, spec)
	if client.err != nil || server.err != nil {
		t.Fatalf("client: %v, server: %v", client.err, server.err)
	}
	sent, received := client.Streams[0], server.Streams[0]
	last := sent.Samples[len(sent.Samples)-1]
	if last.TCP.Length < 104 || last.TCP.BytesAcked == 0 || last.TCP.BusyTime == 0 || last.TCP.RTT == 0 {
		t.Errorf("the sender's last sample is empty: %+v", last.TCP)
	}
	// What the peer acknowledged, the application had written before; one
	// more is the SYN.
	if acked := int64(last.TCP.BytesAcked); acked > last.Bytes+1 {
		t.Errorf("%d bytes acknowledged of %d written", acked, last.Bytes)
	}
	end := received.Samples[len(received.Samples)-1]
	if got := int64(end.TCP.BytesReceived); got < received.Bytes {
		t.Errorf("the kernel received %d bytes and the application %d", got, received.Bytes)
	}
	if len(client.CPU.Cores) == 0 || client.CPU.Elapsed <= 0 || client.CPU.User+client.CPU.System <= 0 {
		t.Errorf("processor time: %+v", client.CPU)
	}
	if client.Counters["Tcp.OutSegs"] == 0 {
		t.Errorf("counters: %v", client.Counters)
	}
	if client.Measured["Tcp.OutSegs"] == 0 {
		t.Errorf("counters of the measured time: %v", client.Measured)
	}
	if i := slices.IndexFunc(client.Links, func(l host.LinkDelta) bool { return l.Used }); i != 0 || client.Links[0].TxBytes < received.Bytes {
		t.Errorf("links: %+v", client.Links)
	}
	if client.Memory == nil || client.Memory.Used <= 0 {
		t.Errorf("memory: %+v", client.Memory)
	}
}

// Counters of the measured time have what the transfer did in it, and not what it
// did before.
func TestMeasuredCounters(t *testing.T) {
	spec := Spec{Direction: Forward, Streams: 1, Omit: 300 * time.Millisecond, Duration: 300 * time.Millisecond, Interval: 10 * time.Millisecond}
	client, server := transferOver(t, spec)
	if client.err != nil || server.err != nil {
		t.Fatalf("client: %v, server: %v", client.err, server.err)
	}
	sent := client.Streams[0]
	in := sent.Measured()[1:] // the base may be a look before the measured time
	least := Grown(in, func(t *TCPInfo) uint32 { return t.DataSegsOut })
	before := int64(sent.Samples[len(sent.Samples)-len(in)-2].TCP.DataSegsOut)
	whole, measured := client.Counters["Tcp.OutSegs"], client.Measured["Tcp.OutSegs"]
	if measured < least || whole-measured < before/2 {
		t.Errorf("%d segments in all, %d of them in the measured time: samples have %d in it and %d before it", whole, measured, least, before)
	}
}
