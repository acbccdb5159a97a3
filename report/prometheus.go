package report

import (
	"fmt"
	"io"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/exposition"
	"github.com/fullbore/fullbore/peer/iperf3/document"
)

// Prometheus writes a transfer's results in Prometheus' text format, for
// node_exporter's textfile collector: gauges in base units, for the measured
// time, with the labels target, protocol and direction ("forward": the client
// sends). What is not known has no sample; a transfer that failed before it
// moved anything has its failure only.
//
// The collector reads whatever files there are: write to a file of another name
// and rename it.
func Prometheus(w io.Writer, r document.Record) error {
	if r.Result == nil {
		r.Result = &bulk.Result{Spec: bulk.Spec{Direction: bulk.Forward}}
	}
	protocol := "tcp"
	if r.Result.Spec.Protocol == bulk.UDP {
		protocol = "udp"
	}
	m := exposition.New("fullbore_transfer_", "target", r.Host, "protocol", protocol)
	success := 1.0
	if r.Failed != nil {
		success = 0
	}
	m.Gauge("success", "Whether the transfer did what was asked: 1, or 0.", success)
	if !r.Began.IsZero() {
		m.Gauge("start_timestamp_seconds", "When the transfer began.", float64(r.Began.UnixMilli())/1000)
	}
	for _, d := range r.Result.Spec.Directions() {
		metricsOfWay(m, r.Result, d)
	}
	for _, end := range []struct {
		name string
		cpu  bulk.CPU
	}{{"client", r.Result.Client.CPU}, {"server", r.Result.Server.CPU}} {
		if end.cpu.Elapsed > 0 {
			help := "Processor time of fullbore's process, or its peer's."
			m.Gauge("cpu_seconds", help, end.cpu.User.Seconds(), "end", end.name, "mode", "user")
			m.Gauge("cpu_seconds", help, end.cpu.System.Seconds(), "end", end.name, "mode", "system")
		}
	}
	if _, err := io.WriteString(w, m.String()); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// metricsOfWay adds the gauges of one direction.
func metricsOfWay(m *exposition.Text, r *bulk.Result, d bulk.Direction) {
	streams, sum := document.Totals(r, d)
	if len(streams) == 0 {
		return
	}
	gauge := func(name, help string, v float64, labels ...string) {
		m.Gauge(name, help, v, append([]string{"direction", string(d)}, labels...)...)
	}
	gauge("streams", "Connections or flows that carried the transfer.", float64(len(streams)))
	for _, half := range []struct {
		name string
		document.Half
	}{{"sender", sum.Sent}, {"receiver", sum.Received}} {
		if !half.Known {
			continue
		}
		gauge("moved_bytes", "Bytes that the application moved, at the sender and at the receiver.", float64(half.Bytes), "end", half.name)
		gauge("duration_seconds", "Measured time, at the sender and at the receiver.", half.Elapsed.Seconds(), "end", half.name)
		if r.Spec.Protocol == bulk.UDP {
			gauge("datagrams", "Datagrams sent, and those that the receiver counted.", float64(half.Packets), "end", half.name)
		}
	}
	if sum.Received.Known {
		gauge("goodput_bytes_per_second", "What reached the receiving application.", float64(r.Goodput(d))/8)
	}
	if sum.Retransmits >= 0 && r.Spec.Protocol != bulk.UDP {
		gauge("retransmitted_segments", "Segments sent again.", float64(sum.Retransmits))
	}
	if sum.MeanRTT > 0 {
		help := "Round-trip time of the loaded connections, smoothed by the sender's kernel."
		for _, v := range []struct {
			stat string
			rtt  time.Duration
		}{{"min", sum.MinRTT}, {"mean", sum.MeanRTT}, {"max", sum.MaxRTT}} {
			gauge("rtt_seconds", help, v.rtt.Seconds(), "stat", v.stat)
		}
	}
	if r.Spec.Protocol == bulk.UDP && sum.Received.Known {
		gauge("lost_datagrams", "Datagrams that did not come.", float64(sum.Lost))
		gauge("out_of_order_datagrams", "Datagrams that came after a later one.", float64(sum.OutOfOrder))
		gauge("jitter_seconds", "Jitter at the receiver as RFC 1889 smooths it, mean of the flows.", sum.Jitter.Seconds())
		if sum.Received.Packets > 0 {
			gauge("lost_ratio", "Share of the datagrams that did not arrive, 0 to 1.", document.LostPercent(sum.Lost, sum.Received.Packets)/100)
		}
	}
}
