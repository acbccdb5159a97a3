package collector

import (
	_ "embed"
	"strings"

	"github.com/fullbore/fullbore/host"
)

//go:embed macos.sh
var macosScript string

// macosSections are those of macos.sh.
var macosSections = map[string]parser{
	"name":        text(func(f *host.Facts, s string) { f.Name = s }),
	"version":     text(func(f *host.Facts, s string) { f.Version, f.Distribution = s, "macOS "+s }),
	"arch":        text(func(f *host.Facts, s string) { f.Arch = architecture(s) }),
	"sysctl":      bsdSysctls,
	"ifconfig":    interfaces,
	"sysctl.conf": sysctlFiles,
	"launchd":     launchDaemons,
}

// bsdSysctls reads tunables of macOS and FreeBSD, and what else sysctl reports of
// the host there.
func bsdSysctls(r *reading, s *section) error {
	all := parseSysctl(s.lines)
	r.settle(all)
	for _, one := range all {
		switch one.name {
		case "hw.memsize", "hw.physmem": // the latter has 32 bits on an old Mac OS X
			r.facts.Memory = max(r.facts.Memory, sizeOf(one.value, 1))
		case "hw.ncpu":
			cpus(&r.facts, one.value)
		case "machdep.cpu.brand_string", "hw.model":
			r.facts.CPUModel = clean(one.value)
		case "net.inet.ip.forwarding", "net.inet6.ip6.forwarding":
			r.forwards = r.forwards || one.value != "0"
		}
	}
	return nil
}

// launchDaemons reads names of property lists that run sysctl.
func launchDaemons(r *reading, s *section) error {
	for _, l := range s.lines {
		if name := strings.TrimSpace(l.text); strings.HasPrefix(name, "/") && len(name) <= maxWord {
			r.manager(name, "sysctl")
		}
	}
	return nil
}
