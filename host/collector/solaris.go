package collector

import (
	_ "embed"
	"regexp"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

//go:embed solaris.sh
var solarisScript string

// solarisSections are those of solaris.sh, for Solaris and illumos.
var solarisSections = map[string]parser{
	"name":         text(func(f *host.Facts, s string) { f.Name = s }),
	"release":      text(solarisRelease),
	"build":        text(solarisBuild),
	"arch":         text(func(f *host.Facts, s string) { f.Arch = processor(s) }),
	"distribution": text(func(f *host.Facts, s string) { f.Distribution = s }),
	"cpus":         text(cpus),
	"cpu-model":    text(func(f *host.Facts, s string) { f.CPUModel = s }),
	"memory":       solarisMemory,
	"ndd":          solarisNdd,
	"ipadm":        settings(parseIpadm),
	"forwarding":   ipadmForwarding,
	"mdb":          settings(solarisVariables),
	"system":       etcSystem,
	"ifconfig":     interfaces,
	"kstat":        kstat,
	"dladm-link":   dladmLinks,
	"dladm-phys":   dladmPhys,
	"dladm-prop":   dladmProperties,
	"sharectl":     nfsServers("servers"),
	"nfs":          nfsServers("NFSD_SERVERS"),
	"startup":      startup,
}

// processor is what uname -p prints, by Go's names. It says i386 on 64-bit
// machines too.
func processor(name string) string {
	if name == "i386" {
		return "amd64"
	}
	return architecture(name)
}

// solarisRelease reads uname -r: SunOS 5.10 is Solaris 10.
func solarisRelease(f *host.Facts, s string) {
	f.Version = s
	if f.OS == "solaris" {
		f.Version = strings.TrimPrefix(s, "5.")
	}
}

var solaris11 = regexp.MustCompile(`^11\.[0-9]+`)

// solarisBuild reads uname -v, in which Solaris 11 shows its update: "11.3",
// "11.4.42.111.0".
func solarisBuild(f *host.Facts, s string) {
	if update := solaris11.FindString(s); update != "" && f.Version == "11" {
		f.Version = update
	}
}

// solarisMemory reads prtconf's line: "Memory size: 8192 Megabytes".
func solarisMemory(r *reading, s *section) error {
	words := strings.Fields(s.first())
	if len(words) == 4 && words[3] == "Megabytes" {
		r.facts.Memory = sizeOf(words[2], 1<<20)
	}
	return nil
}

func solarisNdd(r *reading, s *section) error {
	for _, one := range parseNdd(s.lines) {
		switch one.name {
		case "ip_forwarding", "ip6_forwarding":
			r.forwards = r.forwards || one.value != "0"
		case "ip_multidata_outbound":
			r.set(one.line, "ip:ip_multidata_outbound", one.value)
		default:
			r.set(one.line, one.name, one.value)
		}
	}
	return nil
}

func ipadmForwarding(r *reading, s *section) error {
	for _, one := range parseIpadm(s.lines) {
		r.forwards = r.forwards || one.name == "forwarding" && one.value == "on"
	}
	return nil
}

// solarisVariables gives the kernel's variables the names that they have in
// /etc/system, with their module.
func solarisVariables(from []line) []setting {
	all := parseMdb(from)
	for i := range all {
		all[i].name = module(all[i].name)
	}
	return all
}

// modules are those of the catalogue's variables.
var modules = []string{"ip", "nfs", "rpcmod"}

// module finds a variable's module.
func module(variable string) string {
	for _, os := range []string{"solaris", "illumos"} {
		for _, m := range modules {
			if _, ok := tunable.Lookup(os, m+":"+variable); ok {
				return m + ":" + variable
			}
		}
	}
	return variable
}

// etcSystem reads /etc/system: what will be after the next boot, and nearly
// always the live value. mdb, which shows that, needs root.
func etcSystem(r *reading, s *section) error {
	last := map[string]setting{}
	for _, one := range parseEtcSystem(s.lines) {
		last[one.name] = one
	}
	for name, one := range last {
		r.set(one.line, name, one.value)
	}
	r.sparse = true
	return nil
}

// interfaces reads ifconfig -a.
func interfaces(r *reading, s *section) error {
	all := parseIfconfig(s.lines)
	for i := range all {
		all[i].wire()
	}
	r.links(all)
	return nil
}

// nfsServers reads the number of nfsd's threads from "NAME=NUMBER".
func nfsServers(name string) parser {
	return func(r *reading, s *section) error {
		for _, one := range pairs(s.lines, "=") {
			if one.name == name {
				r.set(one.line, "nfsd.servers", one.value)
			}
		}
		return nil
	}
}

// startup reads names of scripts that set tunables with ndd at boot.
func startup(r *reading, s *section) error {
	for _, l := range s.lines {
		if name := strings.TrimSpace(l.text); strings.HasPrefix(name, "/") && len(name) <= maxWord {
			r.manager(name, "ndd -set")
		}
	}
	return nil
}

// parseNdd reads lines of a name and what ndd(1M) printed for it. ndd says on
// its standard output, too, that there is no such name: then what follows is no
// single number.
func parseNdd(from []line) []setting {
	var all []setting
	for _, l := range from {
		if words := strings.Fields(l.text); len(words) == 2 && isNumber(words[1]) {
			all = append(all, setting{l.number, words[0], words[1]})
		}
	}
	return all
}

// isNumber says whether s is a decimal number of a sensible length.
func isNumber(s string) bool {
	if s == "" || len(s) > 20 {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}
