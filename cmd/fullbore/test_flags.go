package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// transferFlags describe one transfer, with iperf3's flags where the meaning is
// the same.
type transferFlags struct {
	Time       float64 `short:"t" default:"10" placeholder:"SECONDS" help:"Measured time (10)."`
	Bytes      string  `short:"n" placeholder:"SIZE" help:"Send this much instead of for a time."`
	Blocks     string  `short:"k" name:"blockcount" placeholder:"N" help:"Send this many blocks of --length instead of for a time."`
	Parallel   int     `short:"P" default:"1" placeholder:"N" help:"TCP connections, or UDP flows (1)."`
	Reverse    bool    `short:"R" help:"The far end sends."`
	Bidir      bool    `help:"Both ends send at once."`
	Omit       float64 `short:"O" default:"0" placeholder:"SECONDS" help:"Do not measure the first seconds."`
	Length     string  `short:"l" placeholder:"SIZE" help:"Bytes a write or read (128K), or a datagram (what fits into a packet)."`
	Window     string  `short:"w" placeholder:"SIZE" help:"Socket buffers (SO_SNDBUF and SO_RCVBUF) at both ends; switches autotuning off."`
	MSS        int     `short:"M" name:"set-mss" placeholder:"BYTES" help:"Maximum segment size."`
	Congestion string  `short:"C" aliases:"linux-congestion" placeholder:"NAME" help:"Congestion control of the sender."`
	NoDelay    bool    `short:"N" help:"Set TCP_NODELAY."`
	Rate       string  `short:"b" name:"bitrate" aliases:"bandwidth" placeholder:"RATE[/BURST]" help:"Each stream's application writes no faster; 0: as fast as it can. UDP: 1M unless given."`
	FQRate     string  `name:"fq-rate" placeholder:"RATE" help:"Pace each connection at this rate (SO_MAX_PACING_RATE)."`
	TOS        string  `short:"S" name:"tos" placeholder:"N" help:"IP type of service, 0 to 255 (decimal, 0x hexadecimal or 0 octal)."`
	DSCP       string  `name:"dscp" placeholder:"NAME" help:"The same by code point: 0 to 63, or a name such as ef, af41, cs1."`
	NotSent    string  `name:"notsent-lowat" placeholder:"SIZE" help:"Keep no more than this unsent in the send buffer (TCP_NOTSENT_LOWAT)."`
	ZeroCopy   bool    `short:"Z" name:"zerocopy" help:"The same as --send-path sendfile."`
	SkipRxCopy bool    `name:"skip-rx-copy" help:"The same as --recv-path truncate."`
	SendPath   string  `name:"send-path" enum:"copy,sendfile,zerocopy," default:"" placeholder:"PATH" help:"How bytes go to the kernel: copy (as applications do), sendfile, zerocopy."`
	RecvPath   string  `name:"recv-path" enum:"copy,truncate,splice," default:"" placeholder:"PATH" help:"How they come from it: copy (as applications do), truncate (dropped there), splice."`
	Affinity   string  `short:"A" placeholder:"CPU[,CPU]" help:"Pin the streams to CPUs of this host, and of the far end: N, N-M or nic (those near the network card)."`
	ClientCPUs string  `name:"client-cpus" placeholder:"LIST" help:"The same for this host, as a list: 0,2-5."`
	ServerCPUs string  `name:"server-cpus" placeholder:"LIST" help:"The same for the far end."`

	UDP          bool   `short:"u" help:"UDP; with iperf3's protocol, which 'fullbore serve' speaks on the same port."`
	Counters64   bool   `name:"udp-counters-64bit" help:"UDP: number datagrams with 64 bits."`
	DontFragment bool   `name:"dont-fragment" help:"UDP over IPv4: forbid fragments."`
	ServerOutput bool   `name:"get-server-output" help:"Fetch the far end's report; with iperf3's protocol."`
	Title        string `short:"T" placeholder:"TEXT" help:"Begin each line with this; in JSON, title."`
	Extra        string `name:"extra-data" placeholder:"TEXT" help:"Text for the JSON document."`
	User         string `name:"username" placeholder:"NAME" help:"Log in to an iperf3 server; password from IPERF3_PASSWORD, or asked for."`
	PublicKey    string `name:"rsa-public-key-path" placeholder:"FILE" help:"The server's public key, for --username."`
	PKCS1        bool   `name:"use-pkcs1-padding" help:"Log in as servers before iperf3 3.17 expect it."`

	Missing iperf3Missing `embed:""`
}

// iperf3Missing are flags of iperf3 that are not there, and what to do instead.
type iperf3Missing struct {
	Server       absent `short:"s" hidden:"" help:"this is the client: run 'fullbore serve' to be the far end"`
	Bind         absent `short:"B" hidden:"" help:"it cannot choose the local address: the route to the far end does ('ip route add HOST src ADDRESS')"`
	BindDevice   absent `name:"bind-dev" hidden:"" help:"it cannot choose the interface: the route to the far end does ('ip route add HOST dev NAME')"`
	CPort        absent `name:"cport" hidden:"" help:"the system chooses the local ports"`
	NStreams     absent `name:"nstreams" hidden:"" help:"SCTP is not supported"`
	SCTP         absent `name:"sctp" hidden:"" help:"SCTP is not supported: what is measured is TCP, or UDP with -u"`
	XBind        absent `name:"xbind" short:"X" hidden:"" help:"SCTP is not supported"`
	MPTCP        absent `name:"mptcp" short:"m" hidden:"" help:"Multipath TCP is not supported: what is measured is one path"`
	FlowLabel    absent `name:"flowlabel" short:"L" hidden:"" help:"the kernel chooses the flow label of IPv6"`
	File         absent `name:"file" short:"F" hidden:"" help:"what is measured is memory to memory: a disk has a speed of its own"`
	PacingTimer  absent `name:"pacing-timer" hidden:"" help:"not needed: with --bitrate every write has its own time"`
	Repeating    absent `name:"repeating-payload" hidden:"" help:"the payload cannot be chosen: it does not compress"`
	LogFile      absent `name:"logfile" hidden:"" help:"send the output to a file with '> FILE'"`
	Timestamps   absent `name:"timestamps" hidden:"" help:"pipe the output through 'ts' for the time of each line"`
	Debug        absent `name:"debug" short:"d" hidden:"" help:"-V shows everything that was measured"`
	PIDFile      absent `name:"pidfile" short:"I" hidden:"" help:"not needed: the shell has the process id in $!"`
	RcvTimeout   absent `name:"rcv-timeout" hidden:"" help:"a transfer in which nothing moves ends by itself, after 4 s, or with iperf3's protocol after 15 s"`
	SndTimeout   absent `name:"snd-timeout" hidden:"" help:"a transfer in which nothing moves ends by itself, after 4 s, or with iperf3's protocol after 15 s"`
	KeepAlive    absent `name:"cntl-ka" hidden:"" help:"the control connection is watched in any case"`
	GSRO         absent `name:"gsro" hidden:"" help:"datagrams are sent and received in batches by themselves where the system can"`
	Daemon       absent `name:"daemon" short:"D" hidden:"" help:"run 'fullbore serve' under the system's service manager"`
	OneOff       absent `name:"one-off" short:"1" hidden:"" help:"this is the client: run 'fullbore serve' to be the far end"`
	StreamOutput absent `name:"json-stream-full-output" hidden:"" help:"use --json for the whole document, or --json-stream for its parts"`
}

// absent refuses a flag, with its help as the reason.
type absent struct{}

// Decode is called by kong where the flag is given.
func (absent) Decode(ctx *kong.DecodeContext) error { return errors.New(ctx.Value.Help) }

// IsBool keeps kong from asking for a value before it asks Decode.
func (absent) IsBool() bool { return true }

// spec turns the flags into a transfer.
func (c *transferFlags) spec() (bulk.Spec, error) {
	spec := bulk.Spec{
		Direction: bulk.Forward, Streams: c.Parallel, Congest: c.Congestion, MSS: c.MSS, NoDelay: c.NoDelay,
		SendPath: bulk.SendPath(c.SendPath), RecvPath: bulk.RecvPath(c.RecvPath), DontFragment: c.DontFragment, Counters64: c.Counters64,
	}
	switch {
	case c.Reverse && c.Bidir:
		return spec, usageError("both --reverse and --bidir were given: use one")
	case c.Reverse:
		spec.Direction = bulk.Reverse
	case c.Bidir:
		spec.Direction = bulk.Both
	}
	for _, fill := range []func(*bulk.Spec) error{c.length, c.sizes, c.rates, c.service, c.paths, c.cpus} {
		if err := fill(&spec); err != nil {
			return spec, &hinted{err: err, hint: "see fullbore test --help", code: exitUsage}
		}
	}
	if c.UDP {
		spec.Protocol = bulk.UDP
		if c.Rate == "" {
			spec.Rate = udpRate
		}
	} else if c.Counters64 || c.DontFragment {
		return spec, usageError("--udp-counters-64bit and --dont-fragment are for UDP: add -u")
	}
	if err := spec.Check(); err != nil {
		return spec, usageError("%w", err)
	}
	return spec, nil
}

// udpRate is iperf3's default: UDP has no congestion control of its own.
const udpRate = unit.Mbps

// length is how long the transfer is: in time, bytes or blocks.
func (c *transferFlags) length(spec *bulk.Spec) error {
	for flag, value := range map[string]float64{"--time": c.Time, "--omit": c.Omit} {
		if !(value >= 0 && value <= bulk.MaxDuration.Seconds()) { // also NaN
			return fmt.Errorf("%s: %v seconds: use up to %v", flag, value, bulk.MaxDuration.Seconds())
		}
	}
	spec.Duration, spec.Omit = seconds(c.Time), seconds(c.Omit)
	switch {
	case c.Bytes != "" && c.Blocks != "":
		return errors.New("both --bytes and --blockcount were given: use one")
	case c.Bytes != "":
		n, err := unit.ParseSize(c.Bytes)
		if err != nil {
			return fmt.Errorf("--bytes: %w", err)
		}
		spec.Bytes, spec.Duration = int64(n), 0
	case c.Blocks != "":
		blocks, err := unit.ParseSize(c.Blocks) // iperf3 reads it as a size, too
		if err != nil || blocks == 0 {
			return fmt.Errorf("--blockcount: %q is not a number of blocks", c.Blocks)
		}
		length, err := unit.ParseSize(cmp.Or(c.Length, strconv.Itoa(bulk.DefaultLength)))
		if err != nil {
			return fmt.Errorf("--length: %w", err)
		}
		if most := unit.Size(1<<53) / max(1, length); blocks > most { // as ParseSize has it
			return fmt.Errorf("--blockcount: %s blocks of %s are too many", c.Blocks, length)
		}
		spec.Bytes, spec.Duration = int64(blocks)*int64(length), 0
		if c.UDP && c.Length == "" {
			spec.Bytes = 0 // known once the path's MTU is
		}
	case c.Time == 0:
		return errors.New("--time 0: give the time in seconds; a transfer without end is not supported")
	}
	return nil
}

// blocks is what --blockcount asks for; length has checked it.
func (c *transferFlags) blocks() int64 {
	if c.Blocks == "" {
		return 0
	}
	n, _ := unit.ParseSize(c.Blocks)
	return int64(n)
}

func (c *transferFlags) sizes(spec *bulk.Spec) error {
	for _, size := range []struct {
		flag, text string
		to         []*int
	}{
		{"--length", c.Length, []*int{&spec.Length}},
		{"--window", c.Window, []*int{&spec.SendBuf, &spec.RecvBuf}},
		{"--notsent-lowat", c.NotSent, []*int{&spec.NotSentLowat}},
	} {
		if size.text == "" {
			continue
		}
		n, err := unit.ParseSize(size.text)
		if err != nil {
			return fmt.Errorf("%s: %w", size.flag, err)
		}
		for _, to := range size.to {
			*to = int(min(n, math.MaxInt32)) // Check says on every platform what is too large
		}
	}
	return nil
}

func (c *transferFlags) rates(spec *bulk.Spec) (err error) {
	if c.FQRate != "" {
		if spec.Pace, err = unit.ParseRate(c.FQRate); err != nil {
			return fmt.Errorf("--fq-rate: %w", err)
		}
	}
	if c.Rate == "" {
		return nil
	}
	rate := c.Rate
	if at := strings.LastIndexByte(rate, '/'); at >= 0 && rate[at:] != "/s" { // "10Mb/s" has no burst
		if spec.Burst, err = strconv.Atoi(rate[at+1:]); err != nil || spec.Burst < 1 {
			return fmt.Errorf("--bitrate: %q is not a number of blocks to write back to back: use RATE/BURST such as 10M/50", rate[at+1:])
		}
		rate = rate[:at]
	}
	if zero, err := strconv.ParseFloat(rate, 64); err == nil && zero == 0 {
		return nil // iperf3: as fast as it can
	}
	if spec.Rate, err = unit.ParseRate(rate); err != nil {
		return fmt.Errorf("--bitrate: %w", err)
	}
	return nil
}

// codePoints are the names of RFC 2474, 2597, 3246, 5865 and 8622, as IANA's
// registry of DSCPs has them.
var codePoints = map[string]int{
	"cs0": 0, "cs1": 8, "cs2": 16, "cs3": 24, "cs4": 32, "cs5": 40, "cs6": 48, "cs7": 56,
	"af11": 10, "af12": 12, "af13": 14, "af21": 18, "af22": 20, "af23": 22,
	"af31": 26, "af32": 28, "af33": 30, "af41": 34, "af42": 36, "af43": 38,
	"ef": 46, "voice-admit": 44, "va": 44, "le": 1,
}

func (c *transferFlags) service(spec *bulk.Spec) error {
	switch {
	case c.TOS != "" && c.DSCP != "":
		return errors.New("both --tos and --dscp were given: use one")
	case c.TOS != "":
		n, err := strconv.ParseInt(c.TOS, 0, 32)
		if err != nil || n < 0 || n > 255 {
			return fmt.Errorf("--tos: %q is not a number from 0 to 255", c.TOS)
		}
		spec.TOS = int(n)
	case c.DSCP != "":
		point, ok := codePoints[strings.ToLower(c.DSCP)]
		if n, err := strconv.ParseInt(c.DSCP, 0, 32); err == nil && n >= 0 && n <= 63 {
			point, ok = int(n), true
		}
		if !ok {
			return fmt.Errorf("--dscp: %q is neither a number from 0 to 63 nor a name such as ef, af41, cs1", c.DSCP)
		}
		spec.TOS = point << 2 // above the two bits of ECN
	}
	return nil
}

func (c *transferFlags) paths(spec *bulk.Spec) error {
	if c.ZeroCopy {
		if c.SendPath != "" && spec.SendPath != bulk.SendFile {
			return fmt.Errorf("--zerocopy is --send-path sendfile, and --send-path %s was given too: use one", c.SendPath)
		}
		spec.SendPath = bulk.SendFile
	}
	if c.SkipRxCopy {
		if c.RecvPath != "" && spec.RecvPath != bulk.RecvTruncate {
			return fmt.Errorf("--skip-rx-copy is --recv-path truncate, and --recv-path %s was given too: use one", c.RecvPath)
		}
		spec.RecvPath = bulk.RecvTruncate
	}
	return nil
}

func (c *transferFlags) cpus(spec *bulk.Spec) error {
	spec.ClientCPUs, spec.ServerCPUs = c.ClientCPUs, c.ServerCPUs
	if c.Affinity == "" {
		return nil
	}
	if c.ClientCPUs != "" || c.ServerCPUs != "" {
		return errors.New("--affinity and --client-cpus or --server-cpus were given: use one kind")
	}
	near, far, both := strings.Cut(c.Affinity, ",")
	if near == "" || both && far == "" || strings.Contains(far, ",") {
		return fmt.Errorf("--affinity: %q is not CPU or CPU,CPU: for lists use --client-cpus and --server-cpus", c.Affinity)
	}
	spec.ClientCPUs, spec.ServerCPUs = near, far
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// speaksIperf3 says that the transfer is one that only iperf3's protocol can
// describe, and why; "": it is not.
func (c *transferFlags) speaksIperf3() string {
	switch {
	case c.UDP:
		return "UDP"
	case c.ServerOutput:
		return "--get-server-output"
	case c.User != "" || c.PublicKey != "":
		return "--username"
	}
	return ""
}
