package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/exposition"
	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/unit"
)

// WatchMetrics writes one look at the flows of this host in Prometheus' text
// format: sums by cause and by process of the flows that are shown, and series of
// their own for the first few of them. However many flows there are, there are at
// most as many series as causes, plus a handful for each of few.
func WatchMetrics(w io.Writer, look *flow.Snapshot, shown []flow.Flow, few int) error {
	m := exposition.New("fullbore_watch_")
	m.Gauge("look_timestamp_seconds", "When the flows were looked at.", float64(look.At.UnixMilli())/1000)
	m.Gauge("look_interval_seconds", "Time since the look before, over which rates are averaged.", look.Over.Seconds())
	m.Gauge("open_flows", "TCP connections of this host that are open, shown or not.", float64(len(look.Flows)))
	m.Gauge("time_wait_flows", "TCP connections that only wait for their end.", float64(look.TimeWait))
	m.Gauge("unattributed_flows", "Flows whose process may not be seen.", float64(look.Hidden))
	sumsOfFlows(m, "cause", shown, Limit, len(diagnose.Causes)+1) // and idle
	sumsOfFlows(m, "process", shown, func(f *flow.Flow) string { return f.Process }, few)
	for i := range shown[:min(few, len(shown))] {
		metricsOfFlow(m, &shown[i])
	}
	if _, err := io.WriteString(w, m.String()); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// metricsOfFlow adds the gauges of one flow.
func metricsOfFlow(m *exposition.Text, f *flow.Flow) {
	gauge := func(name, help string, v float64, more ...string) {
		m.Gauge("flow_"+name, help, v, append([]string{"process", f.Process, "local", Endpoint(f.Local), "remote", Endpoint(f.Remote)}, more...)...)
	}
	gauge("goodput_bytes_per_second", "What a flow moves, in its larger direction.", float64(f.Goodput)/8, "direction", direction(f.Sends))
	gauge("rtt_seconds", "Round-trip time of a flow, smoothed by the kernel.", f.RTT.Seconds())
	gauge("retransmitted_ratio", "Share of the bytes sent that were sent again, 0 to 1.", f.Lost)
	gauge("limit", "What limits a flow now, as its cause; always 1.", 1, "cause", Limit(f))
}

// others is the sum of what has no series of its own.
const others = "(others)"

// sumsOfFlows adds the gauges of groups of flows, the fastest most groups by themselves.
func sumsOfFlows(m *exposition.Text, label string, shown []flow.Flow, group func(*flow.Flow) string, most int) {
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
		m.Gauge(label+"_flows", "Flows that are shown, by "+label+".", float64(all[name].flows), label, name)
		help := "What the flows that are shown move, by " + label + "."
		m.Gauge(label+"_goodput_bytes_per_second", help, float64(all[name].out)/8, label, name, "direction", "out")
		m.Gauge(label+"_goodput_bytes_per_second", help, float64(all[name].in)/8, label, name, "direction", "in")
	}
}

// direction names the direction in which a flow moves most.
func direction(sends bool) string {
	if sends {
		return "out"
	}
	return "in"
}
