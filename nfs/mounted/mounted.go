// Package mounted reads what this host's kernel counts of its NFS mounts: requests, where
// their time went, and the connections that carry them. Between two looks that says what a
// mount is doing now.
package mounted

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/fullbore/fullbore/host"
)

// Mount is an NFS mount as it was at one instant. Counters begin when it is mounted.
type Mount struct {
	Point       string // where it is mounted
	Device      string // SERVER:/EXPORT
	Version     string // of NFS, such as 3 or 4.2
	Options     map[string]string
	Age         time.Duration
	ReadSize    int    // bytes of a read at most (rsize); 0: not known
	Read        uint64 // bytes that the server sent of files
	Operations  map[string]Operation
	Connections int
}

// Operation counts the requests of one kind.
type Operation struct {
	Requests uint64
	Received uint64        // bytes, with headers
	Execute  time.Duration // of all together, until the client was done with the answer (struct rpc_iostats, include/linux/sunrpc/metrics.h)
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
		ReadSize: number("rsize"), Read: s.Bytes.ReadTotal, Operations: map[string]Operation{}, Connections: len(s.Transport),
	}
	if minor, ok := s.Opts["minorversion"]; ok && !strings.Contains(out.Version, ".") { // as kernels before 3.x wrote it
		out.Version += "." + minor
	}
	ms := func(n uint64) time.Duration { return time.Duration(min(n, mostMilliseconds)) * time.Millisecond }
	for _, o := range s.Operations {
		out.Operations[o.Operation] = Operation{
			Requests: o.Requests, Received: o.BytesReceived, Execute: ms(o.CumulativeTotalRequestMilliseconds),
		}
	}
	return out
}

// mostMilliseconds is as many as a Duration has room for: 292 years.
const mostMilliseconds = uint64(1<<63-1) / uint64(time.Millisecond)

// Activity is what a mount's requests of one kind did between two looks.
type Activity struct {
	Requests uint64
	Rate     float64       // a second
	Received float64       // bytes of an answer, with headers
	Execute  time.Duration // of a request on average, until the client was done with its answer

	// Open is how many there were at once on average, by Little's law (J. D. C. Little,
	// Operations Research 9, 1961).
	Open float64
}

// ErrMountedAnew says that counters began again between two looks.
var ErrMountedAnew = errors.New("it was mounted anew in between")

// Between says what a mount's requests of a kind did from one look to a later one.
func Between(before, after Mount, operation string, took time.Duration) (a Activity, err error) {
	was, is := before.Operations[operation], after.Operations[operation]
	if after.Age < before.Age || after.Device != before.Device || is.Requests < was.Requests || is.Received < was.Received || is.Execute < was.Execute || after.Read < before.Read {
		return a, fmt.Errorf("%s: %w", after.Point, ErrMountedAnew)
	}
	n := is.Requests - was.Requests
	if n == 0 || took <= 0 {
		return a, nil
	}
	each, spent := float64(n), is.Execute-was.Execute
	return Activity{
		Requests: n, Rate: each / took.Seconds(), Received: float64(is.Received-was.Received) / each,
		Execute: time.Duration(float64(spent) / each), Open: float64(spent) / float64(took),
	}, nil
}
