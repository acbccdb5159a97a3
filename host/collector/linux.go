package collector

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

//go:embed linux.sh
var linuxScript string

// linuxSections are those of linux.sh.
var linuxSections = map[string]parser{
	"name":       text(func(f *host.Facts, s string) { f.Name = s }),
	"version":    text(func(f *host.Facts, s string) { f.Version = s }),
	"arch":       text(func(f *host.Facts, s string) { f.Arch = architecture(s) }),
	"os-release": osRelease,
	"cpus":       text(cpus),
	"cpu-model":  text(func(f *host.Facts, s string) { f.CPUModel = strings.TrimSpace(s) }),
	"memory":     linuxMemory,
	"limits":     linuxLimits,
	"boot":       text(func(f *host.Facts, s string) { f.BootID = s }),
	"sysctl":     linuxSysctls,
	"fixed":      linuxFixed,
	"read-only":  linuxReadOnly,
	"addresses":  linuxAddresses,
	"files":      linuxFiles,
	"ethtool":    ethtool,
	"ethtool-g":  rings("link.ring."),
	"ethtool-l":  rings("link.channels."),
	"ethtool-c":  ofLink("link.coalesce.", parseCoalesce),
	"ethtool-a":  ofLink("link.pause.", parsePause),
	"ethtool-k":  ethtoolFeatures,
	"tc":         tcQdiscs,
	"routes":     linuxRoutes,
	"cmdline":    linuxCommandLine,
	"mounts":     linuxMounts,
	"bdi":        linuxReadAhead,
	"tuned":      tuned,
	"processes":  processes,
	"sysctl.d":   sysctlFiles,
}

// architecture gives Go's name for what uname -m prints, as host.Collect does.
func architecture(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64", "arm64e":
		return "arm64"
	case "i386", "i486", "i586", "i686", "i86pc":
		return "386"
	case "armv6l", "armv7l":
		return "arm"
	}
	return machine
}

func cpus(f *host.Facts, s string) { f.CPUs = int(min(sizeOf(s, 1), maxCPUs)) }

// osRelease reads os-release(5).
func osRelease(r *reading, s *section) error {
	if name, ok := find(pairs(s.lines, "="), "PRETTY_NAME"); ok {
		r.facts.Distribution = strings.Trim(name, `"'`)
	}
	return nil
}

// linuxMemory reads the line of /proc/meminfo: "MemTotal:       24608936 kB".
func linuxMemory(r *reading, s *section) error {
	if words := strings.Fields(s.first()); len(words) == 3 && words[2] == "kB" {
		r.facts.Memory = sizeOf(words[1], 1024)
	}
	return nil
}

// linuxLimits are those of the control groups that the command ran in.
func linuxLimits(r *reading, s *section) error {
	for _, l := range s.lines {
		if limit := sizeOf(strings.TrimSpace(l.text), 1); limit > 0 { // "max": none
			r.facts.Memory = min(r.facts.Memory, limit)
		}
	}
	return nil
}

func linuxSysctls(r *reading, s *section) error {
	all := parseSysctl(s.lines)
	r.settle(all)
	for _, name := range []string{"net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"} {
		value, ok := find(all, name)
		r.forwards = r.forwards || ok && value != "0"
	}
	return nil
}

// linuxFixed reads ls -l of files under /proc/sys: what root may not write
// either, as in a network namespace that is not the machine's own.
func linuxFixed(r *reading, s *section) error {
	for _, l := range s.lines {
		words := strings.Fields(l.text)
		if len(words) > 1 && strings.HasPrefix(words[0], "-r-") {
			r.lock(strings.ReplaceAll(words[len(words)-1], "/", "."))
		}
	}
	return nil
}

// lock notes that a tunable cannot be set.
func (r *reading) lock(name string) {
	if r.locked == nil {
		r.locked = map[string]bool{}
	}
	if len(r.locked) < maxTunables {
		r.locked[name] = true
	}
}

// linuxReadOnly reads the mount of /proc/sys, if it is one of its own: in a
// container it may be read-only.
func linuxReadOnly(r *reading, s *section) error {
	if words := strings.Fields(s.first()); len(words) > 5 && slices.Contains(strings.Split(words[5], ","), "ro") {
		r.facts.CanChange = false
		r.facts.WhyNot = "/proc/sys is mounted read-only, as in a container: run fullbore on the host, or inside a container that was started with --privileged"
		for name := range r.facts.Tunables {
			r.lock(name)
		}
	}
	return nil
}

// linuxAddresses reads "ip addr", and where there is no ip, "ifconfig -a".
func linuxAddresses(r *reading, s *section) error {
	all := parseIP(s.lines)
	if len(all) == 0 {
		all = parseIfconfig(s.lines)
	}
	r.links(all)
	return nil
}

// links takes interfaces over, with those tunables of theirs that are no more
// than a number in there.
func (r *reading) links(all []link) {
	for _, l := range all {
		if !plausible(l.Name) {
			r.note(l.line, "%.40q is no name of an interface; left out", l.Name)
			continue
		}
		if len(r.facts.Interfaces) >= maxInterfaces {
			return
		}
		r.facts.Interfaces = append(r.facts.Interfaces, l.Interface)
		if l.MTU > 0 {
			r.set(l.line, tunable.Join("link.mtu", l.Name), number(l.MTU))
			r.most(tunable.Join("link.mtu", l.Name), int64(l.most))
		}
		if l.queue != "" {
			r.set(l.line, tunable.Join("link.txqueuelen", l.Name), l.queue)
		}
	}
}

var netFile = regexp.MustCompile(`^/sys/class/net/([^/:]+)/([^:]+):(.*)$`)

// linuxFiles reads files of sysfs and procfs as "PATH:VALUE".
func linuxFiles(r *reading, s *section) error {
	alike := map[string]string{} // the value of all queues of an interface, or CPUs; "": they differ
	at := map[string]int{}
	join := func(l line, name, value string) {
		value = strings.TrimSpace(value)
		if was, there := alike[name]; there && was != value {
			value = ""
		}
		alike[name], at[name] = value, l.number
	}
	for _, l := range s.lines {
		if m := netFile.FindStringSubmatch(l.text); m != nil {
			r.linkFile(l, m[1], m[2], m[3])
			if queue := m[2]; strings.HasPrefix(queue, "queues/") {
				join(l, tunable.Join("link."+queue[strings.LastIndex(queue, "/")+1:], m[1]), m[3])
			}
			continue
		}
		path, value, ok := strings.Cut(l.text, ":")
		switch {
		case !ok:
		case path == "/proc/fs/nfsd/threads":
			r.set(l.number, "nfsd.threads", value)
		case path == "/proc/fs/nfsd/max_block_size":
			r.set(l.number, "nfsd.max_block_size", value)
		case path == "/sys/module/nfs/parameters/max_session_slots":
			r.set(l.number, "module.nfs.max_session_slots", value)
		case strings.HasSuffix(path, "/cpufreq/scaling_governor"):
			join(l, "cpu.governor", value)
		}
	}
	for name, value := range alike {
		if value != "" {
			r.set(at[name], name, value)
		}
	}
	return nil
}

// linkFile takes over the content of a file under /sys/class/net/NAME.
func (r *reading) linkFile(l line, name, file, value string) {
	n := r.known(name)
	if n == nil {
		return
	}
	switch value = strings.TrimSpace(value); file {
	case "tx_queue_len":
		r.set(l.number, tunable.Join("link.txqueuelen", name), value)
	case "speed":
		n.Speed = int(min(sizeOf(value, 1), maxSpeed)) // "-1": unknown
	case "duplex":
		if value == "full" || value == "half" {
			n.Duplex = value
		}
	case "driver":
		if driver := value[strings.LastIndex(value, "/")+1:]; len(driver) <= maxWord {
			n.Driver = driver
		}
	}
}

// ofLink makes a section's parser of one that gives tunables of the interface
// that the section is of.
func ofLink(prefix string, parse func([]line) []setting) parser {
	return func(r *reading, s *section) error {
		for _, one := range parse(s.lines) {
			r.set(one.line, tunable.Join(prefix+strings.ToLower(one.name), s.of), one.value)
		}
		return nil
	}
}

// rings makes a section's parser for "ethtool -g" and "ethtool -l".
func rings(prefix string) parser {
	return func(r *reading, s *section) error {
		present, most := parseRings(s.lines)
		for _, one := range present {
			name := tunable.Join(prefix+strings.ToLower(one.name), s.of)
			r.set(one.line, name, one.value)
			r.most(name, most[one.name])
		}
		return nil
	}
}

// ethtool adds what sysfs does not have, or what kernels without sysfs report.
func ethtool(r *reading, s *section) error {
	n := r.known(s.of)
	if n == nil || n.Driver == "" { // virtual devices make a speed up
		return nil
	}
	speed, duplex, autoneg := parseEthtool(s.lines)
	if n.Speed == 0 {
		n.Speed = int(speed)
	}
	if n.Duplex == "" {
		n.Duplex = duplex
	}
	n.Autoneg = autoneg
	return nil
}

func ethtoolFeatures(r *reading, s *section) error {
	n := r.known(s.of)
	all := parseFeatures(s.lines)
	if n == nil || len(all) == 0 {
		return nil
	}
	n.Offloads = map[string]bool{}
	for _, name := range host.Offloads {
		on, fixed, has := offload(all, name)
		n.Offloads[name] = on
		if !has {
			continue
		}
		value := "0"
		if on {
			value = "1"
		}
		key := tunable.Join("link.offload."+name, s.of)
		r.set(s.at, key, value)
		if fixed {
			r.lock(key)
		}
	}
	return nil
}

func tcQdiscs(r *reading, s *section) error {
	for _, q := range parseTC(s.lines) {
		n := r.known(q.of)
		if n == nil || len(n.Qdiscs) >= maxInterfaces {
			continue
		}
		if q.Parent != "root" {
			n.Qdiscs = append(n.Qdiscs, q.Qdisc)
			continue
		}
		n.Qdiscs = append([]host.Qdisc{q.Qdisc}, n.Qdiscs...)
		r.set(q.line, tunable.Join("link.qdisc", q.of), q.Kind)
	}
	return nil
}

// linuxRoutes reads routes that lead beyond the link, or have a congestion
// control of their own: "default via 192.0.2.1 dev eth0 congctl bbr". Without
// one it is "default", as host.Collect has it. Of several routes to one
// destination none is taken, since there is one name for them.
func linuxRoutes(r *reading, s *section) error {
	seen := map[string]int{}
	for _, l := range s.lines {
		if words := strings.Fields(l.text); len(words) > 1 {
			seen[destination(words)]++
		}
	}
	for _, l := range s.lines {
		words := strings.Fields(l.text)
		if len(words) < 2 || seen[destination(words)] > 1 {
			continue
		}
		value := "default"
		if at := slices.Index(words, "congctl"); at >= 0 {
			rest := words[at+1:]
			if len(rest) > 1 && rest[0] == "lock" {
				rest = rest[1:]
			}
			if len(rest) == 0 {
				continue
			}
			value = rest[0]
		}
		r.set(l.number, tunable.Join("route.congctl", destination(words)), value)
	}
	return nil
}

// destination is that of a route, as a prefix.
func destination(words []string) string {
	switch to := words[0]; {
	case to == "default" && slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, ":") }):
		return "::/0"
	case to == "default":
		return "0.0.0.0/0"
	case strings.Contains(to, "/"):
		return to
	case strings.Contains(to, ":"):
		return to + "/128"
	default:
		return to + "/32"
	}
}

func linuxCommandLine(r *reading, s *section) error {
	for word := range strings.FieldsSeq(s.first()) {
		if value, ok := strings.CutPrefix(word, "iommu="); ok {
			r.set(s.at, "cmdline.iommu", value)
		}
	}
	return nil
}
