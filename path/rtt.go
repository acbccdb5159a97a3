package path

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	probing "github.com/prometheus-community/pro-bing"
)

const (
	rttSamples = 10
	rttSpacing = 20 * time.Millisecond

	// initialRTO is when an unanswered SYN is sent again, and from when on an
	// answer can no longer be assigned to a SYN (RFC 6298, section 2.1).
	initialRTO = time.Second

	// connectTimeout leaves time for a second SYN, so that a host that lost one
	// is distinguished from one that is not there.
	connectTimeout = 2500 * time.Millisecond
)

// Methods of RTT.
const (
	methodHandshake = "tcp handshake"
	methodEcho      = "icmp echo"
)

// handshake is the result of one TCP handshake. The segment sizes, in bytes and
// without TCP options, are 0 where the system does not report them.
type handshake struct {
	rtt       time.Duration
	sendMSS   int // what the far end accepts, or the kernel's path MTU allows
	announced int // what this host told the far end it accepts
}

var errNoAnswer = errors.New("no answer")

// connector times a handshake; the error is errNoAnswer where nothing answers in time.
type connector func(to netip.AddrPort, timeout time.Duration) (handshake, error)

// measureRTT times handshakes, and ICMP echoes beside them where this user may
// send them. The handshake counts: it goes the way of the transfer, through the
// same firewalls and queues. ICMP answers where TCP is silent, and gives away a
// middlebox that completes handshakes in the far end's name.
func measureRTT(ctx context.Context, to netip.AddrPort) (RTT, handshake, error) {
	return measureRTTBy(ctx, to, connect, echo)
}

func measureRTTBy(ctx context.Context, to netip.AddrPort, connect connector, echo func(context.Context, netip.Addr) RTT) (RTT, handshake, error) {
	echoes := make(chan RTT, 1)
	echoCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { echoes <- echo(echoCtx, to.Addr()) }()

	r, h, err := handshakes(ctx, to, connect)
	if ctx.Err() != nil {
		return RTT{}, handshake{}, fmt.Errorf("measure round-trip time to %v: %w", to, ctx.Err())
	}
	grace := time.NewTimer(r.Max + 100*time.Millisecond)
	defer grace.Stop()
	var e RTT
	select {
	case e = <-echoes:
	case <-grace.C: // most hosts answer at once or not at all
		cancel()
		e = <-echoes
	}
	best, err := better(to, r, e, err)
	return best, h, err
}

// better is the round-trip time that counts: that of the handshakes r, or of the
// echoes e where TCP is silent. err is why no handshake could be tried.
func better(to netip.AddrPort, r, e RTT, err error) (RTT, error) {
	switch {
	case r.Count == 0 && e.Count == 0 && err != nil:
		return RTT{}, fmt.Errorf("measure round-trip time: %w", err)
	case r.Count == 0 && e.Count == 0:
		return RTT{}, fmt.Errorf("measure round-trip time to %v: no answer to TCP or ICMP; check the address, the port and the firewalls", to)
	case r.Count == 0:
		return e, nil
	case e.Count > 0 && r.Min < e.Min/2 && e.Min-r.Min > 5*time.Millisecond:
		r.Note = fmt.Sprintf("ICMP takes %.1f ms: the handshake may be answered by something nearer than the far end", float64(e.Min)/1e6)
	}
	return r, nil
}

// handshakes connects several times, without waiting for one answer before
// the next question. The first may be slowed by ARP and by sleeping processors:
// the minimum counts.
func handshakes(ctx context.Context, to netip.AddrPort, connect connector) (RTT, handshake, error) {
	type result struct {
		handshake
		err error
	}
	results := make(chan result, rttSamples)
	next := time.NewTicker(rttSpacing)
	defer next.Stop()
	var (
		started int
		got     []handshake
		lost    int
		failed  error
		enough  <-chan time.Time // when waiting for more is no use
	)
	start := func() {
		started++
		go func() { // on a thread of its own; it ends by its timeout
			h, err := connect(to, connectTimeout)
			results <- result{h, err}
		}()
	}
	take := func(r result) {
		switch {
		case r.err == nil:
			got = append(got, r.handshake)
		case errors.Is(r.err, errNoAnswer):
			lost++
		default:
			lost, failed = lost+1, r.err
		}
	}
	for start(); len(got)+lost < rttSamples; {
		select {
		case r := <-results:
			if take(r); r.err != nil && failed != nil && len(got) == 0 {
				return RTT{}, handshake{}, failed // no route, not permitted: asking again does not help
			}
		case <-next.C:
			if started < rttSamples {
				start()
			} else if len(got) > 0 && enough == nil {
				slowest := slices.MaxFunc(got, func(a, b handshake) int { return cmp.Compare(a.rtt, b.rtt) })
				enough = time.After(slowest.rtt + 200*time.Millisecond)
			}
		case <-enough:
			lost = rttSamples - len(got)
		case <-ctx.Done():
			return RTT{}, handshake{}, ctx.Err()
		}
	}
	times := make([]time.Duration, len(got))
	for i, h := range got {
		times[i] = h.rtt
	}
	r := summariseRTT(times, rttSamples, methodHandshake)
	if len(got) == 0 {
		return r, handshake{}, failed
	}
	return r, got[len(got)-1], nil
}

// echo sends ICMP echoes, unprivileged if the system has that, or raw. Without
// permission, or without answers, it gives nothing.
func echo(ctx context.Context, to netip.Addr) RTT {
	for _, privileged := range []bool{false, true} {
		p := probing.New("")
		p.SetIPAddr(&net.IPAddr{IP: to.AsSlice(), Zone: to.Zone()})
		p.SetPrivileged(privileged)
		p.SetLogger(probing.NoopLogger{})
		p.Count = 5
		p.Interval = rttSpacing
		p.Timeout = initialRTO
		if err := p.RunWithContext(ctx); err != nil && p.PacketsRecv == 0 {
			continue // not permitted this way
		}
		return summariseRTT(p.Statistics().Rtts, p.PacketsSent, methodEcho)
	}
	return RTT{}
}

// summariseRTT orders times. sent is how many questions were asked.
func summariseRTT(times []time.Duration, sent int, method string) RTT {
	r := RTT{Count: len(times), Lost: max(0, sent-len(times)), Method: method}
	if len(times) == 0 {
		return r
	}
	slices.Sort(times)
	r.Min, r.Median, r.Max = times[0], times[len(times)/2], times[len(times)-1]
	if n := len(times); n%2 == 0 {
		r.Median = (times[n/2-1] + times[n/2]) / 2
	}
	return r
}
