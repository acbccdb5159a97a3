package iperf3

import (
	"fmt"

	"github.com/fullbore/fullbore/bulk"
)

// Parameters is what a client asks of a server, in iperf3's JSON. Flags of type
// int are numbers there, those of type bool are booleans: since 3.18 a flag of
// the other type is ignored. Unknown keys are ignored by every version.
type Parameters struct {
	TCP           bool    `json:"tcp,omitempty"`
	UDP           bool    `json:"udp,omitempty"`
	SCTP          bool    `json:"sctp,omitempty"`
	Omit          int     `json:"omit"`         // s
	Time          float64 `json:"time"`         // s; 0: by num or blockcount. iperf3 sends whole numbers
	Num           int64   `json:"num"`          // bytes
	BlockCount    int64   `json:"blockcount"`   // blocks of len bytes
	Parallel      int     `json:"parallel"`     // streams in each direction
	Len           int     `json:"len"`          // bytes a write or datagram
	PacingTimer   int     `json:"pacing_timer"` // us
	ClientVersion string  `json:"client_version"`

	Affinity         *int   `json:"server_affinity,omitempty"`
	MSS              int    `json:"MSS,omitempty"` // bytes
	NoDelay          bool   `json:"nodelay,omitempty"`
	Reverse          bool   `json:"reverse,omitempty"`
	Bidirectional    bool   `json:"bidirectional,omitempty"`
	MPTCP            bool   `json:"mptcp,omitempty"`
	Window           int    `json:"window,omitempty"`    // bytes: SO_SNDBUF and SO_RCVBUF
	Bandwidth        int64  `json:"bandwidth,omitempty"` // bit/s a stream, 0: unlimited
	FQRate           int64  `json:"fqrate,omitempty"`    // bit/s a stream
	Burst            int    `json:"burst,omitempty"`     // never 0 on the wire
	TOS              int    `json:"TOS,omitempty"`
	FlowLabel        int    `json:"flowlabel,omitempty"`
	Title            string `json:"title,omitempty"`
	ExtraData        string `json:"extra_data,omitempty"`
	Congestion       string `json:"congestion,omitempty"`
	CongestionUsed   string `json:"congestion_used,omitempty"`
	GetServerOutput  int    `json:"get_server_output,omitempty"`
	Counters64       int    `json:"udp_counters_64bit,omitempty"`
	RepeatingPayload int    `json:"repeating_payload,omitempty"`
	ZeroCopy         int    `json:"zerocopy,omitempty"`
	DontFragment     int    `json:"dont_fragment,omitempty"`
	SkipRxCopy       int    `json:"skip_rx_copy,omitempty"`
	AuthToken        string `json:"authtoken,omitempty"`

	ignored []string // keys of a wrong type, as they came
}

// What a client gets that leaves a key out: iperf3's defaults.
const (
	defaultTime      = 10
	defaultUDPLength = 1460 // iperf3's client rather sends the MSS of the control connection
)

// UnmarshalJSON reads what a client sent. Only the form is checked; see
// [Parameters.Spec].
func (p *Parameters) UnmarshalJSON(text []byte) error {
	f, err := parseFields(text)
	if err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	*p = Parameters{Time: defaultTime, Parallel: 1}
	f.flag("tcp", &p.TCP)
	f.flag("udp", &p.UDP)
	f.flag("sctp", &p.SCTP)
	integer(f, "omit", &p.Omit)
	f.float("time", &p.Time)
	integer(f, "num", &p.Num)
	integer(f, "blockcount", &p.BlockCount)
	integer(f, "parallel", &p.Parallel)
	if !integer(f, "len", &p.Len) {
		p.Len = bulk.DefaultLength
		if p.UDP {
			p.Len = defaultUDPLength
		}
	}
	integer(f, "pacing_timer", &p.PacingTimer)
	f.text("client_version", &p.ClientVersion)

	var affinity int
	if integer(f, "server_affinity", &affinity) {
		p.Affinity = &affinity
	}
	integer(f, "MSS", &p.MSS)
	f.flag("nodelay", &p.NoDelay)
	f.flag("reverse", &p.Reverse)
	f.flag("bidirectional", &p.Bidirectional)
	f.flag("mptcp", &p.MPTCP)
	integer(f, "window", &p.Window)
	integer(f, "bandwidth", &p.Bandwidth)
	integer(f, "fqrate", &p.FQRate)
	integer(f, "burst", &p.Burst)
	integer(f, "TOS", &p.TOS)
	integer(f, "flowlabel", &p.FlowLabel)
	f.text("title", &p.Title)
	f.text("extra_data", &p.ExtraData)
	f.text("congestion", &p.Congestion)
	f.text("congestion_used", &p.CongestionUsed)
	integer(f, "get_server_output", &p.GetServerOutput)
	integer(f, "udp_counters_64bit", &p.Counters64)
	integer(f, "repeating_payload", &p.RepeatingPayload)
	integer(f, "zerocopy", &p.ZeroCopy)
	integer(f, "dont_fragment", &p.DontFragment)
	integer(f, "skip_rx_copy", &p.SkipRxCopy)
	f.text("authtoken", &p.AuthToken)
	p.ignored = f.wrong
	return nil
}

// WantsServerOutput says that the client asks for the server's own output
// (--get-server-output).
func (p Parameters) WantsServerOutput() bool { return p.GetServerOutput != 0 }
