package report

import (
	"fmt"
	"io"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// Transfer writes one transfer: goodput of each direction, what the senders'
// flows went through, and what it cost both processors.
func Transfer(w io.Writer, r *bulk.Result) {
	t := &table{w: w}
	for _, d := range directions(r) {
		from, to := r.Client.Host, r.Server.Host
		if d == bulk.Reverse {
			from, to = to, from
		}
		t.row("goodput", fmt.Sprintf("%s  %s to %s, %s, %s received",
			r.Goodput(d), from, to, count(len(r.Receivers(d)), "stream"), unit.Size(r.Received(d))))
		for _, s := range r.Senders(d) {
			if n := len(s.Samples); n > 0 && s.Samples[n-1].TCP.Length > 0 {
				last := s.Samples[n-1].TCP
				t.text(fmt.Sprintf("stream %d: %s, MSS %d, RTT %.3g ms (least %.3g ms), window %s, %d of %d segments sent again",
					s.ID, s.Congestion, s.MSS, float64(last.RTT)/1000, float64(last.MinRTT)/1000,
					unit.Size(int64(last.SndCwnd)*int64(last.SndMSS)), last.TotalRetrans, last.SegsOut))
				t.text(limits(last))
			}
		}
	}
	for _, e := range []*bulk.End{&r.Client, &r.Server} {
		t.row("CPU", fmt.Sprintf("%s: %s", e.Host, CPU(e.CPU)))
		if e.Error != "" {
			t.row("error", fmt.Sprintf("%s: %s", e.Host, e.Error))
		}
	}
}

// limits says what held the sender back, as the kernel's chronograph has it.
func limits(info bulk.TCPInfo) string {
	if info.BusyTime == 0 {
		return "the kernel does not tell what the sender waited for"
	}
	share := func(us uint64) float64 { return 100 * float64(us) / float64(info.BusyTime) }
	return fmt.Sprintf("held back by: receiver's window %.0f %%, send buffer %.0f %%, congestion window or path %.0f %% of the time",
		share(info.RwndLimited), share(info.SndbufLimited), 100-share(info.RwndLimited)-share(info.SndbufLimited))
}

// CPU says what a transfer cost one host, in processors: a percentage would
// depend on how many there are (S2).
func CPU(c bulk.CPU) string {
	if c.Elapsed <= 0 {
		return "unknown"
	}
	busy, softirq, busiest := 0.0, 0.0, 0.0
	for _, core := range c.Cores {
		busy += core.Busy
		softirq += core.SoftIRQ
		busiest = max(busiest, core.Busy)
	}
	return fmt.Sprintf("%.2f of %d CPUs busy (%.2f with network interrupts, this process %.2f), busiest core %.0f %%",
		busy, len(c.Cores), softirq, (c.User+c.System).Seconds()/c.Elapsed.Seconds(), 100*busiest)
}

// directions of a transfer, one by one.
func directions(r *bulk.Result) []bulk.Direction {
	if r.Spec.Direction == bulk.Both {
		return []bulk.Direction{bulk.Forward, bulk.Reverse}
	}
	return []bulk.Direction{r.Spec.Direction}
}

// count writes a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
