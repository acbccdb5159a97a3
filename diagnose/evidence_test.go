package diagnose

import (
	"maps"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

// scene describes a transfer by the figures that matter; evidence makes of it
// what both ends would have recorded, so that a test shows only what it is
// about. Defaults are a CUBIC transfer of ten seconds on a 1 Gb/s, 150 ms path
// between two Linux 6.18 hosts with nothing tuned.
type scene struct {
	goodput     unit.Rate
	rtt, minRTT time.Duration // rtt is the smoothed one; minRTT 0: the same
	congestion  string
	streams     int

	rwnd, sndbuf, idle float64   // shares of the busy time; idle of all
	inflight           unit.Size // 0: goodput * rtt
	cwnd               unit.Size // 0: three times what is in flight
	window             unit.Size // advertised; 0: three times what is in flight
	windowGrowth       float64   // of window and cwnd over the measured time; 0: none
	recvBuf, sendBuf   int       // 0: 1 MiB
	unread             int
	notsent            bool
	options            uint8 // 0: timestamps, SACK, window scale
	shift              uint8 // 0: 10
	lossEvery          int   // one retransmission in so many packets; 0: none
	counters           map[string]int64
	spec               bulk.Spec

	capacity               unit.Rate // 0: 1 Gb/s
	assumed, lowerBound    bool
	unprobed, nofacts      bool
	rmem, wmem             string
	senderSet, receiverSet map[string]string
	busyCore               float64

	short bool // a fifth of the samples, where hundreds of such transfers are made
}

func (s scene) evidence() *Evidence {
	set(&s.minRTT, s.rtt)
	set(&s.congestion, "cubic")
	set(&s.streams, 1)
	set(&s.inflight, s.goodput.BytesIn(s.rtt)/unit.Size(s.streams))
	set(&s.cwnd, 3*s.inflight)
	set(&s.window, 3*s.inflight)
	set(&s.recvBuf, 1<<20)
	set(&s.sendBuf, 1<<20)
	set(&s.options, bulk.OptTimestamps|bulk.OptSACK|bulk.OptWindowScale)
	set(&s.shift, 10)
	set(&s.capacity, unit.Gbps)
	set(&s.rmem, "4096 131072 33554432")
	set(&s.wmem, "4096 16384 4194304")
	set(&s.busyCore, 0.3)

	e := &Evidence{Direction: bulk.Forward, Transfer: &bulk.Result{Spec: s.spec}}
	e.Transfer.Client = bulk.End{Host: "a", Counters: s.counters, CPU: bulk.CPU{Cores: []bulk.Core{{Busy: s.busyCore}}}}
	e.Transfer.Server = bulk.End{Host: "b"}
	for i := range s.streams {
		send, receive := s.stream(i)
		e.Transfer.Client.Streams = append(e.Transfer.Client.Streams, send)
		e.Transfer.Server.Streams = append(e.Transfer.Server.Streams, receive)
	}
	if !s.unprobed {
		way := path.Direction{
			MTU:      path.MTU{Bytes: 1500, Link: 1500},
			Capacity: path.Capacity{Rate: s.capacity, Low: s.capacity * 0.97, High: s.capacity * 1.03, Method: "packet trains"},
		}
		if s.assumed {
			way.Capacity = path.Capacity{Rate: path.AssumedRate, Assumed: true, Method: "assumed"}
		}
		if s.lowerBound {
			way.Capacity.High = 0
		}
		e.Path = &path.Estimate{RTT: path.RTT{Min: s.minRTT, Median: s.minRTT, Max: s.minRTT, Count: 10}, Forward: way, Reverse: way}
	}
	if !s.nofacts {
		e.SenderHost = facts("a", s.rmem, s.wmem, s.senderSet)
		e.ReceiverHost = facts("b", s.rmem, s.wmem, s.receiverSet)
	}
	return e
}

// stream is what both ends record of one stream: a second omitted, ten measured,
// a sample every 100 ms.
func (s scene) stream(id int) (send, receive bulk.Stream) {
	const mss = 1448
	interval, omitted, samples := 100*time.Millisecond, 10, 110
	if s.short {
		interval, omitted, samples = 5*interval, omitted/5, samples/5
	}
	rate := float64(s.goodput) / float64(s.streams) / 8 // bytes a second
	send = bulk.Stream{ID: id, Sender: true, Congestion: s.congestion, MSS: mss, SendBuf: s.sendBuf}
	receive = bulk.Stream{ID: id, MSS: mss, RecvBuf: s.recvBuf, Elapsed: 10 * time.Second, Bytes: int64(10 * rate)}
	for i := range samples + 1 {
		at := time.Duration(i) * interval
		bytes := rate * at.Seconds()
		packets := bytes / mss
		retrans := 0.0
		if s.lossEvery > 0 {
			retrans = packets / float64(s.lossEvery)
		}
		grown := 1.0
		if s.windowGrowth > 0 {
			grown = 1 + (s.windowGrowth-1)*float64(i)/float64(samples)
			bytes *= grown
		}
		busy := float64(at.Microseconds()) * (1 - s.idle)
		t := bulk.TCPInfo{
			Length: 280, Options: s.options, SndWScale: s.shift, RTT: micros(s.rtt), MinRTT: micros(s.minRTT), RTO: micros(s.rtt) + 200000,
			SndMSS: mss, PMTU: 1500, SndCwnd: uint32(float64(s.cwnd) * grown / mss), SndWnd: uint32(float64(s.window) * grown),
			Unacked: uint32(float64(s.inflight) * grown / mss), BytesAcked: uint64(bytes), BytesSent: uint64(bytes + retrans*mss),
			BytesRetrans: uint64(retrans * mss), TotalRetrans: uint32(retrans), DataSegsOut: uint32(packets + retrans),
			BusyTime: uint64(busy), RwndLimited: uint64(busy * s.rwnd), SndbufLimited: uint64(busy * s.sndbuf),
			DeliveryRate: uint64(rate),
		}
		unsent := int(s.inflight)
		if s.notsent {
			t.NotsentBytes = uint32(s.inflight)
			unsent *= 2
		}
		send.Samples = append(send.Samples, bulk.Sample{At: at, Omitted: i < omitted, Bytes: int64(bytes), Unsent: unsent, TCP: t, Mem: bulk.SockMem{SendBuf: s.sendBuf}})
		receive.Samples = append(receive.Samples, bulk.Sample{At: at, Omitted: i < omitted, Bytes: int64(bytes), Unread: s.unread, Mem: bulk.SockMem{RecvBuf: s.recvBuf}})
	}
	return send, receive
}

func facts(name, rmem, wmem string, more map[string]string) *host.Facts {
	f := &host.Facts{Name: name, OS: "linux", Version: "6.18.44", Memory: 8 << 30, CPUs: 4, CanChange: true, Tunables: map[string]string{
		"net.ipv4.tcp_rmem": rmem, "net.ipv4.tcp_wmem": wmem,
		"net.ipv4.tcp_window_scaling": "1", "net.ipv4.tcp_moderate_rcvbuf": "1",
		"net.ipv4.tcp_congestion_control": "cubic",
	}}
	maps.Copy(f.Tunables, more)
	return f
}

func micros(d time.Duration) uint32 { return uint32(d.Microseconds()) }

// set gives a figure its default.
func set[T comparable](figure *T, value T) {
	var zero T
	if *figure == zero {
		*figure = value
	}
}
