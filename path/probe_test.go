package path

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// brokenHelper gives what it has, in place of a far end.
type brokenHelper struct {
	ticket Ticket
	err    error
}

func (h brokenHelper) OpenProbe(context.Context) (Ticket, error) { return h.ticket, h.err }

func (h brokenHelper) Observed(context.Context, string) (Observed, error) { return Observed{}, h.err }

// listen is a TCP port of this host.
func listen(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// A far end that does not help as it should costs the capacity, not the probe.
func TestProbeBrokenHelper(t *testing.T) {
	const good = "000102030405060708090a0b0c0d0e0f"
	for _, c := range []struct {
		name   string
		helper Helper
		note   string
	}{
		{"none", nil, "the far end does not help"},
		{"refuses", brokenHelper{err: errors.New("not today")}, "not today"},
		{"bad cookie", brokenHelper{ticket: Ticket{Port: 9, Cookie: "xyz"}}, "cookie of 3 characters"},
		{"no port", brokenHelper{ticket: Ticket{Cookie: good}}, "no UDP port"},
		{"nobody at the port", brokenHelper{ticket: Ticket{Port: 9, Cookie: good}}, "UDP to port 9 is not answered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var said []string
			e, err := Probe(t.Context(), listen(t), c.helper, Options{Progress: func(s string) { said = append(said, s) }})
			if err != nil {
				t.Fatal(err)
			}
			if e.RTT.Count == 0 || e.RTT.Min <= 0 || e.RTT.Min > e.RTT.Median || e.RTT.Median > e.RTT.Max {
				t.Errorf("RTT %+v", e.RTT)
			}
			for _, d := range []Direction{e.Forward, e.Reverse} {
				if !d.Capacity.Assumed || d.Capacity.Method != methodAssumed || !strings.Contains(d.Capacity.Note, c.note) {
					t.Errorf("capacity %+v, want it assumed since %q", d.Capacity, c.note)
				}
			}
			if all := strings.Join(said, "\n"); !strings.Contains(all, "round-trip time") || !strings.Contains(all, "assuming 100 Mb/s") {
				t.Errorf("progress was\n%s", all)
			}
		})
	}
}

func TestProbeRefuses(t *testing.T) {
	for _, to := range []netip.AddrPort{{}, netip.MustParseAddrPort("127.0.0.1:0")} {
		if _, err := Probe(t.Context(), to, nil, Options{}); err == nil {
			t.Errorf("probed %v", to)
		}
	}
}

// The context ends a probe at once.
func TestProbeCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := Probe(ctx, listen(t), nil, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestSummariseRTT(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		times []time.Duration
		want  RTT
	}{
		{nil, RTT{Lost: 4, Method: methodEcho}},
		{[]time.Duration{9 * ms, 2 * ms, 4 * ms}, RTT{Min: 2 * ms, Median: 4 * ms, Max: 9 * ms, Count: 3, Lost: 1, Method: methodEcho}},
		{[]time.Duration{9 * ms, 2 * ms, 4 * ms, 5 * ms}, RTT{Min: 2 * ms, Median: 4500 * time.Microsecond, Max: 9 * ms, Count: 4, Method: methodEcho}},
	} {
		if got := summariseRTT(c.times, 4, methodEcho); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.times, got, c.want)
		}
	}
}

// called is what one handshake of many comes to, and after how long.
type called struct {
	after time.Duration
	handshake
	err error
}

// How many handshakes are tried, when enough is known, and what counts as lost.
func TestHandshakes(t *testing.T) {
	const ms = time.Millisecond
	noRoute := errors.New("no route")
	shake := func(rtt time.Duration) called { return called{rtt, handshake{rtt: rtt, sendMSS: int(rtt / ms)}, nil} }
	silent, fails := called{connectTimeout, handshake{}, errNoAnswer}, called{0, handshake{}, noRoute}
	times := func(n int, c called) []called { return slices.Repeat([]called{c}, n) }
	const last = (rttSamples - 1) * rttSpacing
	for _, c := range []struct {
		name        string
		calls       []called
		want        RTT
		shake       int // the segment size of the one that is given
		took        time.Duration
		tried       int
		err         error
		cancelAfter time.Duration
	}{
		{"all answer", times(10, shake(30*ms)), RTT{Min: 30 * ms, Median: 30 * ms, Max: 30 * ms, Count: 10}, 30, last + 30*ms, 10, nil, 0},
		{"the last answer counts for the segments", append(times(9, shake(30*ms)), shake(25*ms)),
			RTT{Min: 25 * ms, Median: 30 * ms, Max: 30 * ms, Count: 10}, 25, last + 25*ms, 10, nil, 0},
		// From a round of the ticker after the last was begun on, the slowest answer and 200 ms more are enough.
		{"one is silent", append([]called{silent}, times(9, shake(30*ms))...), RTT{Min: 30 * ms, Median: 30 * ms, Max: 30 * ms, Count: 9, Lost: 1}, 30, last + rttSpacing + 230*ms, 10, nil, 0},
		{"one is slow", append(times(9, shake(30*ms)), shake(240*ms)), RTT{Min: 30 * ms, Median: 30 * ms, Max: 240 * ms, Count: 10}, 240, last + 240*ms, 10, nil, 0},
		{"one is too slow", append(append([]called{shake(60 * ms)}, times(8, shake(30*ms))...), shake(300*ms)),
			RTT{Min: 30 * ms, Median: 30 * ms, Max: 60 * ms, Count: 9, Lost: 1}, 30, last + rttSpacing + 260*ms, 10, nil, 0},
		{"all are silent", times(10, silent), RTT{Lost: 10}, 0, last + connectTimeout, 10, nil, 0},
		{"the first cannot be tried", append([]called{fails}, times(9, shake(30*ms))...), RTT{}, 0, 0, 1, noRoute, 0},
		{"a later one cannot be tried", append(append(times(3, shake(10*ms)), fails), times(6, shake(10*ms))...),
			RTT{Min: 10 * ms, Median: 10 * ms, Max: 10 * ms, Count: 9, Lost: 1}, 10, last + 10*ms, 10, nil, 0},
		{"silent, then it cannot be tried", append([]called{silent}, times(9, called{connectTimeout, handshake{}, noRoute})...), RTT{}, 0, connectTimeout + rttSpacing, 10, noRoute, 0},
		{"nobody waits any more", times(10, silent), RTT{}, 0, 90 * ms, 5, context.DeadlineExceeded, 90 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.cancelAfter > 0 {
					limited, cancel := context.WithTimeout(ctx, c.cancelAfter)
					defer cancel()
					ctx = limited
				}
				began := time.Now()
				var mu sync.Mutex
				tried := 0
				got, shake, err := handshakes(ctx, netip.AddrPort{}, func(_ netip.AddrPort, timeout time.Duration) (handshake, error) {
					mu.Lock()
					call := c.calls[tried]
					tried++
					mu.Unlock()
					time.Sleep(min(call.after, timeout))
					return call.handshake, call.err
				})
				if c.want.Count+c.want.Lost > 0 {
					c.want.Method = methodHandshake
				}
				if took := time.Since(began); got != c.want || shake.sendMSS != c.shake || !errors.Is(err, c.err) || took != c.took || tried != c.tried {
					t.Errorf("%+v, segments %d (%v) after %v and %d tries; want %+v, %d (%v) after %v and %d", got, shake.sendMSS, err, took, tried, c.want, c.shake, c.err, c.took, c.tried)
				}
				time.Sleep(connectTimeout) // those that are still on their way end
			})
		})
	}
}

// Echoes are waited for a little beyond the handshakes: as long as the slowest of
// those took, and 100 ms.
func TestEchoesInTime(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name  string
		echo  time.Duration // when it has its result
		takes time.Duration // a handshake
		took  time.Duration
		note  bool
	}{
		{"before the handshakes", 100 * ms, 20 * ms, 200 * ms, true},
		{"in time", 319 * ms, 20 * ms, 319 * ms, true},
		{"too late", 321 * ms, 20 * ms, 320 * ms, false},
		{"in time on a slow path", 600 * ms, 250 * ms, 600 * ms, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			connect := func(netip.AddrPort, time.Duration) (handshake, error) {
				time.Sleep(c.takes)
				return handshake{rtt: c.takes}, nil
			}
			echo := func(ctx context.Context, _ netip.Addr) RTT {
				select {
				case <-time.After(c.echo):
					return RTT{Count: 1, Min: 3 * c.takes}
				case <-ctx.Done():
					return RTT{}
				}
			}
			r, _, err := measureRTTBy(t.Context(), netip.AddrPort{}, connect, echo)
			if took := time.Since(began); err != nil || r.Count != rttSamples || took != c.took || (r.Note != "") != c.note {
				t.Errorf("%s: %+v (%v) after %v, want it after %v", c.name, r, err, took, c.took)
			}
		})
	}
}

// The handshake counts, and an echo where TCP is silent. An echo that takes much
// longer than the handshake is worth a word.
func TestBetterRTT(t *testing.T) {
	const ms = time.Millisecond
	to := netip.MustParseAddrPort("198.18.0.1:5201")
	noRoute := errors.New("no route")
	rtt := func(method string, min time.Duration) RTT { return RTT{Min: min, Count: 1, Method: method} }
	none := RTT{Lost: 10, Method: methodHandshake}
	for _, c := range []struct {
		name string
		r, e RTT
		err  error
		want RTT
		says string // the error, or the note
	}{
		{"both", rtt(methodHandshake, 10*ms), rtt(methodEcho, 12*ms), nil, rtt(methodHandshake, 10*ms), ""},
		{"handshakes only", rtt(methodHandshake, 10*ms), RTT{}, nil, rtt(methodHandshake, 10*ms), ""},
		{"echoes only", none, rtt(methodEcho, 12*ms), nil, rtt(methodEcho, 12*ms), ""},
		{"echoes only, as TCP cannot be tried", none, rtt(methodEcho, 12*ms), noRoute, rtt(methodEcho, 12*ms), ""},
		{"neither", none, RTT{}, nil, RTT{}, "no answer to TCP or ICMP"},
		{"neither, as TCP cannot be tried", RTT{}, RTT{}, noRoute, RTT{}, "no route"},
		{"echoes take more than twice as long", rtt(methodHandshake, 9*ms), rtt(methodEcho, 20*ms), nil, rtt(methodHandshake, 9*ms), "ICMP takes 20.0 ms: "},
		{"just twice", rtt(methodHandshake, 10*ms), rtt(methodEcho, 20*ms), nil, rtt(methodHandshake, 10*ms), ""},
		{"more than twice, and by 5 ms", rtt(methodHandshake, ms), rtt(methodEcho, 6*ms), nil, rtt(methodHandshake, ms), ""},
		{"by a little more", rtt(methodHandshake, ms), rtt(methodEcho, 6*ms+1), nil, rtt(methodHandshake, ms), "ICMP takes 6.0 ms: "},
	} {
		got, err := better(to, c.r, c.e, c.err)
		said := got.Note
		if err != nil {
			said = err.Error()
		}
		got.Note = ""
		if got != c.want || (err != nil) != (c.want == RTT{}) || !strings.Contains(said, c.says) || (said == "") != (c.says == "") {
			t.Errorf("%s: %+v (%v), want %+v that says %q", c.name, got, err, c.want, c.says)
		}
	}
}

func TestEstimateInWords(t *testing.T) {
	for _, c := range []struct {
		of   any
		want string
	}{
		{Capacity{Rate: 100 * unit.Mbps, Assumed: true, High: unit.Gbps}, "assumed 100 Mb/s (not measured)"},
		{Capacity{Rate: unit.Gbps, Low: 900 * unit.Mbps}, "at least 900 Mb/s"},
		{Capacity{Rate: unit.Gbps, Low: 900 * unit.Mbps, High: 1100 * unit.Mbps}, "1 Gb/s (900 Mb/s to 1.1 Gb/s)"},
		{MTU{}, "unknown"},
		{MTU{Bytes: 1500}, "1500 bytes"},
	} {
		if got := fmt.Sprint(c.of); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
