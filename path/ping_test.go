package path

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pinged is what a ping of to comes to in a while.
func pinged(t *testing.T, to netip.AddrPort, while time.Duration) []Pong {
	t.Helper()
	p := StartPing(t.Context(), to)
	select {
	case <-p.Burst():
	case <-time.After(5 * time.Second):
		t.Fatal("the burst has no end")
	}
	time.Sleep(while)
	return p.Stop()
}

func TestPing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	to := listener.Addr().(*net.TCPAddr).AddrPort()

	began := time.Now()
	pongs := pinged(t, to, 3*PingEvery)
	if len(pongs) <= burst {
		t.Errorf("%d handshakes: nothing came after the burst of %d", len(pongs), burst)
	}
	for _, pong := range pongs {
		if pong.RTT <= 0 || pong.RTT > time.Second || pong.At.Before(began) || pong.At.After(time.Now()) {
			t.Errorf("%+v", pong)
		}
	}

	// A port where nothing listens answers as well.
	listener.Close()
	if pongs := pinged(t, to, 0); len(pongs) != burst {
		t.Errorf("%d of %d refusals", len(pongs), burst)
	}
}

// It ends at once with its context, however silent the far end.
func TestPingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := StartPing(ctx, netip.MustParseAddrPort("127.0.0.1:9"))
	ended := make(chan struct{})
	go func() { p.Stop(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatal("it did not end")
	}
}

// A burst comes first, as close together as a probe's handshakes; when the last of it
// is answered, or as good as lost, one handshake follows the other five times a
// second. What fails for another reason than silence says nothing.
func TestPingRhythm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, calls := time.Now(), 0
		p := startPing(t.Context(), func() (handshake, error) {
			calls++
			switch calls {
			case 2:
				time.Sleep(initialRTO)
				return handshake{}, errNoAnswer
			case 3:
				return handshake{}, errors.New("no route")
			}
			time.Sleep(30 * time.Millisecond)
			return handshake{rtt: 30 * time.Millisecond}, nil
		})
		<-p.Burst()
		if took := time.Since(began); took != rttSpacing+initialRTO {
			t.Errorf("the burst took %v", took)
		}
		time.Sleep(4*PingEvery + 50*time.Millisecond)
		var got []Pong
		for _, pong := range p.Stop() {
			got = append(got, Pong{time.Time{}.Add(pong.At.Sub(began)), pong.RTT})
		}
		var want []Pong
		pong := func(at, rtt time.Duration) { want = append(want, Pong{time.Time{}.Add(at), rtt}) }
		pong(0, 30*time.Millisecond)
		pong(3*rttSpacing, 30*time.Millisecond)
		pong(4*rttSpacing, 30*time.Millisecond)
		pong(rttSpacing, 0) // it was known to be lost after those
		for i := range 4 {
			pong(rttSpacing+initialRTO+time.Duration(i+1)*PingEvery, 30*time.Millisecond)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		time.Sleep(time.Second)
		if calls != burst+4 {
			t.Errorf("%d handshakes, also after it was stopped", calls)
		}
	})
}

// It rests in the end, however long what it watches takes.
func TestPingRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPing(t.Context(), func() (handshake, error) { return handshake{rtt: 1}, nil })
		time.Sleep(2 * mostPongs * PingEvery)
		if got := len(p.Stop()); got != mostPongs {
			t.Errorf("%d handshakes, want %d", got, mostPongs)
		}
	})
}

// What is answered after Stop does not count any more.
func TestPingLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPing(t.Context(), func() (handshake, error) { time.Sleep(time.Second); return handshake{rtt: time.Second}, nil })
		time.Sleep(100 * time.Millisecond)
		pongs := p.Stop()
		synctest.Wait()
		time.Sleep(2 * time.Second)
		if len(pongs) != 0 || len(p.pongs) != 0 {
			t.Errorf("%v, later %v", pongs, p.pongs)
		}
	})
}
