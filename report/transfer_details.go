package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// details writes what else the figures have.
func details(t *sheet, f *bulk.Figures) {
	c := f.Connection
	if f.Datagrams == nil {
		t.entry("connection", fmt.Sprintf("%s, MSS %s, path MTU %s; sent by %s, received by %s", cmp.Or(c.Congestion, "congestion control not known"),
			known(c.MSS), known(c.PathMTU), cmp.Or(c.SendPath, "a way not known"), cmp.Or(c.RecvPath, "a way not known")))
	}
	if len(c.SenderCPUs) > 0 || len(c.ReceiverCPUs) > 0 {
		t.text(fmt.Sprintf("pinned to CPUs %v at the sender, %v at the receiver", c.SenderCPUs, c.ReceiverCPUs))
	}
	if r := f.Repeated; r != nil && r.Bytes != nil {
		says := unit.Size(*r.Bytes).String()
		if r.Timeouts != nil {
			says += fmt.Sprintf(", %s", unit.Count(int(*r.Timeouts), "timeout"))
		}
		if r.Reorders != nil && r.Reordering != nil {
			says += fmt.Sprintf("; reordering seen %s, tolerated up to %s", unit.Count(int(*r.Reorders), "time"), unit.Count(*r.Reordering, "segment"))
		}
		t.entry("repeated", says)
	}
	if a := f.Arrived; a != nil {
		says := fmt.Sprintf("window up to %s, %s read in a round trip", unit.Size(a.Window), unit.Size(a.Space))
		if a.RTT > 0 {
			says += fmt.Sprintf(" of %s", unit.Milliseconds(a.RTT))
		}
		if a.OutOfOrder != nil {
			says += fmt.Sprintf(", %s out of order", unit.Count(int(*a.OutOfOrder), "segment"))
		}
		t.entry("receiver", says)
	}
	for _, end := range []struct {
		name string
		acks *bulk.ACKs
	}{{"sender", f.SenderACKs}, {"receiver", f.ReceiverACKs}} {
		if end.acks == nil {
			continue
		}
		t.entry("ACKs", fmt.Sprintf("%s: %d data segments, %d back, %.3g for one", end.name, end.acks.Data, end.acks.Back, end.acks.Ratio))
		for _, p := range end.acks.Series {
			says := fmt.Sprintf("to %.1f s: %.0f segments/s, %.3g for one ACK", p.At.Seconds(), p.Rate, p.Ratio)
			if p.Again > 0 {
				says += fmt.Sprintf(", %.0f/s sent again", p.Again)
			}
			t.text(says)
		}
	}
}

func known(n int) string {
	if n == 0 {
		return "not known"
	}
	return fmt.Sprint(n)
}

// streams writes a line for each stream.
func streams(t *sheet, r *bulk.Result, d bulk.Direction) {
	received := map[int]bulk.Stream{}
	for _, s := range r.Receivers(d) {
		received[s.ID] = s
	}
	for i, s := range r.Senders(d) {
		to := received[s.ID]
		says := fmt.Sprintf("%d  %s -> %s  %s sent, %s received, %s", s.ID, s.Local, s.Remote,
			unit.Size(s.Bytes), unit.Size(to.Bytes), unit.RateOf(to.Bytes, to.Elapsed))
		if s.Retransmits >= 0 {
			says += fmt.Sprintf(", %d sent again", s.Retransmits)
		}
		t.entry(first(i, "streams"), says)
		for _, note := range []string{s.CPUNote, to.CPUNote} {
			if note != "" {
				t.text(note)
			}
		}
	}
}

// counters writes how the kernels' counters of TCP, IP and UDP changed.
func counters(t *sheet, r *bulk.Result) {
	for _, e := range []*bulk.End{&r.Client, &r.Server} {
		var changed []string
		for name, n := range e.Counters {
			if n != 0 {
				changed = append(changed, fmt.Sprintf("%s %+d", name, n))
			}
		}
		slices.Sort(changed)
		if len(changed) > 0 {
			t.entry("counters", fmt.Sprintf("%s: %s", endName(r, e), strings.Join(changed, ", ")))
		}
	}
}
