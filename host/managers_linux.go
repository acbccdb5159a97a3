package host

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/fullbore/fullbore/printable"
)

// managers are what else sets tunables of this network namespace, as far as it
// is seen: in files, and by the processes that run. What only looks after the
// machine's first namespace is reported there.
func (r root) managers() []Manager {
	var found []Manager
	if r.runs("bpftune", "") { // in every namespace (docs/bpftune.rst, "netns cookie")
		found = append(found, Manager{Name: "bpftune", Sets: "TCP's buffers, congestion control, backlogs"})
	}
	if !r.first() {
		return found
	}
	if profile, err := r.line("etc/tuned/active_profile"); err == nil && profile != "" && r.runs("tuned", "run/tuned/tuned.pid") {
		found = append(found, Manager{Name: "tuned", Sets: "profile " + brief(profile)})
	}
	if r.runs("power-profiles-daemon", "") {
		found = append(found, Manager{Name: "power-profiles-daemon", Sets: "cpu.governor"})
	}
	if r.runs("irqbalance", "") {
		found = append(found, Manager{Name: "irqbalance", Sets: "which CPUs the interrupts of network cards go to"})
	}
	found = append(found, r.linkManagers()...)
	return append(found, r.sysctlManagers()...)
}

// maxProcesses bounds how many processes are looked at where there is no
// systemd to ask.
const maxProcesses = 4096

// runs reports whether a daemon is running: by its control group, where systemd
// starts what runs; by the file in which it wrote its process number, if it has
// one; and where there is no systemd, by its name.
func (r root) runs(daemon, pidFile string) bool {
	for _, hierarchy := range []string{"sys/fs/cgroup", "sys/fs/cgroup/systemd", "sys/fs/cgroup/unified"} {
		processes, err := r.line(filepath.Join(hierarchy, "system.slice", daemon+".service/cgroup.procs"))
		if err == nil && processes != "" {
			return true
		}
	}
	if pidFile != "" {
		if pid, err := r.line(pidFile); err == nil && strings.Trim(pid, "0123456789") == "" && r.named(pid, daemon) {
			return true
		}
	}
	if _, err := os.Stat(filepath.Join(string(r), "run/systemd/system")); err == nil {
		return false
	}
	for _, pid := range r.processes() {
		if r.named(pid, daemon) {
			return true
		}
	}
	return false
}

// processes are the numbers of the visible processes.
func (r root) processes() []string {
	dir, err := os.Open(filepath.Join(string(r), "proc"))
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxProcesses)
	var pids []string
	for _, name := range names {
		if strings.Trim(name, "0123456789") == "" {
			pids = append(pids, name)
		}
	}
	return pids
}

// named reports whether a process has a name, of which the kernel keeps 15 bytes
// (TASK_COMM_LEN).
func (r root) named(pid, name string) bool {
	comm, err := r.line(filepath.Join("proc", pid, "comm"))
	return err == nil && comm == name[:min(len(name), 15)]
}

// linkManagers are NetworkManager and systemd, where they have settings of
// interfaces.
func (r root) linkManagers() []Manager {
	var found []Manager
	for _, m := range []struct {
		name, daemon string
		files        []string // patterns
		of           []string // keys that name the interface
		keys         map[string]string
	}{
		{
			"NetworkManager", "NetworkManager",
			[]string{"etc/NetworkManager/system-connections/*", "run/NetworkManager/system-connections/*", "usr/lib/NetworkManager/system-connections/*"},
			[]string{"connection.interface-name"}, networkManagerKeys,
		},
		{
			"systemd-networkd", "systemd-networkd",
			[]string{"etc/systemd/network/*.network", "run/systemd/network/*.network", "usr/lib/systemd/network/*.network"},
			[]string{"Match.Name"}, networkdKeys,
		},
		{
			"systemd-udevd (networkd's link files)", "systemd-udevd",
			[]string{"etc/systemd/network/*.link", "run/systemd/network/*.link"},
			[]string{"Match.OriginalName", "Match.MACAddress", "Match.Path", "Match.Driver"}, networkdKeys,
		},
	} {
		if !r.runs(m.daemon, "") {
			continue
		}
		var sets []string
		for _, pattern := range m.files {
			files, _ := filepath.Glob(filepath.Join(string(r), pattern))
			for _, file := range files[:min(len(files), maxFiles)] {
				text, _ := readBounded(file)
				if names := linkSettings(text, m.of, m.keys); names != "" {
					sets = append(sets, names+" in "+r.shown(file))
				}
			}
		}
		if len(sets) > 0 {
			found = append(found, Manager{Name: m.name, Sets: brief(strings.Join(sets, "; "))})
		}
	}
	return found
}

// maxFiles bounds how many files of one pattern are read.
const maxFiles = 256

// networkManagerKeys are settings of a connection (nm-settings-keyfile(5)).
var networkManagerKeys = map[string]string{
	"ethernet.mtu": "link.mtu", "802-3-ethernet.mtu": "link.mtu",
	"ethtool.ring-rx": "link.ring.rx", "ethtool.ring-tx": "link.ring.tx", "ethtool.channels-combined": "link.channels.combined",
	"ethtool.coalesce-rx-usecs": "link.coalesce.rx-usecs", "ethtool.coalesce-adaptive-rx": "link.coalesce.adaptive-rx",
	"ethtool.feature-rx": "link.offload.rx", "ethtool.feature-tx": "link.offload.tx", "ethtool.feature-sg": "link.offload.sg",
	"ethtool.feature-tso": "link.offload.tso", "ethtool.feature-gso": "link.offload.gso",
	"ethtool.feature-gro": "link.offload.gro", "ethtool.feature-lro": "link.offload.lro",
	"ethtool.pause-autoneg": "link.pause.autoneg", "ethtool.pause-rx": "link.pause.rx", "ethtool.pause-tx": "link.pause.tx",
}

// networkdKeys are those of systemd.network(5) and systemd.link(5).
var networkdKeys = map[string]string{
	"Link.MTUBytes": "link.mtu", "Link.TransmitQueueLength": "link.txqueuelen",
	"Link.RxBufferSize": "link.ring.rx", "Link.TxBufferSize": "link.ring.tx", "Link.CombinedChannels": "link.channels.combined",
	"Link.RxCoalesceSec": "link.coalesce.rx-usecs", "Link.UseAdaptiveRxCoalesce": "link.coalesce.adaptive-rx",
	"Link.ReceiveChecksumOffload": "link.offload.rx", "Link.TransmitChecksumOffload": "link.offload.tx",
	"Link.TCPSegmentationOffload": "link.offload.tso", "Link.GenericSegmentationOffload": "link.offload.gso",
	"Link.GenericReceiveOffload": "link.offload.gro", "Link.LargeReceiveOffload": "link.offload.lro",
	"Link.AutoNegotiationFlowControl": "link.pause.autoneg", "Link.RxFlowControl": "link.pause.rx", "Link.TxFlowControl": "link.pause.tx",
	"Link.ReceivePacketSteeringCPUMask": "link.rps_cpus",
}

// linkSettings says which tunables a settings file has, and of which interface
// as the file names it.
func linkSettings(text string, of []string, keys map[string]string) string {
	values := parseINI(text)
	instance := ""
	for _, key := range of {
		if instance == "" {
			instance = values[key]
		}
	}
	var names []string
	for _, key := range sorted(values) {
		if name := keys[key]; name != "" && !automatic(values[key]) {
			names = append(names, name)
		}
	}
	if len(names) > 0 && instance != "" {
		names[len(names)-1] += " of " + instance
	}
	return strings.Join(names, ", ")
}

// automatic reports whether a setting leaves a value to others.
func automatic(value string) bool {
	return value == "" || value == "auto" || value == "0" // of NetworkManager's mtu
}

// parseINI reads files of sections, and gives values by "section.key". The last
// of several counts.
func parseINI(text string) map[string]string {
	values := map[string]string{}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			section = strings.TrimSuffix(name, "]")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ";") {
			values[section+"."+strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return values
}

// shown is the path of a file as people know it.
func (r root) shown(path string) string {
	return "/" + strings.TrimPrefix(strings.TrimPrefix(path, string(r)), "/")
}

// brief is text from a file on one line, no longer than it can be read.
func brief(text string) string {
	const most = 200 // bytes
	text = printable.Line(text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
