package host

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// memory is what this process and its sockets may use, in bytes: the machine's
// memory, or less where a control group limits it.
func (r root) memory() (int64, error) {
	system, err := procfs.NewFS(filepath.Join(string(r), "proc"))
	if err != nil {
		return 0, fmt.Errorf("read memory size: %w", err)
	}
	info, err := system.Meminfo()
	if err != nil {
		return 0, fmt.Errorf("read memory size: %w", err)
	}
	if info.MemTotalBytes == nil {
		return 0, fmt.Errorf("read memory size: /proc/meminfo has no MemTotal")
	}
	total := int64(*info.MemTotalBytes)
	for _, limit := range r.groupLimits() {
		total = min(total, limit)
	}
	return total, nil
}

// groupLimits gives the memory limits of this process's control groups, from
// its own up to the top, in versions 1 and 2 of the hierarchy.
func (r root) groupLimits() []int64 {
	text, err := readBounded(filepath.Join(string(r), "proc/self/cgroup"))
	if err != nil {
		return nil
	}
	var limits []int64
	for line := range strings.Lines(text) { // "0::/user.slice" or "4:memory:/docker/..."
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		switch {
		case fields[0] == "0" && fields[1] == "":
			limits = append(limits, r.limitsAbove("sys/fs/cgroup", fields[2], "memory.max")...)
		case strings.Contains(","+fields[1]+",", ",memory,"):
			limits = append(limits, r.limitsAbove("sys/fs/cgroup/memory", fields[2], "memory.limit_in_bytes")...)
		}
	}
	return limits
}

// limitsAbove reads one limit file in a group and in all above it. A group may
// be named relative to a root that is not visible in a container; then only
// the mount's top remains.
func (r root) limitsAbove(mount, group, file string) []int64 {
	var limits []int64
	for group = filepath.Clean("/" + group); ; group = filepath.Dir(group) {
		if value, err := r.line(filepath.Join(mount, group, file)); err == nil {
			if limit, err := strconv.ParseInt(value, 10, 64); err == nil && limit > 0 { // or "max"
				limits = append(limits, limit)
			}
		}
		if group == "/" {
			return limits
		}
	}
}
