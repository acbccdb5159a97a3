package datagram

import (
	"net"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/internal/cable"
	"github.com/fullbore/fullbore/unit"
)

// On a path that takes only a part of what is sent, the receiver counts what the
// path dropped, by the kernel's own count of it.
func TestIntegrationLoss(t *testing.T) {
	const length = 1000
	for name, spec := range map[string]bulk.Spec{
		"one flow":      {Streams: 1, Rate: 20 * unit.Mbps},
		"three":         {Streams: 3, Rate: 7 * unit.Mbps, Counters64: true},
		"in large runs": {Streams: 1, Rate: 400 * unit.Mbps},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec.Protocol, spec.Direction, spec.Length, spec.Duration = bulk.UDP, bulk.Forward, length, time.Second
			client, server, dropped := cabled(t, spec, 5*unit.Mbps)
			far, near := start(t, spec, server), start(t, spec, client)
			due(t, near)
			sent := near.Stop()
			settle(far)
			got := far.Stop()
			var packets, seen, lost, came int64
			for i, r := range got.Streams {
				packets += sent.Streams[i].Datagrams.Packets
				seen += r.Datagrams.Packets
				lost += r.Datagrams.Lost
				came += r.Bytes / length
			}
			// Losses after the last datagram that came show in the sender's count only.
			// Of a run that was handed over in one piece, the kernel counts one drop.
			runs := spec.Rate > 100*unit.Mbps
			if tail := packets - seen; came+lost != seen || tail < 0 || lost+tail != dropped() && !runs {
				t.Errorf("sent %d, came %d, lost %d and %d at the end; the kernel dropped %d", packets, came, lost, tail, dropped())
			}
			if lost == 0 || came == 0 {
				t.Errorf("%d datagrams came and %d were lost on a path that takes some", came, lost)
			}
		})
	}
}

// What must not be fragmented and does not fit is an error that says so.
func TestIntegrationDontFragment(t *testing.T) {
	spec := bulk.Spec{Protocol: bulk.UDP, Direction: bulk.Forward, Streams: 1, Length: 2000, Rate: unit.Mbps, Duration: time.Minute, DontFragment: true}
	client, server, _ := cabled(t, spec, 100*unit.Mbps)
	start(t, spec, server)
	near := start(t, spec, client)
	due(t, near)
	const want = "flow 1 with 198.18.0.2:5201: send: a datagram of 2000 bytes is larger than the path takes in one piece: use a smaller length: message too long"
	if err := near.Failed(); err == nil || err.Error() != want {
		t.Errorf("failed: %v, want %q", err, want)
	}
}

// cabled connects flows from one host to another, over a cable that is limited
// to a rate, and returns how many datagrams that has dropped.
func cabled(t *testing.T, spec bulk.Spec, rate unit.Rate) (client, server []bulk.Conn, dropped func() int64) {
	t.Helper()
	path := cable.ForTest(t, cable.Spec{Rate: rate})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range spec.Streams {
		a := &net.UDPAddr{IP: net.IPv4(198, 18, 0, 1), Port: 6201 + i}
		b := &net.UDPAddr{IP: net.IPv4(198, 18, 0, 2), Port: 5201 + i}
		c, err := net.DialUDP("udp4", a, b)
		check(err)
		var s *net.UDPConn
		check(path.Far.Do(func() (err error) {
			s, err = net.DialUDP("udp4", b, a)
			return err
		}))
		client = append(client, bulk.Conn{ID: i + 1, Sender: true, UDP: c})
		server = append(server, bulk.Conn{ID: i + 1, UDP: s})
	}
	// What goes before the link is up and the neighbour is known may be lost.
	hello := make([]byte, 1)
	for until := time.Now().Add(10 * time.Second); ; {
		_, err := client[0].UDP.Write(hello)
		check(err)
		check(server[0].UDP.SetReadDeadline(time.Now().Add(50 * time.Millisecond)))
		if _, err := server[0].UDP.Read(hello); err == nil {
			time.Sleep(100 * time.Millisecond) // others that waited
			break
		} else if time.Now().After(until) {
			t.Fatalf("nothing gets through: %v", err)
		}
	}
	drops := func() int64 {
		n, err := path.Dropped()
		check(err)
		return n
	}
	before := drops()
	return client, server, func() int64 { return drops() - before }
}
