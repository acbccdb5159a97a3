package document

import (
	"github.com/fullbore/fullbore/bulk"
)

// End is `end`; empty for a test that never began.
type End struct {
	Streams            []EndStream `json:"streams,omitempty"`
	Sum                *EndRow     `json:"sum,omitempty"` // UDP
	SumSent            *EndRow     `json:"sum_sent,omitempty"`
	SumReceived        *EndRow     `json:"sum_received,omitempty"`
	SumReverse         *EndRow     `json:"sum_bidir_reverse,omitempty"` // UDP
	SumSentReverse     *EndRow     `json:"sum_sent_bidir_reverse,omitempty"`
	SumReceivedReverse *EndRow     `json:"sum_received_bidir_reverse,omitempty"`
	CPU                *CPU        `json:"cpu_utilization_percent,omitempty"`
	SenderCongestion   string      `json:"sender_tcp_congestion,omitempty"`
	ReceiverCongestion string      `json:"receiver_tcp_congestion,omitempty"`
}

// EndStream is the result of one stream: of TCP at its sender and its receiver,
// of UDP in one.
type EndStream struct {
	Sender   *EndRow `json:"sender,omitempty"`
	Receiver *EndRow `json:"receiver,omitempty"`
	UDP      *EndRow `json:"udp,omitempty"`
}

// EndRow is one stream in the measured time, or, without a socket, all of them.
type EndRow struct {
	Socket int `json:"socket,omitempty"`
	Span
	Retransmits *int64 `json:"retransmits,omitempty"` // of a TCP sender
	*SenderPeaks
	Datagrams
	OutOfOrder *int64 `json:"out_of_order,omitempty"` // of a UDP stream
	Sender     bool   `json:"sender"`                 // the end whose document this is sent
}

// SenderPeaks are a TCP sender's state over the measured time; 0: not known.
type SenderPeaks struct {
	Reorder int64 `json:"reorder"`
	MaxCwnd int64 `json:"max_snd_cwnd"` // bytes
	MaxWnd  int64 `json:"max_snd_wnd"`  // bytes
	MaxRTT  int64 `json:"max_rtt"`      // us
	MinRTT  int64 `json:"min_rtt"`      // us
	MeanRTT int64 `json:"mean_rtt"`     // us
}

// CPU is how much of one processor each end's process took, in percent.
type CPU struct {
	HostTotal    float64 `json:"host_total"`
	HostUser     float64 `json:"host_user"`
	HostSystem   float64 `json:"host_system"`
	RemoteTotal  float64 `json:"remote_total"`
	RemoteUser   float64 `json:"remote_user"`
	RemoteSystem float64 `json:"remote_system"`
}

func newEnd(r *Record) End {
	var end End
	if r.Result == nil || len(r.Result.Client.Streams)+len(r.Result.Server.Streams) == 0 {
		return end
	}
	spec := r.spec()
	for _, d := range spec.Directions() {
		sends := r.Sends(d)
		streams, sum := Totals(r.Result, d)
		if spec.Protocol == bulk.UDP {
			for _, t := range streams {
				end.Streams = append(end.Streams, EndStream{UDP: udpRow(t, sends)})
			}
			end.place(d, spec, udpRow(sum, sends), udpSent(sum), udpReceived(sum))
			continue
		}
		for _, t := range streams {
			end.Streams = append(end.Streams, EndStream{Sender: sentRow(t, sends), Receiver: receivedRow(t, sends)})
		}
		end.place(d, spec, nil, sentRow(sum, sends), receivedRow(sum, sends))
	}
	own, far := r.Result.Client, r.Result.Server
	if r.Server {
		own, far = far, own
	}
	end.CPU = newCPU(own.CPU, far.CPU)
	main := spec.Directions()[0]
	end.SenderCongestion, end.ReceiverCongestion = congestion(r.Result.Senders(main)), congestion(r.Result.Receivers(main))
	return end
}

func (e *End) place(d bulk.Direction, spec bulk.Spec, sum, sent, received *EndRow) {
	if d == bulk.Reverse && spec.Direction == bulk.Both {
		e.SumReverse, e.SumSentReverse, e.SumReceivedReverse = sum, sent, received
	} else {
		e.Sum, e.SumSent, e.SumReceived = sum, sent, received
	}
}

// sentRow and receivedRow are TCP's. An end that did not report moved 0 bytes in
// the time that the other one took, as with iperf3.
func sentRow(t Total, sends bool) *EndRow {
	row := &EndRow{Socket: t.ID, Span: halfSpan(t.Sent, t.Received), Sender: sends}
	if t.Retransmits >= 0 {
		row.Retransmits = new(t.Retransmits)
		if t.ID != 0 {
			row.SenderPeaks = &SenderPeaks{
				Reorder: t.Reorder, MaxCwnd: t.MaxCwnd, MaxWnd: t.MaxWnd,
				MaxRTT: t.MaxRTT.Microseconds(), MinRTT: t.MinRTT.Microseconds(), MeanRTT: t.MeanRTT.Microseconds(),
			}
		}
	}
	return row
}

func receivedRow(t Total, sends bool) *EndRow {
	return &EndRow{Socket: t.ID, Span: halfSpan(t.Received, t.Sent), Sender: sends}
}

// udpRow has what was sent, with what the receiver lost of it.
func udpRow(t Total, sends bool) *EndRow {
	half := t.Sent
	if !half.Known {
		half = t.Received
	}
	row := &EndRow{Socket: t.ID, Span: newSpan(0, half.Elapsed, half.Bytes), Sender: sends}
	row.Datagrams = newDatagrams(t.Jitter, t.Lost, t.Packets())
	if t.ID != 0 {
		row.OutOfOrder = new(t.OutOfOrder)
	}
	return row
}

func udpSent(t Total) *EndRow {
	return &EndRow{Span: halfSpan(t.Sent, t.Received), Datagrams: newDatagrams(0, 0, t.Sent.Packets), Sender: true}
}

func udpReceived(t Total) *EndRow {
	return &EndRow{Span: halfSpan(t.Received, t.Sent), Datagrams: newDatagrams(t.Jitter, t.Lost, t.Received.Packets)}
}

func halfSpan(half, other Half) Span {
	if !half.Known {
		return newSpan(0, other.Elapsed, 0)
	}
	return newSpan(0, half.Elapsed, half.Bytes)
}

func newCPU(own, far bulk.CPU) *CPU {
	share := func(c bulk.CPU) (user, system float64) {
		if c.Elapsed <= 0 {
			return 0, 0
		}
		return 100 * c.User.Seconds() / c.Elapsed.Seconds(), 100 * c.System.Seconds() / c.Elapsed.Seconds()
	}
	var cpu CPU
	cpu.HostUser, cpu.HostSystem = share(own)
	cpu.RemoteUser, cpu.RemoteSystem = share(far)
	cpu.HostTotal, cpu.RemoteTotal = cpu.HostUser+cpu.HostSystem, cpu.RemoteUser+cpu.RemoteSystem
	return &cpu
}

// congestion is the algorithm of the first stream that has one.
func congestion(streams []bulk.Stream) string {
	for _, s := range streams {
		if s.Congestion != "" {
			return s.Congestion
		}
	}
	return ""
}
