// Package mounted reads what this host's kernel counts of its NFS mounts: requests, where
// their time went, and the connections that carry them. Between two looks that says what a
// mount is doing now.
package mounted

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/fullbore/fullbore/host"
)

// Mount is an NFS mount as it was at one instant. Counters begin when it is mounted.
type Mount struct {
	Point      string // where it is mounted
	Device     string // SERVER:/EXPORT
	Version    string // of NFS, such as 3 or 4.2
	Options    map[string]string
	Age        time.Duration
	ReadSize   int    // bytes of a read at most (rsize); 0: not known
	WriteSize  int    // wsize
	Read       uint64 // bytes that the server sent of files
	Operations map[string]Operation
	Transports []Transport // a connection each
}

// Operation counts the requests of one kind.
type Operation struct {
	Requests, Transmissions, Timeouts, Errors uint64
	Sent, Received                            uint64 // bytes, with headers

	// Where the time of all requests together went (struct rpc_iostats, include/linux/sunrpc/metrics.h).
	Queue   time.Duration // from when a request was made until it was sent: it waited for a slot, or for room in the socket
	RTT     time.Duration // from then until its answer came
	Execute time.Duration // both, and what the client did with the answer
}

// Transport counts what one connection did.
type Transport struct {
	Protocol                    string // tcp, udp, rdma
	Port                        uint64 // this host's
	Connects, Sends, Receives   uint64
	InFlight, Backlog           uint64 // sums over all sends: requests without an answer; requests that wait for a slot of the connection
	Sending, Pending, MostSlots uint64 // sums over all sends: requests that wait for room in the socket; that wait for their answer. MostSlots: most slots ever used
	BadXIDs                     uint64 // answers that nobody waited for
}

// ErrNone says that nothing of NFS is mounted at a place.
var ErrNone = errors.New("nothing of NFS is mounted there")

// Read gives the NFS mounts that this process sees, from /proc or another place where
// that is mounted. On a system without it the error is host.ErrUnsupported.
func Read(proc string) ([]Mount, error) {
	system, err := procfs.NewFS(proc)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read NFS mounts: %w", host.ErrUnsupported)
		}
		return nil, fmt.Errorf("read NFS mounts: %w", err)
	}
	self, err := system.Self()
	if err != nil {
		return nil, fmt.Errorf("read NFS mounts: %w", err)
	}
	all, err := self.MountStats()
	if err != nil {
		return nil, fmt.Errorf("read NFS mounts: %w", err)
	}
	var mounts []Mount
	for _, m := range all {
		if stats, ok := m.Stats.(*procfs.MountStatsNFS); ok {
			mounts = append(mounts, mount(m, stats))
		}
	}
	return mounts, nil
}

// At is the mount that a path is in: the one with the longest mount point above it.
func At(mounts []Mount, path string) (Mount, error) {
	at := -1
	for i, m := range mounts {
		if below(path, m.Point) && (at < 0 || len(m.Point) >= len(mounts[at].Point)) { // of two at one place the later one is seen
			at = i
		}
	}
	if at < 0 {
		return Mount{}, fmt.Errorf("%s: %w", path, ErrNone)
	}
	return mounts[at], nil
}

func below(path, point string) bool {
	return path == point || point == "/" || strings.HasPrefix(path, point+"/")
}

func mount(m *procfs.Mount, s *procfs.MountStatsNFS) Mount {
	number := func(option string) int {
		n, err := strconv.Atoi(s.Opts[option])
		if err != nil {
			return 0 // it is not there
		}
		return n
	}
	out := Mount{
		Point: m.Mount, Device: m.Device, Version: s.Opts["vers"], Options: s.Opts, Age: s.Age,
		ReadSize: number("rsize"), WriteSize: number("wsize"), Read: s.Bytes.ReadTotal, Operations: map[string]Operation{},
	}
	if minor, ok := s.Opts["minorversion"]; ok && !strings.Contains(out.Version, ".") { // as kernels before 3.x wrote it
		out.Version += "." + minor
	}
	ms := func(n uint64) time.Duration { return time.Duration(min(n, mostMilliseconds)) * time.Millisecond }
	for _, o := range s.Operations {
		out.Operations[o.Operation] = Operation{
			Requests: o.Requests, Transmissions: o.Transmissions, Timeouts: o.MajorTimeouts, Errors: o.Errors, Sent: o.BytesSent, Received: o.BytesReceived,
			Queue: ms(o.CumulativeQueueMilliseconds), RTT: ms(o.CumulativeTotalResponseMilliseconds), Execute: ms(o.CumulativeTotalRequestMilliseconds),
		}
	}
	for _, t := range s.Transport {
		out.Transports = append(out.Transports, Transport{
			Protocol: t.Protocol, Port: t.Port, Connects: t.Connect, Sends: t.Sends, Receives: t.Receives, BadXIDs: t.BadTransactionIDs,
			InFlight: t.CumulativeActiveRequests, Backlog: t.CumulativeBacklog, Sending: t.CumulativeSendingQueue, Pending: t.CumulativePendingQueue, MostSlots: t.MaximumRPCSlotsUsed,
		})
	}
	return out
}

// mostMilliseconds is as many as a Duration has room for: 292 years.
const mostMilliseconds = uint64(1<<63-1) / uint64(time.Millisecond)

// Names are the operations that were ever asked for, in order.
func (m *Mount) Names() []string {
	var names []string
	for name, o := range m.Operations {
		if o.Requests > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
