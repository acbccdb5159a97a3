package path

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
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
