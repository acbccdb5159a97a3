package collector

import (
	"strings"
)

// parseRings reads "ethtool -g" and "ethtool -l": rings and channels, of which
// it first shows the largest and then the present numbers. What the device has
// not is n/a, or its largest number is 0.
func parseRings(from []line) (present []setting, most map[string]int64) {
	most = map[string]int64{}
	current := false
	for _, s := range pairs(from, ":") {
		switch {
		case strings.HasPrefix(s.name, "Pre-set maximums"):
			current = false
		case strings.HasPrefix(s.name, "Current hardware settings"):
			current = true
		case !isNumber(s.value):
		case !current:
			most[s.name] = sizeOf(s.value, 1)
		case most[s.name] > 0:
			present = append(present, s)
		}
	}
	return present, most
}

// parseCoalesce reads "ethtool -c": names and numbers, and the line "Adaptive
// RX: off  TX: off".
func parseCoalesce(from []line) []setting {
	var all []setting
	for _, s := range pairs(from, ":") {
		if words := strings.Fields(s.value); s.name == "Adaptive RX" && len(words) > 0 {
			if on, ok := boolean(words[0]); ok {
				all = append(all, setting{s.line, "adaptive-rx", on})
			}
			continue
		}
		if isNumber(s.value) {
			all = append(all, s)
		}
	}
	return all
}

// parsePause reads "ethtool -a": what is on and off. Behind an empty line newer
// versions show what was negotiated.
func parsePause(from []line) []setting {
	var all []setting
	for _, s := range pairs(from, ":") {
		name := strings.ToLower(s.name)
		if name == "autonegotiate" {
			name = "autoneg"
		}
		if on, ok := boolean(s.value); ok && (name == "autoneg" || name == "rx" || name == "tx") {
			all = append(all, setting{s.line, name, on})
		}
	}
	return all
}

// feature is a line of "ethtool -k".
type feature struct{ on, fixed bool }

// parseFeatures reads "ethtool -k": "large-receive-offload: off [fixed]", and
// "[requested on]" behind what something else keeps from it.
func parseFeatures(from []line) map[string]feature {
	all := map[string]feature{}
	for _, s := range pairs(from, ":") {
		words := strings.Fields(s.value)
		if len(words) == 0 || words[0] != "on" && words[0] != "off" {
			continue
		}
		all[s.name] = feature{on: words[0] == "on", fixed: strings.Contains(s.value, "[fixed]")}
	}
	return all
}

// features are what host.Offloads are made of, as host.Collect takes them: those
// of TCP, where ethtool reports single ones.
var features = map[string]struct {
	single []string
	whole  string // as old versions tell
}{
	"rx":  {whole: "rx-checksumming"},
	"tx":  {[]string{"tx-checksum-ipv4", "tx-checksum-ip-generic", "tx-checksum-ipv6"}, "tx-checksumming"},
	"sg":  {[]string{"tx-scatter-gather"}, "scatter-gather"},
	"tso": {[]string{"tx-tcp-segmentation", "tx-tcp6-segmentation"}, "tcp-segmentation-offload"},
	"gso": {whole: "generic-segmentation-offload"},
	"gro": {whole: "generic-receive-offload"},
	"lro": {whole: "large-receive-offload"},
}

// offload says whether one of host.Offloads is on, whether nothing can switch
// it, and whether the device has it.
func offload(all map[string]feature, name string) (on, fixed, has bool) {
	fixed = true
	for _, single := range append([]string{}, features[name].single...) {
		f, known := all[single]
		if !known {
			continue
		}
		on, fixed = on || f.on, fixed && f.fixed
		has = has || f.on || !f.fixed
	}
	if has {
		return on, fixed, true
	}
	for _, single := range features[name].single {
		if _, known := all[single]; known {
			return false, true, false
		}
	}
	f, known := all[features[name].whole]
	return f.on, f.fixed, known && (f.on || !f.fixed)
}

// parseEthtool reads "ethtool" without an option: "Speed: 1000Mb/s", "Duplex:
// Full", "Auto-negotiation: on"; "off" means something only of a device that
// could.
func parseEthtool(from []line) (speed int64, duplex, autoneg string) {
	all := pairs(from, ":")
	can, reported := find(all, "Supports auto-negotiation")
	for _, s := range all {
		switch s.name {
		case "Speed":
			if number, ok := strings.CutSuffix(s.value, "Mb/s"); ok {
				speed = min(sizeOf(number, 1), maxSpeed)
			}
		case "Duplex":
			if d := strings.ToLower(s.value); d == "full" || d == "half" {
				duplex = d
			}
		case "Auto-negotiation":
			if s.value == "on" || s.value == "off" && (!reported || can == "Yes") {
				autoneg = s.value
			}
		}
	}
	return speed, duplex, autoneg
}
