package bulk

import "time"

// ACKs is how many data segments one ACK answered. Few segments an ACK cost both
// ends processor time; many make the sender's window move in large steps. Every
// loss brings the ratio down: each segment behind it is acknowledged immediately
// (RFC 5681, section 4.2).
type ACKs struct {
	Data   int64      `json:"data_segments"`
	Back   int64      `json:"segments_back"` // ACKs, nearly all
	Ratio  float64    `json:"data_per_ack"`
	Series []ACKPoint `json:"series,omitempty"` // over the measured time
}

// ACKPoint is one stretch of a series, a second long, longer in long transfers.
type ACKPoint struct {
	At    time.Duration `json:"at_ns"`          // its end, since this end started the transfer
	Rate  float64       `json:"segments_per_s"` // data segments
	Ratio float64       `json:"data_per_ack"`   // 0: no ACK
	Again float64       `json:"repeated_per_s"` // segments that the sender sent again; 0 at a receiver
}

// Repeated is what the sender's kernel sent again.
type Repeated struct {
	Segments   *int64   `json:"segments,omitempty"`
	Bytes      *int64   `json:"bytes,omitempty"`      // of data
	Share      *float64 `json:"share,omitempty"`      // of the bytes of data sent, 0..1
	Spurious   *int64   `json:"spurious,omitempty"`   // segments that had arrived after all, as the receiver said (D-SACK, RFC 2883)
	Reorders   *int64   `json:"reorders,omitempty"`   // times that the kernel saw reordering where it had suspected loss
	Reordering *int     `json:"reordering,omitempty"` // segments by which one may come late and not be taken for lost; the kernel begins at 3
	Timeouts   *int64   `json:"timeouts,omitempty"`   // retransmission timeouts
}

// Arrived is how data came in, by the receiver's kernel.
type Arrived struct {
	OutOfOrder *int64        `json:"out_of_order,omitempty"` // segments that came behind a gap
	RTT        time.Duration `json:"rtt_ns,omitempty"`       // median of the receiver's own estimate: a round trip, or longer with a slow reader
	Space      int           `json:"space,omitempty"`        // bytes that a stream's application read in one such time, the most of any stream
	Window     int           `json:"window,omitempty"`       // bytes, largest window that a stream was offered
}

// Waited is how the senders spent the measured time, mean of the streams: shares
// 0..1 that add up to 1. Each counts only time with data to send, but Idle.
type Waited struct {
	Window float64 `json:"receive_window"` // for the receiver to open its window
	Buffer float64 `json:"send_buffer"`    // for room in the send buffer
	Path   float64 `json:"path"`           // for ACKs: held by the congestion window, pacing, or nothing but the path
	Idle   float64 `json:"idle"`           // there was nothing to send
}

// What the kernel has to have returned of struct tcp_info (include/uapi/linux/tcp.h)
// for a field to mean something: its end, in bytes.
const (
	tcpTotalRetrans  = 104
	tcpBytesReceived = 136
	tcpMinRTT        = 152
	tcpDataSegs      = 160 // segs_in and segs_out come before
	tcpLimited       = 192 // busy_time, rwnd_limited, sndbuf_limited
	tcpBytesRetrans  = 216
	tcpDsackDups     = 220
	tcpReordSeen     = 224
	tcpRcvOooPack    = 228
	tcpSndWnd        = 232
	tcpRcvWnd        = 236
	tcpTotalRTO      = 242
)

// has says whether the kernel reported the field that ends there.
func (t *TCPInfo) has(end int) bool { return t.Length >= end }

// HasBytesAcked says whether the kernel reported BytesAcked, as Linux does since 4.1.
func (t *TCPInfo) HasBytesAcked() bool { return t.has(lengthWithBytesAcked) }

// HasSndWnd says whether the kernel reported SndWnd, as Linux does since 5.4.
func (t *TCPInfo) HasSndWnd() bool { return t.has(tcpSndWnd) }

// HasRcvWnd says whether the kernel reported RcvWnd, as Linux does since 6.2.
func (t *TCPInfo) HasRcvWnd() bool { return t.has(tcpRcvWnd) }

// Measured are the samples of the measured time. The first one is the base that
// counters are compared with: of the last sample before the measured time and the
// first one in it, the one nearer to its beginning. It is empty if no
// sample was taken in the measured time.
func (s *Stream) Measured() []Sample {
	for i := range s.Samples {
		switch {
		case s.Samples[i].Omitted:
		case i == 0 || i+1 < len(s.Samples) && s.Samples[i].At-s.Began < s.Began-s.Samples[i-1].At:
			return s.Samples[i:]
		default:
			return s.Samples[i-1:]
		}
	}
	return nil
}

// grown is by how much a counter grew over all streams in their measured time;
// nil unless the kernel reports it for all of them.
func grown[N uint16 | uint32 | uint64](streams []Stream, end int, counter func(*TCPInfo) N) *int64 {
	var sum int64
	for i := range streams {
		samples := streams[i].Measured()
		if len(samples) < 2 {
			return nil
		}
		for j := range samples {
			if !samples[j].TCP.has(end) {
				return nil
			}
		}
		sum += Grown(samples, counter)
	}
	if len(streams) == 0 {
		return nil
	}
	return &sum
}

// seriesPoints is how many points a series has at most: enough for a figure.
const seriesPoints = 600

// acks counts data segments against those that came back for them.
func acks(streams []Stream, count func(*TCPInfo) (data, back uint32)) *ACKs {
	data := grown(streams, tcpDataSegs, func(t *TCPInfo) uint32 { n, _ := count(t); return n })
	back := grown(streams, tcpDataSegs, func(t *TCPInfo) uint32 { _, n := count(t); return n })
	if data == nil || back == nil {
		return nil
	}
	a := &ACKs{Data: *data, Back: *back, Ratio: ratio(*data, *back)}
	a.Series = series(streams, count)
	return a
}

func ratio(a, b int64) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// series cuts the measured time into stretches. The streams of one end are
// looked at together, so that all of them have samples at the same instants.
func series(streams []Stream, count func(*TCPInfo) (data, back uint32)) []ACKPoint {
	from, to := time.Duration(-1), time.Duration(0)
	for i := range streams {
		samples := streams[i].Measured()
		if from < 0 || samples[0].At < from {
			from = samples[0].At
		}
		to = max(to, samples[len(samples)-1].At)
	}
	// A far end may claim any times: more than a transfer lasts is no series, and
	// a difference that is beyond 2^63 has wrapped.
	if to <= from || to-from <= 0 || to-from > 3*MaxDuration {
		return nil
	}
	width := max(time.Second, (to-from)/seriesPoints)
	type bin struct {
		data, back, again int64
		end               time.Duration
	}
	// A look comes a little late: one that ends a stretch is still of it.
	of := func(at time.Duration) time.Duration { return max(0, at-from-1-width/20) / width }
	bins := make([]bin, of(to)+1)
	for i := range streams {
		samples := streams[i].Measured()
		for j := range samples[1:] {
			was, now := &samples[j], &samples[j+1]
			if now.At <= from {
				continue
			}
			b := &bins[min(of(now.At), of(to))] // nor need they be in order
			data, back := count(&now.TCP)
			dataWas, backWas := count(&was.TCP)
			b.data += int64(data - dataWas)
			b.back += int64(back - backWas)
			b.again += int64(now.TCP.TotalRetrans - was.TCP.TotalRetrans)
			b.end = max(b.end, now.At)
		}
	}
	var points []ACKPoint
	began := from
	for _, b := range bins {
		if b.end <= began {
			continue // no sample in it
		}
		seconds := (b.end - began).Seconds()
		points = append(points, ACKPoint{At: b.end, Rate: float64(b.data) / seconds, Ratio: ratio(b.data, b.back), Again: float64(b.again) / seconds})
		began = b.end
	}
	return points
}

// repeated is what was sent again. An end that is not fullbore reports the number
// of segments at most.
func repeated(senders []Stream) *Repeated {
	r := Repeated{
		Segments: grown(senders, tcpTotalRetrans, func(t *TCPInfo) uint32 { return t.TotalRetrans }),
		Bytes:    grown(senders, tcpBytesRetrans, func(t *TCPInfo) uint64 { return t.BytesRetrans }),
		Spurious: grown(senders, tcpDsackDups, func(t *TCPInfo) uint32 { return t.DsackDups }),
		Reorders: grown(senders, tcpReordSeen, func(t *TCPInfo) uint32 { return t.ReordSeen }),
		Timeouts: grown(senders, tcpTotalRTO, func(t *TCPInfo) uint16 { return t.TotalRTO }),
	}
	if sent := grown(senders, tcpBytesRetrans, func(t *TCPInfo) uint64 { return t.BytesSent }); sent != nil && *sent > 0 {
		share := float64(*r.Bytes) / float64(*sent)
		r.Share = &share
	}
	if r.Segments == nil {
		r.Segments = reported(senders)
	}
	for i := range senders {
		for _, sample := range senders[i].Measured() {
			if degree := int(sample.TCP.Reordering); degree > 0 && (r.Reordering == nil || degree > *r.Reordering) {
				r.Reordering = &degree
			}
		}
	}
	if r == (Repeated{}) {
		return nil
	}
	return &r
}

// reported adds up what the sending end reports of each stream; nil unless it does
// of all.
func reported(senders []Stream) *int64 {
	var sum int64
	for _, s := range senders {
		if s.Retransmits < 0 || s.Datagrams != nil {
			return nil
		}
		sum += s.Retransmits
	}
	if len(senders) == 0 {
		return nil
	}
	return &sum
}

func arrived(receivers []Stream) *Arrived {
	a := Arrived{OutOfOrder: grown(receivers, tcpRcvOooPack, func(t *TCPInfo) uint32 { return t.RcvOooPack })}
	var rtts []time.Duration
	for i := range receivers {
		for _, sample := range receivers[i].Measured() {
			if sample.TCP.RcvRTT > 0 {
				rtts = append(rtts, time.Duration(sample.TCP.RcvRTT)*time.Microsecond)
			}
			a.Space = max(a.Space, int(sample.TCP.RcvSpace))
			if sample.TCP.has(tcpRcvWnd) {
				a.Window = max(a.Window, int(sample.TCP.RcvWnd))
			}
		}
	}
	if s := spread(rtts); s != nil {
		a.RTT = s.Median
	}
	if a == (Arrived{}) {
		return nil
	}
	return &a
}

// waited divides the senders' time as the kernel's chronograph does, whose busy
// time includes the two limited ones (tcp_get_info_chrono_stats in
// net/ipv4/tcp.c).
func waited(senders []Stream) *Waited {
	var busy, window, buffer, all float64
	for i := range senders {
		samples := senders[i].Measured()
		if len(samples) < 2 {
			return nil
		}
		first, last := &samples[0], &samples[len(samples)-1]
		if !first.TCP.has(tcpLimited) || !last.TCP.has(tcpLimited) {
			return nil
		}
		busy += float64(last.TCP.BusyTime - first.TCP.BusyTime)
		window += float64(last.TCP.RwndLimited - first.TCP.RwndLimited)
		buffer += float64(last.TCP.SndbufLimited - first.TCP.SndbufLimited)
		all += float64((last.At - first.At).Microseconds())
	}
	all = max(all, busy) // the chronograph counts in jiffies
	if all <= 0 {
		return nil
	}
	return &Waited{Window: window / all, Buffer: buffer / all, Path: max(0, busy-window-buffer) / all, Idle: (all - busy) / all}
}
