package collector

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

//go:embed windows.ps1
var windowsScript string

//go:embed windows.cmd
var windowsOldScript string

// windowsSections are those of windows.ps1 and windows.cmd.
var windowsSections = map[string]parser{
	"name":                text(func(f *host.Facts, s string) { f.Name = s }),
	"ver":                 text(windowsVersion),
	"cpus":                text(cpus),
	"arch":                text(func(f *host.Facts, s string) { f.Arch = processorArchitecture(s) }),
	"wmic":                windowsMemory,
	"system":              windowsSystem,
	"interfaces":          windowsInterfaces,
	"registry":            windowsRegistry,
	"settings":            windowsSettings,
	"clients":             windowsClients,
	"reg":                 windowsKeys,
	"netsh-global":        netsh,
	"netsh-heuristics":    netsh,
	"netsh-subinterfaces": netshSubinterfaces,
	"netsh-interfaces":    netshInterfaces,
}

var bracketed = regexp.MustCompile(`\[[^\]]*?([0-9]+)\.([0-9]+)\.([0-9]+)`)

// windowsVersion reads ver: "Microsoft Windows 2000 [Version 5.00.2195]".
func windowsVersion(f *host.Facts, s string) {
	m := bracketed.FindStringSubmatch(s)
	if m == nil {
		return
	}
	minor, err := strconv.Atoi(m[2]) // "00"
	if err != nil {
		return
	}
	f.Version = m[1] + "." + strconv.Itoa(minor) + "." + m[3]
	f.Distribution, _, _ = strings.Cut(s, " [")
}

func processorArchitecture(name string) string {
	switch strings.ToLower(name) {
	case "x86", "32-bit":
		return "386"
	case "amd64", "64-bit":
		return "amd64"
	}
	return strings.ToLower(name)
}

// windowsMemory reads wmic's "TotalPhysicalMemory=4293967872".
func windowsMemory(r *reading, s *section) error {
	if value, ok := find(pairs(s.lines, "="), "TotalPhysicalMemory"); ok {
		r.facts.Memory = sizeOf(value, 1)
	}
	return nil
}

func windowsSystem(r *reading, s *section) error {
	f := &r.facts
	for _, one := range parsePowerShell(s.lines) {
		for name, value := range one.fields {
			switch name {
			case "CSName":
				f.Name = clean(value)
			case "Version":
				f.Version = clean(value)
			case "Caption":
				f.Distribution = clean(value)
			case "OSArchitecture":
				f.Arch = clean(bits(value))
			case "TotalPhysicalMemory":
				f.Memory = sizeOf(value, 1)
			case "NumberOfLogicalProcessors":
				cpus(f, value)
			case "Processor":
				f.CPUModel = clean(value)
			}
		}
	}
	return nil
}

// bits reads OSArchitecture, which is "64-bit", "64 bits" or "ARM 64-bit
// Processor" by language.
func bits(value string) string {
	switch {
	case strings.Contains(value, "ARM"):
		return "arm64"
	case strings.Contains(value, "64"):
		return "amd64"
	case strings.Contains(value, "32"):
		return "386"
	}
	return ""
}

// windowsInterfaces reads the tables of adapters, their addresses, whether they
// forward, and their drivers' properties.
func windowsInterfaces(r *reading, s *section) error {
	for _, one := range parsePowerShell(s.lines) {
		name := one.fields["Name"] + one.fields["InterfaceAlias"]
		if !plausible(name) {
			r.note(one.line, "%.40q is no name of an interface; left out", name)
			continue
		}
		if len(r.facts.Interfaces) >= maxInterfaces {
			break
		}
		n := r.device(name)
		switch {
		case one.fields["Status"] != "":
			n.Up = one.fields["Status"] == "Up"
			n.MTU = mtu(one.fields["MtuSize"])
			n.Speed = int(min(sizeOf(one.fields["Speed"], 1)/1e6, maxSpeed))
			if n.Up { // without a wire it is said to be half
				n.Duplex = map[string]string{"True": "full", "False": "half"}[one.fields["FullDuplex"]]
			}
			n.Driver = clean(one.fields["DriverFileName"])
			r.set(one.line, tunable.Join("link.mtu", name), one.fields["MtuSize"])
		case one.fields["IPAddress"] != "":
			address, _, _ := strings.Cut(one.fields["IPAddress"], "%")
			l := link{Interface: *n}
			l.address(address + "/" + one.fields["PrefixLength"])
			n.Addresses = l.Addresses
		case one.fields["Forwarding"] != "":
			r.forwards = r.forwards || one.fields["Forwarding"] == "Enabled"
		case one.fields["RegistryKeyword"] != "":
			r.set(one.line, tunable.Join(strings.TrimPrefix(one.fields["RegistryKeyword"], "*"), name), one.fields["RegistryValue"])
		}
	}
	for i := range r.facts.Interfaces { // those that only have an address: loopbacks
		if n := &r.facts.Interfaces[i]; n.MTU == 0 && n.Driver == "" && strings.HasPrefix(n.Name, "Loopback") {
			n.Up = true
		}
	}
	return nil
}

// windowsRegistry reads the registry as PowerShell shows it.
func windowsRegistry(r *reading, s *section) error {
	r.sparse = true
	for _, one := range parsePowerShell(s.lines) {
		if guid, ok := one.fields["Interface"]; ok {
			if value := one.fields["TcpWindowSize"]; value != "" {
				r.set(one.line, tunable.Join("TcpWindowSize.interface", guid), value)
			}
			continue
		}
		for name, value := range one.fields {
			if name == "IPEnableRouter" {
				r.forwards = r.forwards || value == "1"
			} else if value != "" { // not there
				r.set(one.line, name, value)
			}
		}
	}
	return nil
}

// windowsSettings reads Get-NetTCPSetting and Get-NetOffloadGlobalSetting, whose
// words are the same in all languages.
func windowsSettings(r *reading, s *section) error {
	for _, one := range parsePowerShell(s.lines) {
		set := func(name, property string) {
			if value := one.fields[property]; value != "" {
				r.set(one.line, name, strings.ToLower(value))
			}
		}
		if template, ok := one.fields["SettingName"]; ok {
			if template != "Internet" { // what connections beyond the data centre use
				continue
			}
			level := "AutoTuningLevelLocal"
			if one.fields["AutoTuningLevelEffective"] == "GroupPolicy" {
				level = "AutoTuningLevelGroupPolicy"
				r.manager("group policy", clean("AutoTuningLevel "+one.fields[level]))
			}
			set("autotuninglevel", level)
			set("AutoTuningLevelEffective", "AutoTuningLevelEffective")
			set("heuristics", "ScalingHeuristics")
			set("ecncapability", "EcnCapability")
			set("timestamps", "Timestamps")
			set("CongestionProvider", "CongestionProvider")
			set("InitialCongestionWindowMss", "InitialCongestionWindow(MSS)")
			continue
		}
		set("rss", "ReceiveSideScaling")
		set("rsc", "ReceiveSegmentCoalescing")
		set("chimney", "Chimney")
	}
	return nil
}

// windowsClients reads the settings of the clients of SMB and NFS.
func windowsClients(r *reading, s *section) error {
	for _, one := range parsePowerShell(s.lines) {
		for name, value := range one.fields {
			r.set(one.line, "smb."+name, value)
			r.set(one.line, "nfs."+name, value)
		}
	}
	return nil
}

// windowsKeys reads the registry as reg and regedit show it.
func windowsKeys(r *reading, s *section) error {
	r.sparse = true
	type network struct{ address, mask string }
	networks := map[string]network{}
	for _, e := range parseRegistry(s.lines) {
		key := strings.ToLower(e.key)
		at := strings.LastIndex(key, keyInterfaces)
		switch {
		case at >= 0:
			guid := e.key[at+len(keyInterfaces):]
			one := networks[guid]
			switch first, _, _ := strings.Cut(e.data, `\0`); e.name {
			case "TcpWindowSize":
				r.set(e.line, tunable.Join("TcpWindowSize.interface", guid), e.data)
			case "IPAddress", "DhcpIPAddress":
				if first != "" && first != "0.0.0.0" {
					one.address = first
				}
			case "SubnetMask", "DhcpSubnetMask":
				if first != "" && first != "0.0.0.0" && first != "255.0.0.0" {
					one.mask = first
				}
			}
			if len(networks) < maxInterfaces {
				networks[guid] = one
			}
		case e.kind != "REG_DWORD":
		case strings.HasSuffix(key, keyTcpip), strings.HasSuffix(key, keyAFD):
			if e.name == "IPEnableRouter" {
				r.forwards = r.forwards || e.data != "0"
			} else {
				r.set(e.line, e.name, e.data)
			}
		}
	}
	for guid, one := range networks {
		if n := r.known(r.guids[strings.ToLower(guid)]); n != nil {
			l := link{Interface: *n}
			l.address(one.address + "/" + strconv.Itoa(prefixLength(one.mask)))
			n.Addresses = l.Addresses
		}
	}
	return nil
}

func netsh(r *reading, s *section) error {
	all, err := parseNetsh(s.lines)
	if err != nil {
		return err
	}
	r.settle(all)
	return nil
}

func netshSubinterfaces(r *reading, s *section) error {
	r.links(parseSubinterfaces(s.lines))
	return nil
}

func netshInterfaces(r *reading, s *section) error {
	all, err := parseAdapters(s.lines)
	if err != nil {
		return err
	}
	r.guids = map[string]string{}
	for _, a := range all[:min(len(all), maxInterfaces)] {
		r.guids[strings.ToLower(a.guid)] = a.Name
		r.links([]link{a.link})
	}
	return nil
}
