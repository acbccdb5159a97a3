package bulk

import (
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/stat"
	"github.com/fullbore/fullbore/unit"
)

// Figures are the results of one direction of a transfer in the measured time, all
// its streams together. What was not recorded is absent, not 0: a kernel that
// does not report it, a far end that is not fullbore, a transfer that ended before
// its measured time began.
type Figures struct {
	Direction  Direction  `json:"direction"`
	From       string     `json:"from"`                  // host that sent
	To         string     `json:"to"`                    // host that received
	Streams    int        `json:"streams"`               // that were recorded
	Goodput    unit.Rate  `json:"goodput_bps"`           // counted at the receiver; 0 if that is not known: then Received is absent
	MayBeHigh  *Excess    `json:"may_be_high,omitempty"` // it is not known that all of it arrived in the measured time
	Sent       Moved      `json:"sent,omitzero"`         // counted where the sending application wrote
	Received   Moved      `json:"received,omitzero"`     // counted where the receiving application read
	Difference Difference `json:"difference"`            // between the two

	SenderCPU   *Cost `json:"sender_cpu,omitempty"`
	ReceiverCPU *Cost `json:"receiver_cpu,omitempty"`

	Connection   Connection    `json:"connection"`
	SenderACKs   *ACKs         `json:"sender_acks,omitempty"`   // as the sender counted segments
	ReceiverACKs *ACKs         `json:"receiver_acks,omitempty"` // as the receiver counted them
	Repeated     *Repeated     `json:"repeated,omitempty"`      // what was sent again, by the sender's kernel
	Arrived      *Arrived      `json:"arrived,omitempty"`       // how data came in, by the receiver's kernel
	Waited       *Waited       `json:"waited,omitempty"`        // what the sender waited for
	LoadedRTT    *Spread       `json:"loaded_rtt,omitempty"`    // smoothed RTT of the streams themselves, as the sender's samples have it
	LeastRTT     time.Duration `json:"least_rtt_ns,omitempty"`  // shortest that the sender's kernel saw since the connections were opened
	SmallFlow    *SmallFlow    `json:"small_flow,omitempty"`
	Datagrams    *Datagrams    `json:"datagrams,omitempty"` // UDP: all flows as the receiver counted them; Jitter is their mean
}

// Moved is what one end's application moved in its measured time.
type Moved struct {
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"` // its measured time; of several streams from when the first began to when the last ended
}

// Connection is what the two ends agreed on, and how they used it. Where streams
// differ, the names of all are there, and the smallest of the numbers.
type Connection struct {
	Congestion   string `json:"congestion,omitempty"` // of the sender
	MSS          int    `json:"mss,omitempty"`        // bytes of data a segment
	PathMTU      int    `json:"path_mtu,omitempty"`   // bytes, as the sender's kernel believes
	SendPath     string `json:"send_path,omitempty"`  // really used
	RecvPath     string `json:"recv_path,omitempty"`  // really used
	Note         string `json:"note,omitempty"`       // why that is not what was asked for
	ZeroCopied   int64  `json:"zero_copied,omitempty"`
	Copied       int64  `json:"copied,omitempty"` // MSG_ZEROCOPY sends that the kernel copied all the same
	SenderCPUs   []int  `json:"sender_cpus,omitempty"`
	ReceiverCPUs []int  `json:"receiver_cpus,omitempty"` // that the streams' threads were pinned to
}

// SmallFlow is what a flow of single TCP handshakes beside the transfer went
// through: the latency that everyone else on the path has.
type SmallFlow struct {
	Before *Spread `json:"before,omitempty"` // the load
	Loaded *Spread `json:"loaded,omitempty"` // in the measured time
	Lost   int     `json:"lost"`             // handshakes without an answer in time, in the measured time
}

// Spread is how round-trip times scattered.
type Spread struct {
	Count  int           `json:"count"`
	Min    time.Duration `json:"min_ns"`
	Median time.Duration `json:"median_ns"`
	P95    time.Duration `json:"p95_ns"`
	Max    time.Duration `json:"max_ns"`
}

// Figures works out the results of one direction (Forward or Reverse).
func (r *Result) Figures(d Direction) Figures {
	senders, receivers := r.Senders(d), r.Receivers(d)
	f := Figures{
		Direction: d, From: r.from(d).Host, To: r.to(d).Host,
		Streams: max(len(senders), len(receivers)), Goodput: r.Goodput(d),
		Sent: moved(senders), Received: moved(receivers),
		SenderCPU: r.Cost(r.from(d)), ReceiverCPU: r.Cost(r.to(d)),
		Connection:   connection(senders, receivers),
		SenderACKs:   acks(senders, func(t *TCPInfo) (uint32, uint32) { return t.DataSegsOut, t.SegsIn }),
		ReceiverACKs: acks(receivers, func(t *TCPInfo) (uint32, uint32) { return t.DataSegsIn, t.SegsOut }),
		Repeated:     repeated(senders),
		Arrived:      arrived(receivers),
		Waited:       waited(senders),
		SmallFlow:    r.Small(),
		Datagrams:    datagrams(receivers),
	}
	f.LoadedRTT, f.LeastRTT = loadedRTT(senders)
	f.Difference = r.difference(d, &f)
	f.MayBeHigh = r.excess(d, f.Goodput)
	return f
}

// Directions are those that data flows in, one by one.
func (s Spec) Directions() []Direction {
	if s.Direction == Both {
		return []Direction{Forward, Reverse}
	}
	return []Direction{s.Direction}
}

func moved(streams []Stream) Moved {
	var m Moved
	for _, s := range streams {
		m.Bytes += s.Bytes
	}
	began, ended := extent(streams)
	m.Seconds = (ended - began).Seconds()
	return m
}

func connection(senders, receivers []Stream) Connection {
	var c Connection
	var congestion, sendPaths, recvPaths, notes []string
	least := func(n *int, v int) {
		if v > 0 && (*n == 0 || v < *n) {
			*n = v
		}
	}
	for _, s := range senders {
		congestion = append(congestion, s.Congestion)
		sendPaths = append(sendPaths, string(s.SendPath))
		notes = append(notes, s.PathNote)
		least(&c.MSS, s.MSS)
		for _, sample := range s.Samples {
			least(&c.PathMTU, int(sample.TCP.PMTU))
		}
		c.ZeroCopied += s.ZeroCopied
		c.Copied += s.Copied
		c.SenderCPUs = append(c.SenderCPUs, s.CPUs...)
	}
	for _, s := range receivers {
		recvPaths = append(recvPaths, string(s.RecvPath))
		notes = append(notes, s.PathNote)
		if len(senders) == 0 {
			least(&c.MSS, s.MSS)
		}
		c.ReceiverCPUs = append(c.ReceiverCPUs, s.CPUs...)
	}
	c.Congestion, c.SendPath, c.RecvPath, c.Note = distinct(congestion, ", "), distinct(sendPaths, ", "), distinct(recvPaths, ", "), distinct(notes, "; ")
	for _, cpus := range []*[]int{&c.SenderCPUs, &c.ReceiverCPUs} {
		slices.Sort(*cpus)
		*cpus = slices.Compact(*cpus)
	}
	return c
}

// distinct joins what differs, in order, and leaves out what is empty.
func distinct(all []string, separator string) string {
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	slices.Sort(all)
	return strings.Join(slices.Compact(all), separator)
}

// Small is what the small flow went through, nil if there was none: the
// handshakes, divided by the dialling end's measured time.
func (r *Result) Small() *SmallFlow {
	began, ended := extent(r.Client.Streams)
	var before, loaded []time.Duration
	lost := 0
	for _, l := range r.SmallFlow {
		switch {
		case l.At < 0 && l.RTT > 0:
			before = append(before, l.RTT)
		case l.At < began || l.At >= ended:
		case l.RTT > 0:
			loaded = append(loaded, l.RTT)
		default:
			lost++
		}
	}
	if len(before)+len(loaded)+lost == 0 {
		return nil
	}
	return &SmallFlow{Before: spread(before), Loaded: spread(loaded), Lost: lost}
}

// loadedRTT is the smoothed RTT of all samples, and the least the kernel saw.
func loadedRTT(senders []Stream) (*Spread, time.Duration) {
	var all []time.Duration
	least := time.Duration(0)
	for _, s := range senders {
		samples := s.Measured()
		for i, sample := range samples {
			if i > 0 && sample.TCP.RTT > 0 && sample.TCP.State != StateClosed {
				all = append(all, time.Duration(sample.TCP.RTT)*time.Microsecond)
			}
			if min := time.Duration(sample.TCP.MinRTT) * time.Microsecond; sample.TCP.has(tcpMinRTT) && min > 0 && (least == 0 || min < least) {
				least = min
			}
		}
	}
	return spread(all), least
}

// spread describes round-trip times; nil if there are none.
func spread(times []time.Duration) *Spread {
	if len(times) == 0 {
		return nil
	}
	x := make([]float64, len(times))
	for i, t := range times {
		x[i] = float64(t)
	}
	return &Spread{
		Count: len(times), Min: slices.Min(times), Max: slices.Max(times),
		Median: time.Duration(stat.Median(x)), P95: time.Duration(stat.Quantile(x, 0.95)),
	}
}

// datagrams adds up the flows of a UDP transfer.
func datagrams(receivers []Stream) *Datagrams {
	var sum Datagrams
	flows := 0
	for _, s := range receivers {
		if s.Datagrams == nil {
			continue
		}
		flows++
		sum.Packets += s.Datagrams.Packets
		sum.Lost += s.Datagrams.Lost
		sum.OutOfOrder += s.Datagrams.OutOfOrder
		sum.Jitter += s.Datagrams.Jitter
		sum.Malformed += s.Datagrams.Malformed
		sum.Omitted.Packets += s.Datagrams.Omitted.Packets
		sum.Omitted.Lost += s.Datagrams.Omitted.Lost
		sum.Omitted.OutOfOrder += s.Datagrams.Omitted.OutOfOrder
	}
	if flows == 0 {
		return nil
	}
	sum.Jitter /= float64(flows)
	return &sum
}
