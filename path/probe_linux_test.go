package path

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/unit"
)

// near tells whether a capacity is within a share of the truth, and its interval
// sane. The share is generous: the machine that runs this may be busy.
func near(t *testing.T, name string, c Capacity, truth unit.Rate, share float64) {
	t.Helper()
	t.Logf("%s: %v of %v (%+.1f %%), %v to %v, %s", name, c.Rate, truth, 100*(float64(c.Rate/truth)-1), c.Low, c.High, c.Method)
	if c.High == 0 && strings.Contains(c.Method, "sender-limited") && c.Low <= truth && c.Rate <= truth {
		return // a busy machine sent its trains more slowly than the path carries, and the estimate says that there may be more
	}
	if math.Abs(float64(c.Rate/truth)-1) > share {
		t.Errorf("%s: measured %v, the path has %v", name, c.Rate, truth)
	}
	if c.Assumed || c.Low > c.Rate || c.High != 0 && c.High < c.Rate {
		t.Errorf("%s: %+v is not an estimate with an interval around it", name, c)
	}
}

// thisHost is the far end of a probe of this host itself.
type thisHost struct {
	*Responder
	cannotDF bool
	fails    int  // from which answer on it has none, from 1
	once     bool // and after that one it has
	asked    int
	last     Observed
}

func (h *thisHost) OpenProbe(context.Context) (Ticket, error) {
	ticket, err := h.Open(netip.MustParseAddr("127.0.0.1"))
	ticket.DontFragment = !h.cannotDF
	return ticket, err
}

func (h *thisHost) Observed(_ context.Context, cookie string) (o Observed, err error) {
	if h.asked++; h.fails > 0 && (h.asked == h.fails || h.asked > h.fails && !h.once) {
		return o, errFar
	}
	h.last, err = h.Responder.Observed(cookie)
	return h.last, err
}

// What a probe says while it is at it, and what stands where one of its parts fails.
func TestProbeThisHost(t *testing.T) {
	lo, err := routeTo(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	whole := probedMTU(lo.link, lo.link, lo.kernel)
	for _, c := range []struct {
		name             string
		helper           thisHost
		refuses          bool // TCP
		forward, reverse MTU
		assumed          string
		said             []string
	}{
		{"all of it", thisHost{}, false, whole, whole, "", []string{
			"round-trip time: connecting 10 times to 127.0.0.1:", "round-trip time: ", "path MTU: probing both ways",
			fmt.Sprintf("path MTU: %d bytes forward, %d bytes reverse", lo.link, lo.link),
			"capacity forward: sending packet trains", "capacity forward: ", "capacity reverse: sending packet trains", "capacity reverse: "}},
		{"no MTU is known of the way back", thisHost{cannotDF: true}, true, whole, MTU{Method: "none"}, "", []string{
			"round-trip time: connecting 10 times to 127.0.0.1:", "round-trip time: ", "path MTU: probing both ways",
			fmt.Sprintf("path MTU: %d bytes forward, 0 bytes reverse", lo.link),
			"capacity forward: sending packet trains", "capacity forward: ", "capacity reverse: sending packet trains", "capacity reverse: "}},
		{"the far end fails at the trains", thisHost{fails: 3}, false, whole, whole, errFar.Error(), []string{
			"round-trip time: connecting 10 times to 127.0.0.1:", "round-trip time: ", "path MTU: probing both ways",
			fmt.Sprintf("path MTU: %d bytes forward, %d bytes reverse", lo.link, lo.link),
			"capacity forward: sending packet trains", "probing again, since ask the far end what it saw: " + errFar.Error(), "path MTU: probing both ways",
			"capacity: assuming 100 Mb/s, since ", "capacity: assuming 100 Mb/s, since "}},
		{"the far end fails at the trains, once", thisHost{fails: 3, once: true}, false, whole, whole, "", []string{
			"round-trip time: connecting 10 times to 127.0.0.1:", "round-trip time: ", "path MTU: probing both ways",
			fmt.Sprintf("path MTU: %d bytes forward, %d bytes reverse", lo.link, lo.link),
			"capacity forward: sending packet trains", "probing again, since ask the far end what it saw: " + errFar.Error(), "path MTU: probing both ways",
			fmt.Sprintf("path MTU: %d bytes forward, %d bytes reverse", lo.link, lo.link),
			"capacity forward: sending packet trains", "capacity forward: ", "capacity reverse: sending packet trains", "capacity reverse: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			responder, _ := serve(t)
			c.helper.Responder = responder
			to := listen(t)
			if c.refuses {
				to = netip.AddrPortFrom(to.Addr(), freePort(t))
			}
			var said []string
			e, err := Probe(t.Context(), to, &c.helper, Options{Progress: func(s string) { said = append(said, s) }})
			if err != nil {
				t.Fatal(err)
			}
			if e.Forward.MTU != c.forward || e.Reverse.MTU != c.reverse {
				t.Errorf("MTU %+v and %+v, want %+v and %+v", e.Forward.MTU, e.Reverse.MTU, c.forward, c.reverse)
			}
			for _, capacity := range []Capacity{e.Forward.Capacity, e.Reverse.Capacity} {
				if capacity.Assumed != (c.assumed != "") || !strings.Contains(capacity.Note, c.assumed) || !capacity.Plausible() {
					t.Errorf("capacity %+v, assumed %q", capacity, c.assumed)
				}
			}
			for i, text := range said {
				if i >= len(c.said) || !strings.HasPrefix(text, c.said[i]) || len(text) < len(c.said[i]) {
					t.Errorf("it says %q at %d of %q", text, i, c.said)
				}
			}
			if len(said) != len(c.said) {
				t.Errorf("it says %q, want %q", said, c.said)
			}
			for _, train := range c.helper.last.Received {
				if train.Received > 0 && train.Bytes != int64(train.Received*c.forward.Bytes) {
					t.Errorf("%d packets of %d bytes, want them of %d", train.Received, train.Bytes, c.forward.Bytes)
				}
			}
		})
	}
}

// freePort is a port of this host where nobody listens.
func freePort(t *testing.T) uint16 {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).AddrPort().Port()
}

// ICMP is answered by this host itself, where this user may send it.
func TestEcho(t *testing.T) {
	r := echo(t.Context(), netip.MustParseAddr("127.0.0.1"))
	if r.Count == 0 && os.Geteuid() != 0 {
		t.Skip("this user may not send ICMP echoes")
	}
	if r.Count != 5 || r.Lost != 0 || r.Method != methodEcho || r.Min <= 0 || r.Max > time.Second {
		t.Errorf("%+v", r)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if r := echo(ended, netip.MustParseAddr("127.0.0.1")); r.Count != 0 {
		t.Errorf("nobody waits any more: %+v", r)
	}
}

func TestIntegrationProbe(t *testing.T) {
	for _, c := range []struct {
		name             string
		to               string
		mtu              int
		forward, reverse wire.Direction
	}{
		{"10M 20ms", "198.18.0.2", 1500,
			wire.Direction{Rate: 10 * unit.Mbps, Delay: 10 * time.Millisecond},
			wire.Direction{Rate: 8 * unit.Mbps, Delay: 10 * time.Millisecond}},
		{"100M 0.2ms IPv6", "fd00::2", 1500,
			wire.Direction{Rate: 100 * unit.Mbps, Delay: 100 * time.Microsecond},
			wire.Direction{Rate: 50 * unit.Mbps, Delay: 100 * time.Microsecond}},
		{"1G 150ms", "198.18.0.2", 1500,
			wire.Direction{Rate: unit.Gbps, Delay: 75 * time.Millisecond},
			wire.Direction{Rate: unit.Gbps, Delay: 75 * time.Millisecond}},
		{"1G 0.2ms jumbo", "198.18.0.2", 9000,
			wire.Direction{Rate: unit.Gbps, Delay: 100 * time.Microsecond, Queue: wire.Queue{Bytes: 512 * unit.KiB}},
			wire.Direction{Rate: unit.Gbps, Delay: 100 * time.Microsecond, Queue: wire.Queue{Bytes: 512 * unit.KiB}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := wired(t, c.mtu, c.forward, c.reverse)
			e := probe(t, a, b, c.to, "helped", "helps")
			delay := c.forward.Delay + c.reverse.Delay
			t.Logf("RTT: %+v of %v", e.RTT, delay)
			if e.RTT.Min < delay || e.RTT.Min > delay+20*time.Millisecond {
				t.Errorf("RTT %v: the path has %v", e.RTT.Min, delay)
			}
			for _, m := range []MTU{e.Forward.MTU, e.Reverse.MTU} {
				if m != (MTU{Bytes: c.mtu, Link: c.mtu, Method: "udp probe"}) {
					t.Errorf("MTU %+v: the path has %d", m, c.mtu)
				}
			}
			near(t, "forward", e.Forward.Capacity, c.forward.Rate, 0.15)
			near(t, "reverse", e.Reverse.Capacity, c.reverse.Rate, 0.15)
		})
	}
}

// fast is a path without a bottleneck of its own.
var fast = wire.Direction{Rate: 200 * unit.Mbps, Delay: 5 * time.Millisecond}

func TestIntegrationImpaired(t *testing.T) {
	t.Parallel() // it mostly waits
	shallow := fast
	shallow.Queue = wire.Queue{Packets: 64}
	rough := fast
	rough.Loss = wire.Loss{Share: 0.02}
	rough.Jitter = 2 * time.Millisecond
	for _, c := range []struct {
		name  string
		path  wire.Direction
		share float64
	}{
		{"shallow queue", shallow, 0.15}, // most of a train is dropped: what remains is still spaced by the link
		{"loss and jitter", rough, 0.35},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, b := wired(t, 1500, c.path, c.path)
			e := probe(t, a, b, "198.18.0.2", "helped", "helps")
			near(t, "forward", e.Forward.Capacity, c.path.Rate, c.share)
			near(t, "reverse", e.Reverse.Capacity, c.path.Rate, c.share)
			if e.Forward.MTU.Bytes != 1500 || e.Reverse.MTU.Bytes != 1500 {
				t.Errorf("MTU %+v and %+v: the path has 1500", e.Forward.MTU, e.Reverse.MTU)
			}
		})
	}
}

// A shaper lets a burst through at once: the rate is that behind it.
func TestIntegrationTokenBucket(t *testing.T) {
	t.Parallel() // it mostly waits
	a, b := wired(t, 1500, wire.Direction{}, wire.Direction{})
	a.run(t, "tc qdisc add dev path0 root tbf rate 100mbit burst 64kb latency 100ms")
	b.run(t, "tc qdisc add dev path0 root tbf rate 50mbit burst 16kb latency 100ms")
	e := probe(t, a, b, "198.18.0.2", "helped", "helps")
	// A TUN device has no link header for tbf to count. The share tells the
	// rate from the burst's, even on a busy machine.
	near(t, "forward", e.Forward.Capacity, 100*unit.Mbps, 0.4)
	near(t, "reverse", e.Reverse.Capacity, 50*unit.Mbps, 0.4)
}

func TestIntegrationBlackHole(t *testing.T) {
	t.Parallel() // it mostly waits
	narrow := fast
	narrow.BlackHoleAbove = 1417
	a, b := wired(t, 9000, fast, narrow)
	e := probe(t, a, b, "198.18.0.2", "helped", "helps")
	want := MTU{Bytes: 1417, Link: 9000, Method: "udp probe", Note: "packets above 1417 bytes vanish without an ICMP error", BlackHole: true}
	if e.Forward.MTU != (MTU{Bytes: 9000, Link: 9000, Method: "udp probe"}) || e.Reverse.MTU != want {
		t.Errorf("MTU %+v and %+v: the path has 9000, and 1417 silently", e.Forward.MTU, e.Reverse.MTU)
	}
	near(t, "reverse", e.Reverse.Capacity, narrow.Rate, 0.15)
}

// Through a router whose link to b is narrower. It tells a so; from b, its
// device drops what is larger than itself and a VLAN tag without a word.
func TestIntegrationRouter(t *testing.T) {
	t.Parallel() // it mostly waits
	a, r, b := newSpace(t), newSpace(t), newSpace(t)
	joined(t, a, r, "eth0", "eth0")
	joined(t, r, b, "eth1", "eth0")
	r.run(t, `
		ip addr add 198.18.0.1/24 dev eth0
		ip addr add 198.18.1.1/24 dev eth1
		ip link set eth0 up
		ip link set eth1 mtu 1400 up
		sysctl -q -w net.ipv4.ip_forward=1`)
	a.run(t, `
		ip addr add 198.18.0.2/24 dev eth0
		ip link set eth0 up
		ip route add default via 198.18.0.1`)
	b.run(t, `
		ip addr add 198.18.1.2/24 dev eth0
		ip link set eth0 up
		ip route add default via 198.18.1.1`)
	e := probe(t, a, b, "198.18.1.2", "helped", "helps")
	t.Logf("capacity %+v, %+v", e.Forward.Capacity, e.Reverse.Capacity)
	told := MTU{Bytes: 1400, Link: 1500, Method: "udp probe", Note: "the kernel knows of the limit, by an ICMP error or from its routes"}
	silent := MTU{Bytes: 1404, Link: 1500, Method: "udp probe", Note: "packets above 1404 bytes vanish without an ICMP error", BlackHole: true}
	if e.Forward.MTU != told || e.Reverse.MTU != silent {
		t.Errorf("MTU %+v and %+v, want %+v and %+v", e.Forward.MTU, e.Reverse.MTU, told, silent)
	}
}

// Without help, the estimate says what is believed and what is assumed.
func TestIntegrationWithoutHelp(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, c := range []struct{ name, near, far, note string }{
		{"no helper", "alone", "helps", "the far end does not help"},
		{"UDP blocked", "helped", "deaf", "UDP to port 5201 is not answered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, b := wired(t, 1500, fast, fast)
			e := probe(t, a, b, "198.18.0.2", c.near, c.far)
			want := Capacity{Rate: AssumedRate, Assumed: true, Method: "assumed", Note: c.note}
			if e.Forward.Capacity != want || e.Reverse.Capacity != want {
				t.Errorf("capacity %+v and %+v, want %+v", e.Forward.Capacity, e.Reverse.Capacity, want)
			}
			if e.Forward.MTU != (MTU{Bytes: 1500, Link: 1500, Method: "kernel"}) || e.Reverse.MTU.Bytes != 1500 || e.Reverse.MTU.Method != "kernel" {
				t.Errorf("MTU %+v and %+v: the kernel knows of 1500", e.Forward.MTU, e.Reverse.MTU)
			}
			if e.RTT.Method != "tcp handshake" || e.RTT.Min < 10*time.Millisecond {
				t.Errorf("RTT %+v", e.RTT)
			}
		})
	}
}

// Within one host nothing but the sender sets the pace, and only a lower bound
// comes out.
func TestIntegrationSenderLimited(t *testing.T) {
	a := newSpace(t)
	e := probe(t, a, a, "127.0.0.1", "helped", "helps")
	for _, c := range []Capacity{e.Forward.Capacity, e.Reverse.Capacity} {
		t.Logf("%+v", c)
		if c.High != 0 || c.Method != methodLimited || c.Rate < 100*unit.Mbps {
			t.Errorf("%+v is not a lower bound", c)
		}
	}
}

// A port where nobody listens still tells the RTT.
func TestIntegrationRefused(t *testing.T) {
	t.Parallel() // it mostly waits
	a, b := wired(t, 1500, fast, fast)
	b.run(t, "sysctl -q -w net.ipv4.icmp_echo_ignore_all=1")
	e := probe(t, a, b, "198.18.0.2", "alone", "")
	if e.RTT.Count != rttSamples || e.RTT.Method != methodHandshake || e.RTT.Min < 10*time.Millisecond {
		t.Errorf("RTT %+v: ten refusals in 10 ms each were to be had", e.RTT)
	}
}
