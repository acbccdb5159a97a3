package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/near"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// setting is one thing that can be varied.
type setting struct {
	name        string
	kind        Kind
	least, most string // as a file writes them; "": whatever the kind takes
	usual       Value  // what a transfer has unasked, where that is known beforehand; else zero
	example     string
	says        string
	words       []string                    // that it may be; none: any
	into        func(s *bulk.Spec, v Value) // a socket's option
	path        bool                        // of the lab's path: another value is another lab
	file        bool                        // of requests to a file
}

// settings are all that have a name of their own; tunables have those of the catalogue.
var settings = []setting{
	{name: "buffers", kind: Bytes, least: "1KiB", most: "1GiB", example: "{from: 16KiB, to: 1MiB, step: x2}",
		says: "socket buffers of both ends, SO_SNDBUF and SO_RCVBUF; `present` leaves both to the system, which tunes them as it goes",
		into: func(s *bulk.Spec, v Value) { s.SendBuf, s.RecvBuf = int(v.Number), int(v.Number) }},
	{name: "send_buffer", kind: Bytes, least: "1KiB", most: "1GiB", example: "[present, 64KiB]", says: "SO_SNDBUF of the sender",
		into: func(s *bulk.Spec, v Value) { s.SendBuf = int(v.Number) }},
	{name: "receive_buffer", kind: Bytes, least: "1KiB", most: "1GiB", example: "[present, 64KiB]", says: "SO_RCVBUF of the receiver",
		into: func(s *bulk.Spec, v Value) { s.RecvBuf = int(v.Number) }},
	{name: "window", kind: Bytes, least: "4KiB", most: "512MiB", example: "{from: 64KiB, to: 16MiB, step: x4}",
		says: "largest window that both hosts allow by themselves: on Linux a third number of `net.ipv4.tcp_rmem` and `tcp_wmem` of twice that; raised only"},
	{name: "connections", kind: Count, least: "1", most: "256", example: "[1, 10]", usual: number(1), says: "TCP connections of a transfer",
		into: func(s *bulk.Spec, v Value) { s.Streams = int(v.Number) }},
	{name: "write_size", kind: Bytes, least: "1B", most: "1MiB", example: "[1448, 64KiB]", usual: number(bulk.DefaultLength), says: "bytes that an application writes, and reads, at once",
		into: func(s *bulk.Spec, v Value) { s.Length = int(v.Number) }},
	{name: "mss", kind: Bytes, least: "88B", most: "32767B", example: "[536, 1460]", says: "TCP_MAXSEG: bytes of data in a segment, with the options of TCP",
		into: func(s *bulk.Spec, v Value) { s.MSS = int(v.Number) }},
	{name: "congestion", kind: Name, example: "[cubic, bbr]", says: "congestion control of the sender's connections",
		into: func(s *bulk.Spec, v Value) { s.Congest = v.Word }},
	{name: "direction", kind: Name, words: []string{"forward", "reverse", "both"}, usual: word("forward"), example: "[forward, reverse]",
		says: "forward: this host sends; reverse: it receives; both: both at once", into: func(s *bulk.Spec, v Value) { s.Direction = bulk.Direction(v.Word) }},
	{name: "cpus", kind: Count, least: "1", most: "1024", example: "{from: 1, to: all, step: x2}",
		says: "how many CPUs, of each end and from number 0 on, the threads of a transfer may use, one each in turn; `all`: as many as both ends have. The kernel's own work goes where the NIC and `link.rps_cpus` send it",
		into: func(s *bulk.Spec, v Value) {
			list := "0"
			if v.Number > 1 {
				list = fmt.Sprintf("0-%.0f", v.Number-1)
			}
			s.ClientCPUs, s.ServerCPUs = list, list
		}},
	{name: "depth", kind: Count, least: "1", most: "4096", example: "[1, 8, 64]", usual: number(64), file: true,
		says: "requests in flight to a file of NFS, over all connections, of which it has as many at most"},
	{name: "size", kind: Bytes, least: "1B", most: "4MiB", example: "[4KiB, 1MiB]", usual: number(4096), file: true,
		says: "bytes of each request to a file of NFS: at random below 64 KiB, else one behind the other"},
	{name: "path.rate", kind: BitRate, least: "1kbit", most: "10000gbit", example: "[100mbit, 1gbit]", says: "of the path, each way", path: true},
	{name: "path.delay", kind: Seconds, least: "0s", most: "10s", example: "[1ms, 75ms]", says: "of the path, each way", path: true},
	{name: "path.rtt", kind: Seconds, least: "0s", most: "20s", example: "[2ms, 150ms]", says: "of the path: half of it each way", path: true},
	{name: "path.loss", kind: Share, least: "0%", most: "100%", example: "[0%, 0.01%]", says: "share of the packets that the path loses at random, each way", path: true},
	{name: "path.queue", kind: Name, example: "[16KB, 1bdp]", says: "before the bottleneck, each way, in any unit of a scenario's `queue`", path: true},
}

// ends are whose tunable is meant.
var ends = []string{"near", "far", "both"}

// lookup finds what can be varied under a name.
func lookup(name string) (setting, error) {
	for _, s := range settings {
		if s.name == name {
			return s, nil
		}
	}
	end, base, dotted := strings.Cut(name, ".")
	if dotted && slices.Contains(ends, end) {
		if len(name) > 128 {
			return setting{}, fmt.Errorf("the name of factor %.40q… is longer than 128 characters", name)
		}
		having := tunable.Having(base)
		if len(having) == 0 {
			hint := ""
			if linux, err := tunable.Of("linux"); err == nil {
				hint = linux.DidYouMean(base)
			}
			return setting{}, fmt.Errorf("%q is not a tunable of any system%s: see fullbore tunables", base, hint)
		}
		if t, ok := tunable.Lookup(having[0], base); ok && t.Leave != "" && len(having) == 1 {
			return setting{}, fmt.Errorf("%s is never changed: %s", base, t.Leave)
		}
		return setting{name: name, kind: Tunable}, nil
	}
	var names []string
	for _, s := range settings {
		names = append(names, s.name)
	}
	return setting{}, fmt.Errorf("unknown factor %.40q%s: use one of %s, or a tunable behind near., far. or both., such as both.net.ipv4.tcp_rmem",
		name, near.DidYouMean(name, names), strings.Join(names, ", "))
}

// read gives the value of a word, within what the setting takes.
func (s setting) read(text string) (Value, error) {
	v, err := s.kind.read(text)
	if err != nil || v.Present() {
		return s.known(v), err
	}
	switch {
	case v.Word == allOfCPU && s.kind == Count:
		if s.name != "cpus" {
			return v, fmt.Errorf("all is a number of CPUs, not of %s", s.name)
		}
	case s.words != nil && !slices.Contains(s.words, v.Word):
		return v, fmt.Errorf("%s %q is not one of %s", s.name, text, strings.Join(s.words, ", "))
	case s.name == "congestion" && !bulk.CongestionName(v.Word):
		return v, fmt.Errorf("%q is not the name of a congestion control", text)
	case s.least != "":
		least, _ := s.kind.read(s.least)
		most, _ := s.kind.read(s.most)
		if !(v.Number >= least.Number && v.Number <= most.Number) {
			return v, fmt.Errorf("%s %s is not within %s and %s", s.name, text, s.least, s.most)
		}
	}
	return v, nil
}

// known puts what is known of a transfer unasked in place of "present".
func (s setting) known(v Value) Value {
	if v.Present() && s.usual != (Value{}) {
		return s.usual
	}
	return v
}

// floor is the least value that a search goes back to; false: not below where it began.
func (s setting) floor() (float64, bool) {
	switch s.name {
	case "buffers", "send_buffer", "receive_buffer":
		return float64(4 * unit.KiB), true // less than a few packets is no window
	case "write_size":
		return float64(unit.KiB), true
	case "connections", "cpus", "depth":
		return 1, true
	}
	return 0, false
}
