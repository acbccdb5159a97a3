package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// groupPeriod is over how long a host's processor time is shared out. The
// kernel's default of 100 ms would stop half a CPU for 50 ms at a time, which
// no slow processor does. Below 0.1 CPUs it has to be longer for a quota of
// leastQuota, the least that the kernel takes.
const (
	groupPeriod = 10 * time.Millisecond
	leastQuota  = time.Millisecond
)

// newGroup makes a control group with so many CPUs: in the nearest place, from
// this process's own group upwards, that may hold one.
func newGroup(name string, cpus float64) (string, error) {
	mounts, err := groupMounts()
	if err != nil {
		return "", err
	}
	return newGroupIn(mounts, name, cpus)
}

func newGroupIn(mounts []groupMount, name string, cpus float64) (string, error) {
	period := max(groupPeriod, time.Duration(float64(leastQuota)/cpus)).Microseconds()
	quota := max(leastQuota.Microseconds(), int64(cpus*float64(period)))
	var failed []error
	for _, m := range mounts {
		for _, parent := range m.parents() {
			if m.unified && !enables(parent, "cpu") {
				continue
			}
			dir := filepath.Join(parent, "fullbore-lab-"+name)
			_ = os.Remove(dir) // of a dead lab of the same number; one that is in use stays
			if err := os.Mkdir(dir, 0o755); err != nil {
				failed = append(failed, err)
				continue
			}
			if err := limit(dir, m.unified, quota, period); err != nil {
				removeGroup(dir)
				failed = append(failed, err)
				continue
			}
			return dir, nil
		}
	}
	return "", fmt.Errorf("limit cpus: no control group with the cpu controller can be made: run it as root, or in a delegated group: "+
		"systemd-run --user --scope -p Delegate=yes COMMAND: %w", errors.Join(failed...))
}

func limit(dir string, unified bool, quota, period int64) error {
	if unified {
		return os.WriteFile(filepath.Join(dir, "cpu.max"), fmt.Appendf(nil, "%d %d", quota, period), 0)
	}
	if err := os.WriteFile(filepath.Join(dir, "cpu.cfs_period_us"), strconv.AppendInt(nil, period, 10), 0); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "cpu.cfs_quota_us"), strconv.AppendInt(nil, quota, 10), 0)
}

// joinGroup moves a process, and all it will start, into a control group.
func joinGroup(dir string, pid int) error {
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), strconv.AppendInt(nil, int64(pid), 10), 0); err != nil {
		return fmt.Errorf("limit cpus: %w", err)
	}
	return nil
}

// removeGroup removes a control group once its last process has gone, which can
// take a moment after that was killed.
func removeGroup(dir string) {
	for range 100 {
		if !errors.Is(os.Remove(dir), unix.EBUSY) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// groupMount is a mounted hierarchy of control groups that has, or may have, the
// cpu controller.
type groupMount struct {
	dir     string // where it is mounted
	own     string // this process's group in it
	unified bool   // version 2
}

// parents are the directories that may hold a new group, nearest first. In
// version 2 a group with processes cannot have limited children, so that this
// process's own is not one of them.
func (m groupMount) parents() []string {
	own := filepath.Clean("/" + m.own)
	if m.unified && own != "/" {
		own = filepath.Dir(own)
	}
	var all []string
	for {
		all = append(all, filepath.Join(m.dir, own))
		if own == "/" {
			return all
		}
		own = filepath.Dir(own)
	}
}

func enables(dir, controller string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	return err == nil && slices.Contains(strings.Fields(string(data)), controller)
}

// groupMounts finds the hierarchies that this process sees.
func groupMounts() ([]groupMount, error) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("limit cpus: %w", err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, fmt.Errorf("limit cpus: %w", err)
	}
	return parseGroupMounts(string(mounts), parseGroups(string(groups))), nil
}

// parseGroupMounts picks the hierarchies out of /proc/self/mounts, version 2 first.
func parseGroupMounts(mounts string, own map[string]string) (found []groupMount) {
	for line := range strings.Lines(mounts) {
		field := strings.Fields(line) // device, directory, type, options
		switch {
		case len(field) < 4:
		case field[2] == "cgroup2":
			found = slices.Insert(found, 0, groupMount{dir: field[1], own: own[""], unified: true})
		case field[2] == "cgroup" && slices.Contains(strings.Split(field[3], ","), "cpu"):
			found = append(found, groupMount{dir: field[1], own: own["cpu"]})
		}
	}
	return found
}

// parseGroups reads /proc/self/cgroup: a process's groups by controller; version
// 2's is "".
func parseGroups(text string) map[string]string {
	own := map[string]string{}
	for line := range strings.Lines(text) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3) // hierarchy, controllers, path
		if len(part) == 3 {
			for controller := range strings.SplitSeq(part[1], ",") {
				own[controller] = part[2]
			}
		}
	}
	return own
}

// describeGroups writes the control groups down, for a later lab to remove
// should this one not live to do it.
func (l *Lab) describeGroups() error {
	d := description{PID: os.Getpid(), Scenario: l.scenario.Name, Hosts: l.scenario.HostNames(), Started: time.Now()}
	for _, h := range l.hosts {
		if h.group != "" {
			d.Groups = append(d.Groups, h.group)
		}
	}
	return l.place.describe(d)
}
