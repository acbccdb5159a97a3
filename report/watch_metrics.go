package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/unit"
)

// WatchMetrics writes one look at the flows of this host in Prometheus' text
// format: sums by cause and by process of the flows that are shown, and series of
// their own for the first few of them. However many flows there are, there are at
// most as many series as causes, plus a handful for each of few.
func WatchMetrics(w io.Writer, look *flow.Snapshot, shown []flow.Flow, few int) error {
	m := &metrics{prefix: "fullbore_watch_"}
	m.gauge("look_timestamp_seconds", "When the flows were looked at.", float64(look.At.UnixMilli())/1000)
	m.gauge("look_interval_seconds", "Time since the look before, over which rates are averaged.", look.Over.Seconds())
	m.gauge("open_flows", "TCP connections of this host that are open, shown or not.", float64(len(look.Flows)))
	m.gauge("time_wait_flows", "TCP connections that only wait for their end.", float64(look.TimeWait))
	m.gauge("unattributed_flows", "Flows whose process may not be seen.", float64(look.Hidden))
	m.sums("cause", shown, Limit, len(diagnose.Causes)+1) // and idle
	m.sums("process", shown, func(f *flow.Flow) string { return f.Process }, few)
	for i := range shown[:min(few, len(shown))] {
		m.flow(&shown[i])
	}
	if _, err := io.WriteString(w, m.text()); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// flow are the gauges of one flow.
func (m *metrics) flow(f *flow.Flow) {
	gauge := func(name, help string, v float64, more ...string) {
		m.gauge("flow_"+name, help, v, append([]string{"process", f.Process, "local", Endpoint(f.Local), "remote", Endpoint(f.Remote)}, more...)...)
	}
	gauge("goodput_bytes_per_second", "What a flow moves, in its larger direction.", float64(f.Goodput)/8, "direction", direction(f.Sends))
	gauge("rtt_seconds", "Round-trip time of a flow, smoothed by the kernel.", f.RTT.Seconds())
	gauge("retransmitted_ratio", "Share of the bytes sent that were sent again, 0 to 1.", f.Lost)
	gauge("limit", "What limits a flow now, as its cause; always 1.", 1, "cause", Limit(f))
}

// others is the sum of what has no series of its own.
const others = "(others)"

// sums are the gauges of groups of flows, the fastest most groups by themselves.
func (m *metrics) sums(label string, shown []flow.Flow, group func(*flow.Flow) string, most int) {
	type sum struct {
		flows   int
		out, in unit.Rate
	}
	all := map[string]sum{}
	for i := range shown {
		f := &shown[i]
		s := all[group(f)]
		s.flows++
		if f.Sends {
			s.out += f.Goodput
		} else {
			s.in += f.Goodput
		}
		all[group(f)] = s
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b].out+all[b].in, all[a].out+all[a].in), cmp.Compare(a, b))
	})
	for _, name := range names[min(most, len(names)):] {
		rest, s := all[others], all[name]
		all[others] = sum{rest.flows + s.flows, rest.out + s.out, rest.in + s.in}
	}
	names = names[:min(most, len(names))]
	if _, rest := all[others]; rest && !slices.Contains(names, others) {
		names = append(names, others)
	}
	for _, name := range names {
		m.gauge(label+"_flows", "Flows that are shown, by "+label+".", float64(all[name].flows), label, name)
		help := "What the flows that are shown move, by " + label + "."
		m.gauge(label+"_goodput_bytes_per_second", help, float64(all[name].out)/8, label, name, "direction", "out")
		m.gauge(label+"_goodput_bytes_per_second", help, float64(all[name].in)/8, label, name, "direction", "in")
	}
}

// direction names the direction in which a flow moves most.
func direction(sends bool) string {
	if sends {
		return "out"
	}
	return "in"
}
