package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/peer/iperf3/document"
	"github.com/fullbore/fullbore/unit"
)

// Transfer writes one transfer's results below its rows: for each direction
// goodput, why less was received than sent, what the flows went through, and
// what it cost both processors; verbose: everything that is known.
func Transfer(w io.Writer, r *bulk.Result, verbose bool) {
	t := &sheet{w: w}
	for _, d := range r.Spec.Directions() {
		f := r.Figures(d)
		t.entry("goodput", goodput(r, &f))
		if f.MayBeHigh != nil {
			t.text(f.MayBeHigh.Says)
		}
		if f.Datagrams == nil {
			t.text(f.Difference.Says)
		} else {
			t.entry("lost", lost(f.Datagrams))
			t.entry("offered", offered(&r.Spec))
		}
		if f.Repeated != nil {
			t.entry("sent again", again(f.Repeated))
		}
		if says := latency(&f); says != "" {
			t.entry("RTT", says)
		}
		if f.Waited != nil {
			t.entry("waited for", fmt.Sprintf("receiver's window %s, send buffer %s, path %s of the time; %s idle",
				unit.Percent(f.Waited.Window), unit.Percent(f.Waited.Buffer), unit.Percent(f.Waited.Path), unit.Percent(f.Waited.Idle)))
		}
		if a := cmp.Or(f.SenderACKs, f.ReceiverACKs); a != nil && a.Back > 0 {
			t.entry("ACKs", fmt.Sprintf("one for %.3g segments", a.Ratio))
		}
		way(t, &f)
		if verbose {
			details(t, &f)
			streams(t, r, d)
		}
	}
	if says := smallFlow(r.Small()); says != "" {
		t.entry("small flow", says)
	}
	ends := []*bulk.End{&r.Client, &r.Server}
	for i, e := range ends {
		t.entry(first(i, "CPU"), fmt.Sprintf("%s: %s", endName(r, e), cost(r.Cost(e))))
		if verbose && e.CPU.Quota > 0 {
			t.text(fmt.Sprintf("its control group may use %.3g CPUs, and was held back for %v", e.CPU.Quota, e.CPU.Throttled.Round(time.Millisecond)))
		}
	}
	for _, e := range ends {
		if e.Error != "" {
			t.entry("error", fmt.Sprintf("%s: %s", endName(r, e), e.Error))
		}
	}
	if verbose {
		counters(t, r)
	}
}

// goodput says how much went from where to where.
func goodput(r *bulk.Result, f *bulk.Figures) string {
	way := ""
	if r.Spec.Direction == bulk.Both {
		way = map[bulk.Direction]string{bulk.Forward: "forward, ", bulk.Reverse: "reverse, "}[f.Direction]
	}
	rate, sent, received := "not known", "not known what was sent", "not known what was received"
	if len(r.Senders(f.Direction)) > 0 {
		sent = fmt.Sprintf("%s sent in %.2f s", unit.Size(f.Sent.Bytes), f.Sent.Seconds)
	}
	if len(r.Receivers(f.Direction)) > 0 {
		rate, received = f.Goodput.String(), fmt.Sprintf("%s received in %.2f s", unit.Size(f.Received.Bytes), f.Received.Seconds)
	}
	return fmt.Sprintf("%s  %s%s to %s, %s: %s, %s", rate, way, cmp.Or(f.From, "far end"), cmp.Or(f.To, "far end"), unit.Count(f.Streams, "stream"), sent, received)
}

// endName names an end so that the two differ, also where both are one host.
func endName(r *bulk.Result, e *bulk.End) string {
	name := "this end"
	if e == &r.Server {
		name = "far end"
	}
	if e.Host != "" {
		name += ", " + e.Host
	}
	return name
}

func lost(d *bulk.Datagrams) string {
	share := document.LostPercent(d.Lost, d.Packets) / 100
	return fmt.Sprintf("%d of %d datagrams (%s), %d out of order, jitter %s",
		d.Lost, d.Packets, unit.Percent(share), d.OutOfOrder, unit.Milliseconds(time.Duration(d.Jitter*float64(time.Second))))
}

// offered is what a UDP sender was asked for: nothing else slows it down.
func offered(spec *bulk.Spec) string {
	says := "as much as it could send"
	if spec.Rate > 0 {
		says = spec.Rate.String() + " for each flow"
	}
	if spec.Length > 0 {
		says += fmt.Sprintf(", in datagrams of %d bytes", spec.Length)
	}
	return says
}

func again(r *bulk.Repeated) string {
	if r.Segments == nil {
		return "not known"
	}
	says := unit.Count(int(*r.Segments), "segment")
	if *r.Segments == 0 {
		return "nothing"
	}
	if r.Share != nil {
		says += fmt.Sprintf(", %s of the data", unit.Percent(*r.Share))
	}
	if r.Spurious != nil && *r.Spurious > 0 {
		says += fmt.Sprintf(", %d of them needlessly", *r.Spurious)
	}
	return says
}

func latency(f *bulk.Figures) string {
	if f.LoadedRTT == nil {
		return ""
	}
	says := fmt.Sprintf("%s in the loaded flow (%s)", unit.Milliseconds(f.LoadedRTT.Median), scatter(f.LoadedRTT))
	if f.LeastRTT > 0 {
		says += fmt.Sprintf(", least ever %s", unit.Milliseconds(f.LeastRTT))
	}
	return says
}

func smallFlow(s *bulk.SmallFlow) string {
	if s == nil || s.Loaded == nil {
		return ""
	}
	says := fmt.Sprintf("RTT %s beside the load (%s)", unit.Milliseconds(s.Loaded.Median), scatter(s.Loaded))
	if s.Before != nil {
		says += fmt.Sprintf(", %s before", unit.Milliseconds(s.Before.Median))
	}
	if s.Lost > 0 {
		says += fmt.Sprintf("; %d of %d had no answer within a second", s.Lost, s.Lost+s.Loaded.Count)
	}
	return says
}

func scatter(s *bulk.Spread) string {
	return fmt.Sprintf("%s to %s, 95 %% below %s", unit.Milliseconds(s.Min), unit.Milliseconds(s.Max), unit.Milliseconds(s.P95))
}

// way says how the bytes were handed over where that is not what applications do.
func way(t *sheet, f *bulk.Figures) {
	var ways []string
	if path := bulk.SendPath(f.Connection.SendPath); path != "" && path != bulk.SendCopy {
		ways = append(ways, fmt.Sprintf("sent by %s", path))
	}
	if path := bulk.RecvPath(f.Connection.RecvPath); path != "" && path != bulk.RecvCopy {
		ways = append(ways, fmt.Sprintf("received by %s", path))
	}
	if len(ways) > 0 {
		t.entry("way", strings.Join(ways, ", ")+": less work than for an application that copies")
	}
	if f.Connection.Note != "" {
		t.entry("way", f.Connection.Note)
	}
	if sends := f.Connection.ZeroCopied + f.Connection.Copied; sends > 0 {
		t.text(fmt.Sprintf("%d of %d sends went without a copy", f.Connection.ZeroCopied, sends))
	}
}

// cost says what a transfer cost one host, in processors, as the GigaSwift article
// does: a percentage would depend on how many there are.
func cost(c *bulk.Cost) string {
	if c == nil {
		return "not known"
	}
	says := fmt.Sprintf("%.2f CPUs by this process", c.Process)
	if c.ProcessPerGB != nil {
		says = fmt.Sprintf("%.3g CPU-s/GB by this process", *c.ProcessPerGB)
		if c.HostPerGB != nil {
			says += fmt.Sprintf(", %.3g by the whole host", *c.HostPerGB)
		}
	}
	if c.Host != nil {
		says += fmt.Sprintf("; %.2f of %d CPUs busy, %.2f of them with network interrupts, busiest core %s", *c.Host, c.Cores, *c.SoftIRQ, unit.Percent(*c.Busiest))
	}
	return says
}
