package iperf3

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
	"github.com/fullbore/fullbore/version"
)

// Limits of what a client may ask for: iperf3's own, which its servers check
// since the version after 3.21.
const (
	maxTime      = 86400 // s
	maxOmit      = 600   // s
	maxStreams   = 128   // in each direction
	maxWindow    = 512 << 20
	maxMSS       = 32767
	minMSS       = 88 // Linux's TCP_MIN_MSS
	maxBurst     = 1000
	maxTOS       = 255
	maxAffinity  = 1024
	maxFlowLabel = 1<<20 - 1
	minUDPLength = 16 // its header with 64-bit counters
	maxUDPLength = 65535 - 8 - 20
)

// StreamID is the id of the i-th stream of a test, from 0: 1, 3, 4, 5, ...
// iperf3 skips 2 since its beginnings, and both ends must do the same.
func StreamID(i int) int {
	if i == 0 {
		return 1
	}
	return i + 2
}

// Spec is the transfer a client asks for. Notes are sentences on what it asks
// for and does not get. An error is a *[Refusal], whose number is the answer.
//
// A test without an end (time 0, no bytes) has the Duration [bulk.MaxDuration]:
// the client ends it, as it ends every other.
func (p Parameters) Spec() (spec bulk.Spec, notes []string, err error) {
	notes = append(notes, p.ignored...)
	if err := p.check(); err != nil {
		return bulk.Spec{}, notes, err
	}
	spec = bulk.Spec{
		Protocol: bulk.TCP, Direction: bulk.Forward, Streams: p.Parallel,
		Duration: time.Duration(p.Time * float64(time.Second)), Omit: time.Duration(p.Omit) * time.Second,
		Bytes: p.Num, Length: p.Len, SendBuf: p.Window, RecvBuf: p.Window, TOS: p.TOS,
		Rate: unit.Rate(p.Bandwidth), Burst: p.Burst, Pace: unit.Rate(p.FQRate),
	}
	if p.Reverse {
		spec.Direction = bulk.Reverse
	}
	if p.Bidirectional {
		spec.Direction = bulk.Both
	}
	if spec.Bytes == 0 {
		spec.Bytes = p.BlockCount * int64(p.Len)
	}
	if spec.Bytes > 0 {
		spec.Duration = 0
	} else if spec.Duration == 0 {
		spec.Duration = bulk.MaxDuration
	}
	if p.Affinity != nil {
		spec.ServerCPUs = strconv.Itoa(*p.Affinity)
	}
	if p.FlowLabel != 0 {
		notes = append(notes, "the IPv6 flow label is not set")
	}
	if p.UDP {
		spec.Protocol = bulk.UDP
		spec.DontFragment, spec.Counters64 = p.DontFragment != 0, p.Counters64 != 0
		return spec, notes, validated(spec)
	}
	spec.MSS, spec.NoDelay = p.MSS, p.NoDelay
	if spec.Congest = p.Congestion; !bulk.CongestionName(p.Congestion) {
		spec.Congest = ""
		notes = append(notes, fmt.Sprintf("no congestion control is called %.40q", p.Congestion))
	}
	if p.ZeroCopy != 0 {
		spec.SendPath = bulk.SendFile
	}
	if p.SkipRxCopy != 0 {
		spec.RecvPath = bulk.RecvTruncate
	}
	return spec, notes, validated(spec)
}

// check holds the parameters against iperf3's limits, in its order.
func (p Parameters) check() error {
	switch {
	case p.SCTP:
		return refuse(IENoSCTP, "the client asks for SCTP")
	case p.Omit < 0 || p.Omit > maxOmit:
		return refuse(IEOmit, "omit %d", p.Omit)
	case p.Affinity != nil && (*p.Affinity < 0 || *p.Affinity > maxAffinity):
		return refuse(IEAffinity, "server_affinity %d", *p.Affinity)
	case !(p.Time >= 0 && p.Time <= maxTime):
		return refuse(IEDuration, "time %v", p.Time)
	case p.Num < 0 || p.BlockCount < 0:
		return refuse(IERecvParams, "num %d, blockcount %d", p.Num, p.BlockCount)
	case p.MSS < 0 || p.MSS > maxMSS || p.MSS > 0 && p.MSS < minMSS:
		return refuse(IEMSS, "MSS %d", p.MSS)
	case p.Parallel < 1 || p.Parallel > maxStreams:
		return refuse(IENumStreams, "parallel %d", p.Parallel)
	case p.Reverse && p.Bidirectional:
		return refuse(IEReverseBidir, "reverse and bidirectional")
	case p.MPTCP:
		return refuse(IEUnimp, "the client asks for MPTCP")
	case p.Window < 0 || p.Window > maxWindow:
		return refuse(IEBufSize, "window %d", p.Window)
	case p.UDP && (p.Len < minUDPLength || p.Len > maxUDPLength):
		return refuse(IEUDPBlockSize, "len %d", p.Len)
	case !p.UDP && (p.Len < 1 || p.Len > bulk.MaxLength):
		return refuse(IEBlockSize, "len %d", p.Len)
	case p.BlockCount > math.MaxInt64/int64(p.Len):
		return refuse(IERecvParams, "blockcount %d of %d bytes", p.BlockCount, p.Len)
	case p.Bandwidth < 0 || p.FQRate < 0:
		return refuse(IERecvParams, "bandwidth %d, fqrate %d", p.Bandwidth, p.FQRate)
	case p.Burst < 0 || p.Burst > maxBurst:
		return refuse(IEBurst, "burst %d", p.Burst)
	case p.TOS < 0 || p.TOS > maxTOS:
		return refuse(IEBadTOS, "TOS %d", p.TOS)
	case p.FlowLabel < 0 || p.FlowLabel > maxFlowLabel:
		return refuse(IESetFlow, "flowlabel %d", p.FlowLabel)
	}
	return nil
}

// validated is the engine's own word on a spec.
func validated(spec bulk.Spec) error {
	if err := spec.Check(); err != nil {
		return refuse(IERecvParams, "%v", err)
	}
	return nil
}

// ParametersOf is what a client sends for a spec. iperf3 counts whole seconds:
// Duration and Omit are rounded up, the client ends the test by its own clock.
// What the protocol has no word for is left out.
func ParametersOf(spec bulk.Spec) Parameters {
	p := Parameters{
		TCP: spec.Protocol != bulk.UDP, UDP: spec.Protocol == bulk.UDP,
		Omit: int(seconds(spec.Omit)), Time: seconds(spec.Duration), Num: spec.Bytes, Parallel: spec.Streams, Len: spec.Length,
		PacingTimer: 1000, // iperf3's default; unused since 3.16
		Reverse:     spec.Direction == bulk.Reverse, Bidirectional: spec.Direction == bulk.Both,
		Window: max(spec.SendBuf, spec.RecvBuf), TOS: spec.TOS,
		Bandwidth: saturate(math.Round(float64(spec.Rate))), FQRate: saturate(math.Round(float64(spec.Pace))), Burst: spec.Burst,
		ClientVersion: "fullbore " + version.String(),
	}
	switch {
	case spec.Bytes > 0:
		p.Time = 0
	case spec.Duration == 0:
		p.Time = 1 // nothing to send; without any end a server may refuse the test
	}
	if cpu, err := strconv.Atoi(spec.ServerCPUs); err == nil && cpu >= 0 && cpu <= maxAffinity {
		p.Affinity = &cpu // iperf3 has no word for more than one
	}
	if p.UDP {
		p.Len = orDefault(p.Len, defaultUDPLength)
		p.DontFragment, p.Counters64 = oneIf(spec.DontFragment), oneIf(spec.Counters64)
		return p
	}
	p.Len = orDefault(p.Len, bulk.DefaultLength)
	p.MSS, p.NoDelay, p.Congestion = spec.MSS, spec.NoDelay, spec.Congest
	p.ZeroCopy = oneIf(spec.SendPath == bulk.SendFile)
	p.SkipRxCopy = oneIf(spec.RecvPath == bulk.RecvTruncate)
	return p
}

// seconds rounds up to whole ones.
func seconds(d time.Duration) float64 { return math.Ceil(d.Seconds()) }

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}
