package document

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/bulk/datagram"
	"github.com/fullbore/fullbore/version"
)

// format is the version of iperf3 whose keys these are.
const format = "3.21"

// Start is `start`.
type Start struct {
	Connected    []Connection `json:"connected"`
	Version      string       `json:"version"` // begins as iperf3's does, for programs that look for its number
	SystemInfo   string       `json:"system_info"`
	Timestamp    *Timestamp   `json:"timestamp,omitempty"`
	ConnectingTo *Place       `json:"connecting_to,omitempty"`       // of a client
	Accepted     *Place       `json:"accepted_connection,omitempty"` // of a server
	Cookie       string       `json:"cookie"`
	MSS          *int         `json:"tcp_mss,omitempty"`         // bytes, if it was asked for
	MSSDefault   *int         `json:"tcp_mss_default,omitempty"` // bytes, if it was not
	Rate         int64        `json:"target_bitrate"`            // bit/s of a stream, 0: as fast as it can
	FQRate       int64        `json:"fq_rate"`                   // bit/s of a stream, 0: unpaced
	BufSize      int          `json:"sock_bufsize"`              // bytes, 0: autotuned
	SndBuf       int          `json:"sndbuf_actual"`             // bytes, at the start
	RcvBuf       int          `json:"rcvbuf_actual"`             // bytes, at the start
	Test         TestStart    `json:"test_start"`
}

// Connection is one element of `connected`.
type Connection struct {
	Socket     int    `json:"socket"` // the stream's number
	LocalHost  string `json:"local_host"`
	LocalPort  int    `json:"local_port"`
	RemoteHost string `json:"remote_host"`
	RemotePort int    `json:"remote_port"`
}

// Timestamp is when the control connection was made.
type Timestamp struct {
	Time        string `json:"time"` // RFC 1123, GMT
	Seconds     int64  `json:"timesecs"`
	Millisecond int64  `json:"timemillisecs"`
}

// Place is the other end of the control connection.
type Place struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

// TestStart is what was asked for.
type TestStart struct {
	Protocol   string  `json:"protocol"` // TCP, UDP
	NumStreams int     `json:"num_streams"`
	BlkSize    int     `json:"blksize"`  // bytes
	Omit       float64 `json:"omit"`     // s
	Duration   float64 `json:"duration"` // s
	Bytes      int64   `json:"bytes"`
	Blocks     int64   `json:"blocks"`
	Reverse    int     `json:"reverse"`
	TOS        int     `json:"tos"`
	Rate       int64   `json:"target_bitrate"` // bit/s
	Bidir      int     `json:"bidir"`
	FQRate     int64   `json:"fqrate"`   // bit/s
	Interval   float64 `json:"interval"` // s
	GSO        int     `json:"gso"`
	GRO        int     `json:"gro"`
}

func newStart(r *Record) Start {
	spec := r.spec()
	start := Start{
		Connected:  []Connection{},
		Version:    "iperf " + format + " (fullbore " + version.String() + ")",
		SystemInfo: systemInfo(), Cookie: r.Cookie,
		Rate: int64(spec.Rate), FQRate: int64(spec.Pace), BufSize: max(spec.SendBuf, spec.RecvBuf), Test: newTestStart(r),
	}
	if !r.Began.IsZero() {
		start.Timestamp = &Timestamp{r.Began.UTC().Format(http.TimeFormat), r.Began.Unix(), r.Began.UnixMilli()}
	}
	place := &Place{r.Host, int(r.Port)}
	if r.Server {
		start.Accepted = place
	} else {
		start.ConnectingTo = place
	}
	mss := 0
	for i, c := range connections(r) {
		local, localPort := address(c.local)
		remote, remotePort := address(c.remote)
		start.Connected = append(start.Connected, Connection{c.id, local, localPort, remote, remotePort})
		if i == 0 {
			start.SndBuf, start.RcvBuf, mss = c.sndBuf, c.rcvBuf, c.mss
		}
	}
	switch {
	case spec.Protocol == bulk.UDP:
	case spec.MSS > 0:
		start.MSS = &spec.MSS
	default:
		start.MSSDefault = &mss
	}
	return start
}

func newTestStart(r *Record) TestStart {
	spec := r.spec()
	test := TestStart{
		Protocol: "TCP", NumStreams: spec.Streams, BlkSize: cmp.Or(spec.Length, bulk.DefaultLength),
		Omit: spec.Omit.Seconds(), Duration: spec.Duration.Seconds(), Bytes: spec.Bytes, Blocks: r.Blocks,
		TOS: spec.TOS, Rate: int64(spec.Rate), FQRate: int64(spec.Pace), Interval: r.Rows.Every().Seconds(),
	}
	if spec.Protocol == bulk.UDP {
		test.Protocol, test.BlkSize = "UDP", cmp.Or(spec.Length, datagram.DefaultLength)
	}
	if r.Blocks > 0 {
		test.Bytes = 0 // blocks were asked for, in iperf3's words
	}
	switch spec.Direction {
	case bulk.Reverse:
		test.Reverse = 1
	case bulk.Both:
		test.Bidir = 1
	case bulk.Forward:
	}
	return test
}

// connection is a stream as it was at the start.
type connection struct {
	id             int
	local, remote  string
	sndBuf, rcvBuf int
	mss            int
}

// connections are this end's streams: as it recorded them, or, while it runs, as
// they were first seen.
func connections(r *Record) []connection {
	var out []connection
	for _, s := range r.own().Streams {
		c := connection{id: s.ID, local: s.Local, remote: s.Remote, sndBuf: s.SendBuf, rcvBuf: s.RecvBuf, mss: s.MSS}
		if len(s.Samples) > 0 {
			c.sndBuf, c.rcvBuf = cmp.Or(s.Samples[0].Mem.SendBuf, c.sndBuf), cmp.Or(s.Samples[0].Mem.RecvBuf, c.rcvBuf)
		}
		out = append(out, c)
	}
	if out != nil {
		return out
	}
	for _, l := range r.Rows.connections() {
		out = append(out, connection{l.ID, l.Local, l.Remote, l.Mem.SendBuf, l.Mem.RecvBuf, int(l.TCP.SndMSS)})
	}
	return out
}

// address takes an address and port apart; an IPv4 address in IPv6 is written
// as IPv4, and a zone stays.
func address(text string) (host string, port int) {
	if a, err := netip.ParseAddrPort(text); err == nil {
		return a.Addr().Unmap().String(), int(a.Port())
	}
	host, service, err := net.SplitHostPort(text)
	if err != nil {
		return text, 0
	}
	port, _ = strconv.Atoi(service)
	return host, port
}
