package wire

import (
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/unit"
	"golang.org/x/sys/unix"
)

// fast is a path on which a short transfer meets thousands of segments.
var fast = Direction{Rate: 400 * unit.Mbps, Delay: time.Millisecond, Queue: Queue{Packets: 400}, Seed: 1}

// Every impairment at once, and what arrives is still what was sent.
func TestIntegrationBytesArriveAsSent(t *testing.T) {
	for family, name := range []string{"IPv4", "IPv6"} {
		t.Run(name, func(t *testing.T) {
			a, b := newHosts(t, 1500, "cubic")
			for _, h := range []*testHost{a, b} {
				h.sysctl(t, "net.ipv4.tcp_ecn", "1")
			}
			d := fast
			d.Jitter = 200 * time.Microsecond
			d.Loss = Loss{Model: "gilbert", P: 0.001, R: 0.5, Share: 1}
			d.Duplicate, d.Corrupt = 0.002, 0.001
			d.Reorder = Reorder{Share: 0.002, By: 300 * time.Microsecond}
			d.ECN = ECN{Queue{Packets: 10}}
			w := wired(t, a, b, 1500, d, d)
			// How many segments go in a time depends on the machine: until chance had its way.
			s := w.Stats().AToB
			happened := func() bool {
				return s.Drops.Loss > 0 && s.Duplicated > 0 && s.Corrupted > 0 && s.Reordered > 0 && s.Marked > 0
			}
			for try := 0; try < 20 && !happened(); try++ {
				_, got := transfer(t, a, b, family, 400*time.Millisecond, "check")
				s = w.Stats().AToB
				t.Logf("%v, %+v", unit.RateOf(got.Bytes, got.Elapsed), s)
				if got.Bytes < 1<<16 {
					t.Errorf("only %d bytes arrived", got.Bytes)
				}
			}
			if !happened() {
				t.Errorf("an impairment did not happen: %+v", s)
			}
		})
	}
}

// The rate counts IP bytes and is never exceeded. How close a transfer comes to it
// depends on the machine here; TestRateIsExact leaves the machine out.
func TestIntegrationRate(t *testing.T) {
	const rate = 500 * unit.Mbps
	for _, mtu := range []int{1500, 9000} {
		a, b := newHosts(t, mtu, "cubic")
		began := time.Now()
		w := wired(t, a, b, mtu, Direction{Rate: rate, Queue: Queue{Bytes: unit.MiB}}, Direction{Delay: time.Millisecond})
		sent, got := transfer(t, a, b, ipv4, 600*time.Millisecond, "count")
		s, most := w.Stats().AToB, rate.BytesIn(time.Since(began))
		goodput := unit.RateOf(got.Bytes, got.Elapsed)
		t.Logf("MTU %d: goodput %v, %+v", mtu, goodput, s)
		if sent.SndMSS != mtu-52 || sent.Congestion != "cubic" {
			t.Errorf("MSS %d, %s: the path is not what this test is about", sent.SndMSS, sent.Congestion)
		}
		if s.BytesOut > uint64(most) || goodput < rate/10 {
			t.Errorf("MTU %d: %d bytes of at most %d, goodput %v", mtu, s.BytesOut, most, goodput)
		}
		if mtu == 1500 && s.SegmentsOut <= 2*s.Writes {
			t.Errorf("no super-packets: %d segments in %d writes", s.SegmentsOut, s.Writes)
		}
	}
}

func TestIntegrationDelay(t *testing.T) {
	t.Parallel() // it mostly waits
	a, b := newHosts(t, 1500, "cubic")
	wired(t, a, b, 1500, Direction{Delay: 30 * time.Millisecond}, Direction{Delay: 10 * time.Millisecond})
	sent, _ := transfer(t, a, b, ipv4, 300*time.Millisecond, "count")
	if sent.MinRTT < 40*time.Millisecond || sent.MinRTT > 400*time.Millisecond {
		t.Errorf("RTT %v, want 40 ms or little more", sent.MinRTT)
	}
}

func TestIntegrationLoss(t *testing.T) {
	a, b := newHosts(t, 1500, "bbr")
	d := fast
	d.Loss.Share = 0.01
	w := wired(t, a, b, 1500, d, Direction{Delay: d.Delay})
	sent, _ := transfer(t, a, b, ipv4, 600*time.Millisecond, "count")
	s := w.Stats().AToB
	n := float64(s.SegmentsIn)
	share, sigma := float64(s.Drops.Loss)/n, math.Sqrt(0.01*0.99/n)
	t.Logf("%.3f %% of %d segments lost, %d retransmitted", share*100, s.SegmentsIn, sent.Retransmits)
	if math.Abs(share-0.01) > 5*sigma {
		t.Errorf("%.4f of %d segments lost, want 0.01", share, s.SegmentsIn)
	}
	if uint64(sent.Retransmits) < s.Drops.Loss/2 {
		t.Errorf("%d lost, but only %d retransmitted", s.Drops.Loss, sent.Retransmits)
	}
}

func TestIntegrationBlackHole(t *testing.T) {
	t.Parallel() // it mostly waits
	a, b := newHosts(t, 1500, "cubic")
	d := fast
	d.BlackHoleAbove = 1400
	w := wired(t, a, b, 1500, d, Direction{})
	if _, got := transfer(t, a, b, ipv4, 300*time.Millisecond, "count"); got.Bytes != 0 {
		t.Errorf("%d bytes came out of the black hole", got.Bytes)
	}
	if s := w.Stats().AToB; s.Drops.BlackHole == 0 || s.SegmentsOut == 0 {
		t.Errorf("only large packets are to vanish: %+v", s)
	}
}

// A transfer survives outages of 200 ms: more arrives than the path could carry
// until the first of them.
func TestIntegrationOutage(t *testing.T) {
	t.Parallel() // it mostly waits
	a, b := newHosts(t, 1500, "cubic")
	d := Direction{Rate: 50 * unit.Mbps, Delay: time.Millisecond, Queue: Queue{Packets: 100}, Outage: Outage{Every: 500 * time.Millisecond, For: 200 * time.Millisecond}}
	w := wired(t, a, b, 1500, d, Direction{Delay: d.Delay})
	sent, got := transfer(t, a, b, ipv4, 1500*time.Millisecond, "check")
	s := w.Stats().AToB
	t.Logf("%d bytes, %d dropped in outages, %d retransmitted", got.Bytes, s.Drops.Outage, sent.Retransmits)
	if s.Drops.Outage == 0 || got.Bytes < int64(d.Rate.BytesIn(d.Outage.Every)) {
		t.Errorf("%d bytes arrived, %d segments dropped in outages", got.Bytes, s.Drops.Outage)
	}
}

func TestIntegrationSYN(t *testing.T) {
	const timestamps, sack, wscale = 1, 2, 4 // tcpi_options, include/uapi/linux/tcp.h
	for _, tt := range []struct {
		name         string
		d            Direction // both ways
		options, mss int
		rewritten    [2]bool // SYNs, answers
	}{
		{"untouched", Direction{}, timestamps | sack | wscale, 1448, [2]bool{false, false}},
		{"clamp", Direction{MSSClamp: 1200}, timestamps | sack | wscale, 1188, [2]bool{true, true}},
		{"clamp below a black hole", Direction{MSSClamp: 1200, BlackHoleAbove: 1300}, timestamps | sack | wscale, 1188, [2]bool{true, true}},
		{"wscale", Direction{Strip: []string{"wscale"}}, timestamps | sack, 1448, [2]bool{true, false}},
		{"sack", Direction{Strip: []string{"sack"}}, timestamps | wscale, 1448, [2]bool{true, false}},
		{"timestamps", Direction{Strip: []string{"timestamps"}}, sack | wscale, 1460, [2]bool{true, false}},
		{"all", Direction{Strip: []string{"timestamps", "sack", "wscale"}, MSSClamp: 1400}, 0, 1400, [2]bool{true, true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := newHosts(t, 1500, "cubic")
			w := wired(t, a, b, 1500, tt.d, tt.d)
			sent, got := transfer(t, a, b, ipv4, 50*time.Millisecond, "check")
			if sent.Options&(timestamps|sack|wscale) != tt.options || sent.SndMSS != tt.mss || got.Bytes == 0 {
				t.Errorf("options %#x, MSS %d, %d bytes; want %#x, %d and some", sent.Options, sent.SndMSS, got.Bytes, tt.options, tt.mss)
			}
			// The answer offers only what the first SYN did.
			s := w.Stats()
			if rewritten := [2]bool{s.AToB.Rewritten > 0, s.BToA.Rewritten > 0}; rewritten != tt.rewritten {
				t.Errorf("%d and %d SYNs rewritten, want %v", s.AToB.Rewritten, s.BToA.Rewritten, tt.rewritten)
			}
		})
	}
}

func TestIntegrationECN(t *testing.T) {
	a, b := newHosts(t, 1500, "cubic")
	for _, h := range []*testHost{a, b} {
		h.sysctl(t, "net.ipv4.tcp_ecn", "1")
	}
	d := fast
	d.ECN = ECN{Queue{Packets: 50}}
	w := wired(t, a, b, 1500, d, Direction{Delay: d.Delay})
	sent, _ := transfer(t, a, b, ipv4, 600*time.Millisecond, "check")
	s := w.Stats().AToB
	t.Logf("%d marked, sender saw %d", s.Marked, sent.DeliveredCE)
	if s.Marked == 0 || sent.DeliveredCE == 0 {
		t.Errorf("%d marked, sender saw %d", s.Marked, sent.DeliveredCE)
	}
	if ce := b.counter(t, "IpExt:InCEPkts"); ce == 0 || ce > s.Marked {
		t.Errorf("%d marked, receiver saw %d", s.Marked, ce)
	}
}

func TestIntegrationCorruptionIsFoundByTheReceiver(t *testing.T) {
	for family, name := range []string{"IPv4", "IPv6"} {
		a, b := newHosts(t, 1500, "bbr")
		d := fast
		d.Corrupt = 0.01
		w := wired(t, a, b, 1500, d, Direction{Delay: d.Delay})
		transfer(t, a, b, family, 500*time.Millisecond, "check")
		found := b.counter(t, "Tcp:InCsumErrors")
		if n := w.Stats().AToB.Corrupted; n == 0 || found != n {
			t.Errorf("%s: %d corrupted, receiver found %d", name, n, found)
		}
	}
}

func TestIntegrationReorder(t *testing.T) {
	a, b := newHosts(t, 1500, "bbr")
	d := fast
	d.Reorder = Reorder{Share: 0.02, By: 2 * time.Millisecond}
	w := wired(t, a, b, 1500, d, Direction{Delay: d.Delay})
	sent, _ := transfer(t, a, b, ipv4, 500*time.Millisecond, "check")
	if n := b.counter(t, "TcpExt:TCPOFOQueue"); n == 0 || w.Stats().AToB.Reordered == 0 || sent.Reordered == 0 {
		t.Errorf("%d held back, %d out of order at the receiver, sender noticed %d", w.Stats().AToB.Reordered, n, sent.Reordered)
	}
}

func TestIntegrationDuplicate(t *testing.T) {
	a, b := newHosts(t, 1500, "cubic")
	d := fast
	d.Duplicate = 0.01
	w := wired(t, a, b, 1500, d, Direction{Delay: d.Delay})
	sent, _ := transfer(t, a, b, ipv4, 500*time.Millisecond, "check")
	if n := w.Stats().AToB.Duplicated; n == 0 || sent.DSACKs == 0 {
		t.Errorf("%d duplicated, sender heard of %d", n, sent.DSACKs)
	}
}

func TestIntegrationPolicer(t *testing.T) {
	a, b := newHosts(t, 1500, "bbr")
	began := time.Now()
	d := Direction{Delay: time.Millisecond, Policer: Policer{Rate: 100 * unit.Mbps, Burst: 64 * unit.KiB}}
	w := wired(t, a, b, 1500, d, Direction{Delay: d.Delay})
	transfer(t, a, b, ipv4, 600*time.Millisecond, "check")
	s, most := w.Stats().AToB, d.Policer.Burst+d.Policer.Rate.BytesIn(time.Since(began))
	t.Logf("%d of at most %d bytes, %d of %d segments policed", s.BytesOut, most, s.Drops.Policer, s.SegmentsIn)
	if s.BytesOut > uint64(most) || s.Drops.Policer == 0 {
		t.Errorf("%d of at most %d bytes, %d segments policed", s.BytesOut, most, s.Drops.Policer)
	}
}

// What is not TCP passes as well: UDP, and IP fragments of it.
func TestIntegrationUDP(t *testing.T) {
	t.Parallel() // it mostly waits
	a, b := newHosts(t, 1500, "cubic")
	wired(t, a, b, 1500, fast, fast)
	for family := range 2 {
		to := net.JoinHostPort(addresses[1][family], "9")
		var server, client net.Conn
		b.must(t, func() error {
			pc, err := net.ListenPacket("udp", to)
			server, _ = pc.(net.Conn)
			return err
		})
		defer server.Close()
		a.must(t, func() (err error) {
			client, err = net.Dial("udp", to)
			return err
		})
		defer client.Close()
		for _, n := range []int{1, 1400, 5000} {
			message := slices.Repeat([]byte{byte(n)}, n)
			if _, err := client.Write(message); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 1<<16)
			if err := server.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if got, err := server.Read(got); err != nil || got != n {
				t.Errorf("%s: %d bytes of %d: %v", to, got, n, err)
			}
		}
	}
}

// Close ends at once under full load, and twice is as good as once.
func TestIntegrationCloseUnderLoad(t *testing.T) {
	a, b := newHosts(t, 1500, "cubic")
	w := wired(t, a, b, 1500, Direction{Delay: time.Millisecond}, Direction{})
	b.start(t, "receive", addresses[1][ipv4], "count")
	a.start(t, "send", addresses[1][ipv4], "20s")
	for deadline := time.Now().Add(10 * time.Second); w.Stats().AToB.SegmentsOut < 1000; {
		if time.Now().After(deadline) {
			t.Fatal("no traffic")
		}
		time.Sleep(10 * time.Millisecond)
	}
	closed := make(chan error)
	go func() { closed <- w.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still open after 10 s")
	}
	before := w.Stats()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	time.Sleep(20 * time.Millisecond)
	if after := w.Stats(); after != before {
		t.Errorf("traffic after Close: %+v, then %+v", before, after)
	}
}

// A device that is down makes the wire say that what it carried was lost.
func TestIntegrationCloseTellsOfFaults(t *testing.T) {
	a, b := newHosts(t, 1500, "cubic")
	w, err := Start(a.tun, b.tun, 1500, Direction{}, Direction{})
	if err != nil {
		t.Fatal(err)
	}
	b.must(t, func() error { return setDown(device) })
	var client net.Conn
	a.must(t, func() (err error) {
		client, err = net.Dial("udp", addresses[1][ipv4]+":9")
		return err
	})
	defer client.Close()
	for deadline := time.Now().Add(10 * time.Second); w.Stats().AToB.WriteErrors == 0 && time.Now().Before(deadline); {
		if _, err := client.Write([]byte("lost")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "wire a to b") || !strings.Contains(err.Error(), unix.EIO.Error()) {
		t.Errorf("close: %v", err)
	}
}

func TestStartRefuses(t *testing.T) {
	if _, err := Start(nil, nil, 40, Direction{}, Direction{}); err == nil || !strings.Contains(err.Error(), "MTU 40") {
		t.Errorf("MTU 40: %v", err)
	}
	if _, err := Start(nil, nil, 1500, Direction{}, Direction{Corrupt: 2}); err == nil || !strings.Contains(err.Error(), "b to a: corrupt 2") {
		t.Errorf("corrupt 2: %v", err)
	}
	if _, err := Start(nil, nil, 1500, Direction{}, Direction{}); err == nil {
		t.Error("no devices: no error")
	}
}
