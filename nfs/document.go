package nfs

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/fullbore/fullbore/unit"
)

// Schema of [Document].
const Schema = "fullbore/nfs-test/1"

// Document is a test for programs (docs/json.md).
type Document struct {
	Schema string `json:"schema"`
	Target string `json:"target"`

	Version     string     `json:"version"` // of NFS: "3", "4.1" or "4.2"
	FileBytes   int64      `json:"file_bytes"`
	MaxRead     int        `json:"max_read_bytes"`  // that the server takes at once
	MaxWrite    int        `json:"max_write_bytes"` // that the server takes at once
	Slots       int        `json:"slots,omitempty"` // that the server grants; version 4.1
	Op          string     `json:"op"`
	Size        int        `json:"size_bytes,omitempty"` // of each request
	Random      bool       `json:"random"`
	ReadAhead   *unit.Size `json:"read_ahead_bytes,omitempty"` // of a program that reads in order; absent: requests do not go by that
	Discarded   bool       `json:"discarded,omitempty"`        // by the kernel, without a copy: what was read
	Coalesced   bool       `json:"coalesced,omitempty"`        // answers were taken several at a time
	WriteShare  float64    `json:"write_share,omitempty"`      // of the requests
	Connections int        `json:"connections"`
	Depth       int        `json:"depth"` // requests in flight that were asked for

	Seconds  float64        `json:"seconds"` // measured
	Requests int64          `json:"requests"`
	IOPS     float64        `json:"iops"`
	Goodput  float64        `json:"goodput_bps"`
	Latency  LatencySummary `json:"latency_ms"`
	InFlight float64        `json:"in_flight"`                        // by Little's law
	CPU      float64        `json:"cpu_us_per_request,omitempty"`     // of this process
	FarCPU   *FarCPU        `json:"far_cpu_us_per_request,omitempty"` // absent: not known
	Delays   int64          `json:"delays"`                           // requests that the server asked to be sent again later
	Shares   []ShareSummary `json:"shares"`                           // of each connection

	Distribution []LatencyShare `json:"latency_distribution,omitempty"`
	Each         []StretchRate  `json:"each_second,omitempty"` // rate over time
}

// FarCPU is processor time of the server's host for a request, in µs.
type FarCPU struct {
	Process float64 `json:"process"`        // of the far end that reported it, which may be the server itself
	Host    float64 `json:"host,omitempty"` // of all that the host did meanwhile
}

// LatencyShare is the share of the requests that took no longer than a time.
type LatencyShare struct {
	Share float64 `json:"share"`
	Up    float64 `json:"ms"`
}

// StretchRate is the rate of a stretch of about a second.
type StretchRate struct {
	Until   float64 `json:"until_s"` // since the measured time began
	IOPS    float64 `json:"iops"`
	Goodput float64 `json:"goodput_bps"`
}

// LatencySummary is a distribution, in ms.
type LatencySummary struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// ShareSummary is what one connection had.
type ShareSummary struct {
	Requests int64       `json:"requests"`
	Goodput  float64     `json:"goodput_bps"`
	TCP      *TCPSummary `json:"tcp,omitempty"` // at the end; absent where the kernel does not say
}

// TCPSummary is what the kernel of this end said of a connection.
type TCPSummary struct {
	RTT           float64 `json:"rtt_ms"` // smoothed; of a connection that mostly receives, mostly of small packets
	LeastRTT      float64 `json:"min_rtt_ms"`
	ReceiveWindow uint32  `json:"receive_window_bytes"` // that this end offers
	SendWindow    uint32  `json:"send_window_bytes"`    // that the server offers
	Congestion    uint32  `json:"congestion_window_bytes"`
	Repeated      int64   `json:"repeated_packets"` // sent again by this end, in the measured time
}

func (c *Connection) tcp() *TCPSummary {
	if c.TCP == nil {
		return nil
	}
	ms := func(us uint32) float64 { return float64(us) / 1000 }
	return &TCPSummary{
		RTT: ms(c.TCP.RTT), LeastRTT: ms(c.TCP.MinRTT), ReceiveWindow: c.TCP.RcvWnd, SendWindow: c.TCP.SndWnd,
		Congestion: c.TCP.SndCwnd * c.TCP.SndMSS, Repeated: c.Repeat,
	}
}

// NewDocument describes a test of a target.
func NewDocument(target string, m *Mount, load Load, f *Figures) *Document {
	seconds := f.Elapsed.Seconds()
	d := &Document{
		Schema: Schema, Target: target, Version: m.Version, FileBytes: m.Size, MaxRead: m.MaxRead, MaxWrite: m.MaxWrite, Slots: m.Slots,
		Op: load.Op.String(), Size: load.Size, Random: load.Random, ReadAhead: load.ReadAhead, Discarded: load.Discard, Coalesced: load.Coalesce, WriteShare: load.Writes, Connections: len(f.Connections), Depth: load.Depth,
		Seconds: seconds, Requests: f.Requests, IOPS: f.Rate(), Goodput: float64(f.Bytes) * 8 / seconds, Latency: summary(f.Latency),
		InFlight: f.InFlight(), Delays: f.Delays, Distribution: distribution(f.Latency), Each: stretches(f.Each),
	}
	if f.Requests > 0 {
		d.CPU = float64(f.CPU.Microseconds()) / float64(f.Requests)
		if f.Far != nil {
			d.FarCPU = &FarCPU{float64(f.Far.Process.Microseconds()) / float64(f.Requests), float64(f.Far.Host.Microseconds()) / float64(f.Requests)}
		}
	}
	for _, s := range f.Connections {
		d.Shares = append(d.Shares, ShareSummary{s.Requests, float64(s.Bytes) * 8 / seconds, s.tcp()})
	}
	return d
}

func summary(h *hdrhistogram.Histogram) LatencySummary {
	ms := func(us int64) float64 { return float64(us) * float64(time.Microsecond) / float64(time.Millisecond) }
	return LatencySummary{
		Mean: h.Mean() / 1000, P50: ms(h.ValueAtQuantile(50)), P95: ms(h.ValueAtQuantile(95)), P99: ms(h.ValueAtQuantile(99)),
		P999: ms(h.ValueAtQuantile(99.9)), Max: ms(h.Max()),
	}
}

// ticks of a distribution are so many for each halving of what is above them, as in the
// files that HdrHistogram writes: the tail has as many as the middle.
const ticks = 5

// distribution is how requests are spread over times; nil of none.
func distribution(h *hdrhistogram.Histogram) (all []LatencyShare) {
	total := float64(h.TotalCount())
	if total == 0 {
		return nil
	}
	for _, b := range h.CumulativeDistributionWithTicks(ticks) {
		if share := float64(b.Count) / total; len(all) == 0 || share > all[len(all)-1].Share {
			all = append(all, LatencyShare{share, float64(b.ValueAt) / 1000})
		}
	}
	return all
}

// stretches are rates over time.
func stretches(each []Stretch) (all []StretchRate) {
	began := 0.0
	for _, s := range each {
		until := s.Until.Seconds()
		all = append(all, StretchRate{until, float64(s.Requests) / (until - began), float64(s.Bytes) * 8 / (until - began)})
		began = until
	}
	return all
}
