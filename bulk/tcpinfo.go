package bulk

// TCPInfo is the kernel's view of one connection. Times are in microseconds,
// sizes in bytes unless a name says packets, rates in bytes per second. A field
// that the kernel is too old to have is zero and lies beyond Length.
//
// The counters of 32 bits begin again at 0 after 2^32, as SegsOut does after 8
// minutes at 100 Gb/s. [Grown] gives their increase all the same.
type TCPInfo struct {
	Length        int    `json:"length"` // bytes the kernel returned; tells which fields it has
	State         uint8  `json:"state"`
	CAState       uint8  `json:"ca_state"`
	Retransmits   uint8  `json:"retransmits"`
	Probes        uint8  `json:"probes"`
	Backoff       uint8  `json:"backoff"`
	Options       uint8  `json:"options"`     // TCPI_OPT_*: 1 timestamps, 2 SACK, 4 window scale, 8 ECN, 16 ECN seen
	SndWScale     uint8  `json:"snd_wscale"`  // shift of the window the peer advertises
	RcvWScale     uint8  `json:"rcv_wscale"`  // shift of the window this end advertises
	AppLimited    bool   `json:"app_limited"` // sticks: never use it alone
	RTO           uint32 `json:"rto_us"`
	ATO           uint32 `json:"ato_us"`
	SndMSS        uint32 `json:"snd_mss"`
	RcvMSS        uint32 `json:"rcv_mss"`
	Unacked       uint32 `json:"unacked_packets"`
	Sacked        uint32 `json:"sacked_packets"`
	Lost          uint32 `json:"lost_packets"`
	Retrans       uint32 `json:"retrans_packets"`
	LastDataSent  uint32 `json:"last_data_sent_ms"`
	LastDataRecv  uint32 `json:"last_data_recv_ms"`
	LastAckRecv   uint32 `json:"last_ack_recv_ms"`
	PMTU          uint32 `json:"pmtu"`
	RcvSsthresh   uint32 `json:"rcv_ssthresh"`
	RTT           uint32 `json:"rtt_us"`
	RTTVar        uint32 `json:"rttvar_us"`
	SndSsthresh   uint32 `json:"snd_ssthresh_packets"`
	SndCwnd       uint32 `json:"snd_cwnd_packets"`
	AdvMSS        uint32 `json:"advmss"`
	Reordering    uint32 `json:"reordering_packets"`
	RcvRTT        uint32 `json:"rcv_rtt_us"`
	RcvSpace      uint32 `json:"rcv_space"`
	TotalRetrans  uint32 `json:"total_retrans_packets"`
	PacingRate    uint64 `json:"pacing_rate"`
	MaxPacingRate uint64 `json:"max_pacing_rate"`
	BytesAcked    uint64 `json:"bytes_acked"`
	BytesReceived uint64 `json:"bytes_received"`
	SegsOut       uint32 `json:"segs_out"`
	SegsIn        uint32 `json:"segs_in"`
	NotsentBytes  uint32 `json:"notsent_bytes"`
	MinRTT        uint32 `json:"min_rtt_us"`
	DataSegsIn    uint32 `json:"data_segs_in"`
	DataSegsOut   uint32 `json:"data_segs_out"`
	DeliveryRate  uint64 `json:"delivery_rate"`
	BusyTime      uint64 `json:"busy_time_us"`      // includes the next two
	RwndLimited   uint64 `json:"rwnd_limited_us"`   // held back by the receiver's window
	SndbufLimited uint64 `json:"sndbuf_limited_us"` // held back by the send buffer
	Delivered     uint32 `json:"delivered_packets"`
	DeliveredCE   uint32 `json:"delivered_ce_packets"`
	BytesSent     uint64 `json:"bytes_sent"`
	BytesRetrans  uint64 `json:"bytes_retrans"`
	DsackDups     uint32 `json:"dsack_dups"`
	ReordSeen     uint32 `json:"reord_seen"`
	RcvOooPack    uint32 `json:"rcv_ooopack"`
	SndWnd        uint32 `json:"snd_wnd"` // the peer's advertised window, scaled
	RcvWnd        uint32 `json:"rcv_wnd"` // this end's advertised window, scaled
	Rehash        uint32 `json:"rehash"`
	TotalRTO      uint16 `json:"total_rto"`
}

// StateClosed is the State of a connection that was reset or has ended
// (TCP_CLOSE in include/net/tcp_states.h).
const StateClosed = 7

// stateCloseWait is that of a connection on which the peer has ended its data.
const stateCloseWait = 8

// TCPI_OPT_* bits of Options (include/uapi/linux/tcp.h).
const (
	OptTimestamps  = 1
	OptSACK        = 2
	OptWindowScale = 4
	OptECN         = 8
	OptECNSeen     = 16
)

// Grown is by how much a counter grew over samples, the first to the last,
// however often it began again at 0. One of 32 bits does so less than once from
// each to the next:
// A transfer of 24 hours keeps one at least every minute of each of up to ten
// streams, and of 256 streams one every 12 minutes. 100 Gb/s in packets of 1500
// bytes are 2^32 in 8 minutes, over all streams together.
func Grown[N uint16 | uint32 | uint64](samples []Sample, counter func(*TCPInfo) N) int64 {
	var sum int64
	for i := 1; i < len(samples); i++ {
		sum += int64(counter(&samples[i].TCP) - counter(&samples[i-1].TCP))
	}
	return sum
}

// ReceiveWindow is the window in bytes that this end offers. Kernels before 6.2 do not report
// it: there it is what it is held to (tcp_select_window, net/ipv4/tcp_output.c).
func (t *TCPInfo) ReceiveWindow() int64 {
	if t.RcvWnd > 0 {
		return int64(t.RcvWnd)
	}
	return int64(t.RcvSsthresh)
}

// Inflight is how many bytes are sent and neither acknowledged nor known lost.
func (t *TCPInfo) Inflight() int64 {
	packets := int64(t.Unacked) - int64(t.Sacked) - int64(t.Lost) + int64(t.Retrans)
	return max(0, packets) * int64(t.SndMSS)
}
