package host

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// cpuLimit is the tightest CPU limit of this process' control group and the
// groups around it, in CPUs, and how long that one has held its processes back.
// It is 0 when there is none, and also when it cannot be determined (no cgroups).
func cpuLimit() (cpus float64, throttled time.Duration) { return tightest(cpuGroups()) }

func tightest(groups []cpuGroup) (cpus float64, throttled time.Duration) {
	for _, g := range groups {
		for dir := g.dir; ; dir = filepath.Dir(dir) {
			if quota := g.quota(dir); quota > 0 && (cpus == 0 || quota < cpus) {
				cpus, throttled = quota, g.throttled(dir)
			}
			if len(dir) <= len(g.mount) {
				break
			}
		}
	}
	return cpus, throttled
}

// cpuGroup is the directory of this process' group in one hierarchy.
type cpuGroup struct {
	mount, dir string
	v2         bool
}

// cpuGroups finds this process in the hierarchies that can limit CPUs: the
// unified one (cgroup v2) and that of the cpu controller (v1).
func cpuGroups() []cpuGroup {
	self, err := procfs.Self()
	if err != nil {
		return nil
	}
	groups, err := self.Cgroups()
	if err != nil {
		return nil
	}
	mounts, err := self.MountInfo()
	if err != nil {
		return nil
	}
	var found []cpuGroup
	for _, g := range groups {
		v2 := g.HierarchyID == 0
		if !v2 && !slices.Contains(g.Controllers, "cpu") {
			continue
		}
		for _, m := range mounts {
			_, hasCPU := m.SuperOptions["cpu"]
			if v2 && m.FSType != "cgroup2" || !v2 && (m.FSType != "cgroup" || !hasCPU) {
				continue
			}
			// A container may see only its own part of the tree: Root is what
			// its mount point stands for.
			inside, err := filepath.Rel(m.Root, g.Path)
			if err != nil || strings.HasPrefix(inside, "..") {
				inside = "."
			}
			found = append(found, cpuGroup{mount: m.MountPoint, dir: filepath.Join(m.MountPoint, inside), v2: v2})
			break
		}
	}
	return found
}

// quota is the limit that stands in dir itself, in CPUs, or 0
// (Documentation/admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst).
func (g cpuGroup) quota(dir string) float64 {
	var quota, period string
	if g.v2 {
		quota, period, _ = strings.Cut(readControl(dir, "cpu.max"), " ")
	} else {
		quota, period = readControl(dir, "cpu.cfs_quota_us"), readControl(dir, "cpu.cfs_period_us")
	}
	q, err := strconv.ParseInt(quota, 10, 64) // "max" and -1: no limit
	if err != nil || q <= 0 {
		return 0
	}
	p, err := strconv.ParseInt(period, 10, 64)
	if err != nil || p <= 0 {
		return 0
	}
	return float64(q) / float64(p)
}

// throttled is the time for which dir's limit has held its processes back.
func (g cpuGroup) throttled(dir string) time.Duration {
	for line := range strings.Lines(readControl(dir, "cpu.stat")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case err != nil:
		case name == "throttled_usec": // v2
			return time.Duration(n) * time.Microsecond
		case name == "throttled_time": // v1, ns
			return time.Duration(n)
		}
	}
	return 0
}

// readControl reads a control file of a group, or "" where it is not there.
func readControl(dir, name string) string {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
