package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/experiment"
	"github.com/fullbore/fullbore/nfs"
	"github.com/fullbore/fullbore/nfs/climb"
	"github.com/fullbore/fullbore/nfs/limit"
	"github.com/fullbore/fullbore/nfs/mounted"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// NFSBegin says what a test of NFS is about to do.
func NFSBegin(w io.Writer, m *nfs.Mount, load nfs.Load, connections int) {
	s := &sheet{w: w}
	granted := fmt.Sprintf("version %s, a file of %v; the server takes reads of %v and writes of %v", m.Version, unit.Size(m.Size), unit.Size(m.MaxRead), unit.Size(m.MaxWrite))
	if m.Slots > 0 {
		granted += ", " + unit.Count(m.Slots, "request") + " in flight (slots)"
	}
	s.row("server", granted)
	s.row("requests", NFSLoad(load, connections))
}

// NFSLoad is what a test asks of a file, in words.
func NFSLoad(load nfs.Load, connections int) string {
	return fmt.Sprintf("%s, %d in flight over %s", nfsRequests(load), load.Depth, unit.Count(connections, "connection"))
}

func nfsRequests(load nfs.Load) string {
	if load.Op != nfs.Read && load.Op != nfs.Write {
		return load.Op.String()
	}
	order := "one behind the other"
	if load.Random {
		order = "at random"
	}
	text := fmt.Sprintf("%v of %v, %s", load.Op, unit.Size(load.Size), order)
	if load.ReadAhead != nil {
		text += fmt.Sprintf(" with %v read ahead", *load.ReadAhead)
	}
	if load.Discard {
		text += ", dropped by the kernel without a copy"
	}
	if load.Coalesce {
		text += ", answers taken several at a time"
	}
	if load.Writes > 0 {
		text += fmt.Sprintf(", %s of them writes", unit.Percent(load.Writes))
	}
	return text
}

// NFSRow is how far a test is.
func NFSRow(w io.Writer, elapsed time.Duration, requests, bytes int64) {
	(&sheet{w: w}).row(fmt.Sprintf("%.0f s", elapsed.Seconds()), NFSRate(requests, bytes, elapsed))
}

// NFSRate is a rate in words.
func NFSRate(requests, bytes int64, elapsed time.Duration) string {
	text := fmt.Sprintf("%.0f requests a second", float64(requests)/elapsed.Seconds())
	if bytes > 0 {
		text += fmt.Sprintf(", %v", unit.RateOf(bytes, elapsed))
	}
	return text
}

// NFS writes what came of a test.
func NFS(w io.Writer, load nfs.Load, d *nfs.Document, f *nfs.Figures) {
	s := &sheet{w: w}
	s.row("rate", NFSRate(f.Requests, f.Bytes, f.Elapsed))
	if f.Requests == 0 {
		return
	}
	l := d.Latency
	s.row("latency", fmt.Sprintf("half within %.3g ms, 95 %% %.3g ms, 99 %% %.3g ms, 99.9 %% %.3g ms; at most %.3g ms", l.P50, l.P95, l.P99, l.P999, l.Max))
	law := fmt.Sprintf("%.3g on average (Little's law: %.0f a second of %.3g ms each)", d.InFlight, d.IOPS, l.Mean)
	if d.InFlight < enoughInFlight*float64(d.Depth) {
		law += fmt.Sprintf(", of %d asked for: this host could not keep more on their way", d.Depth)
	}
	s.row("in flight", law)
	if d.CPU > 0 {
		s.row("processor", fmt.Sprintf("%v of this host a request, %.2g processors in all", time.Duration(d.CPU*1000).Round(10*time.Nanosecond), d.CPU*d.IOPS/1e6))
	}
	if d.FarCPU != nil {
		us := func(us float64) time.Duration { return time.Duration(us * 1000).Round(10 * time.Nanosecond) }
		text := fmt.Sprintf("%v of the server's far end a request", us(d.FarCPU.Process))
		if d.FarCPU.Host > 0 {
			text = fmt.Sprintf("%v of the server's host a request, all that it did; %v of its far end", us(d.FarCPU.Host), us(d.FarCPU.Process))
		}
		s.row("", text)
	}
	if len(f.Connections) > 1 {
		least, most := f.Connections[0].Requests, f.Connections[0].Requests
		for _, c := range f.Connections {
			least, most = min(least, c.Requests), max(most, c.Requests)
		}
		s.row("shares", fmt.Sprintf("%.0f to %.0f requests a second of each connection", float64(least)/d.Seconds, float64(most)/d.Seconds))
	}
	s.window(load.Op, f)
	if f.Delays > 0 {
		s.row("delays", unit.Count(int(f.Delays), "request")+" that the server asked to have sent again later: it is short of something")
	}
}

// NFSRun writes one of several runs, as it ends.
func NFSRun(w io.Writer, number int, f *nfs.Figures) {
	(&sheet{w: w}).row(fmt.Sprintf("run %d", number), NFSRate(f.Requests, f.Bytes, f.Elapsed))
}

// NFSRepeated writes the summary of several runs.
func NFSRepeated(w io.Writer, r *experiment.RequestsRepeat) {
	s := &sheet{w: w}
	s.entry("rate", fmt.Sprintf("%s (%s)", middle(&r.IOPS, RequestsASecond), unit.Count(r.Runs, "run")))
	if r.Goodput != nil {
		s.text(middle(r.Goodput, rate))
	}
	s.unsettled(&r.Repeated)
	s.entry("latency", "half within: "+middle(&r.Latency.P50, milliseconds))
	s.entry("", "99 %: "+middle(&r.Latency.P99, milliseconds))
}

func milliseconds(ms float64) string { return fmt.Sprintf("%.3g ms", ms) }

// window says how much the connections' windows let through (window/RTT), and how much of
// that was used. The round trip is the least one seen: with a longer one they let through
// less.
func (s *sheet) window(op nfs.Op, f *nfs.Figures) {
	var window unit.Size
	var rtt time.Duration
	var repeated int64
	for _, c := range f.Connections {
		if c.TCP == nil || c.TCP.MinRTT == 0 {
			return
		}
		window += c.Window(op)
		rtt += time.Duration(c.TCP.MinRTT) * time.Microsecond / time.Duration(len(f.Connections))
		repeated += c.Repeat
	}
	most := diagnose.WindowRate(window, rtt)
	if most == 0 || f.Bytes == 0 {
		return
	}
	used := float64(unit.RateOf(f.Bytes, f.Elapsed) / most)
	text := fmt.Sprintf("%v over a round trip of %s make %v at most; %s of that was used", window, unit.Milliseconds(rtt), most, unit.Percent(used))
	if len(f.Connections) > 1 {
		text = "of all connections: " + text
	}
	if repeated > 0 {
		text += fmt.Sprintf("; %s sent again by this host", unit.Count(int(repeated), "packet"))
	}
	s.row("window", text)
}

// enoughInFlight is the share of the requests in flight that were asked for, below which
// something else held them back.
const enoughInFlight = 0.9

// NFSTune writes what came of raising what holds requests back.
func NFSTune(w io.Writer, r *climb.Result) {
	s := &sheet{w: w}
	figure := func(f climb.Figure) string {
		text := fmt.Sprintf("%.0f requests a second", f.IOPS)
		if f.Goodput > 0 {
			text += fmt.Sprintf(", %v", f.Goodput)
		}
		return text + fmt.Sprintf("; half within %.3g ms, 99 %% within %.3g ms", f.Latency.P50, f.Latency.P99)
	}
	s.row("before", figure(r.Before))
	s.row("after", figure(r.After))
	if r.Gain > 1 {
		s.row("gain", fmt.Sprintf("%s (95 %% confidence: %s to %s)", unit.Factor(r.Gain), unit.Factor(r.GainCI95[0]), unit.Factor(r.GainCI95[1])))
	}
	s.entry("cause", r.Verdict.Cause)
	s.text(r.Verdict.Says)
	outcomes := func(label string, all []climb.Outcome) {
		for i, o := range all {
			s.entry(first(i, label), fmt.Sprintf("%s: %s -> %s", o.Setting, o.From, o.To))
			s.text(o.Effect)
		}
	}
	outcomes("kept", r.Kept)
	outcomes("put back", r.PutBack)
	for i, a := range r.Advice {
		s.entry(first(i, "advice"), a)
	}
	if r.Diff != "" {
		_, _ = fmt.Fprintln(w)
	}
	for line := range strings.Lines(r.Diff) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t") // patch needs its tabs
		for i := range fields {
			fields[i] = printable.Line(fields[i])
		}
		_, _ = fmt.Fprintln(w, strings.Join(fields, "\t"))
	}
}

// NFSMounted writes which file is read, and how it is mounted.
func NFSMounted(w io.Writer, p *mounted.Place) {
	s := &sheet{w: w}
	s.row("file", fmt.Sprintf("%s, %v", printable.Line(p.File), unit.Size(p.Size)))
	mount := fmt.Sprintf("%s on %s, version %s over %s, reads of up to %v", printable.Line(p.Device), printable.Line(p.Point), printable.Line(p.Version), unit.Count(p.Connections, "connection"), unit.Size(p.ReadSize))
	if p.ReadAhead != nil {
		mount += fmt.Sprintf(", %v read ahead", *p.ReadAhead)
	}
	s.row("mount", mount)
}

// NFSLimits writes what holds a file's requests back.
func NFSLimits(w io.Writer, e *limit.Evidence, found []limit.Finding) {
	s := &sheet{w: w}
	s.row("now", fmt.Sprintf("%.0f requests a second, %s each; %s in flight over %s", e.Now.IOPS, unit.Milliseconds(e.Now.Mean), unit.Count(e.Depth, "request"), unit.Count(e.Connections, "connection")))
	s.row("alone", fmt.Sprintf("%s; for the same block each time %s; a call that does nothing %s", unit.Milliseconds(e.Alone.Mean), unit.Milliseconds(e.Again.Mean), unit.Milliseconds(e.Idle.Null)))
	for i, f := range found {
		s.entry(first(i, "cause"), f.Cause)
		s.text(f.Says)
		if f.Predicted > 1.05*e.Now.IOPS {
			s.text(fmt.Sprintf("Without that: up to %.0f requests a second.", f.Predicted))
		}
		s.text("To do: " + f.Action + ".")
	}
}
