package collector

import (
	"strconv"
	"strings"
)

// statistic is a line of "kstat -p" (kstat(8)): "bge:0:mac:link_speed	1000".
type statistic struct {
	module, instance, name, statistic string
	value                             string
}

func parseKstat(from []line) []statistic {
	var all []statistic
	for _, l := range from {
		words := strings.Fields(l.text)
		if len(words) != 2 {
			continue
		}
		if f := strings.Split(words[0], ":"); len(f) == 4 {
			all = append(all, statistic{f[0], f[1], f[2], f[3], words[1]})
		}
	}
	return all
}

// kstat takes speed and duplex of an interface over. Drivers report about themselves
// as "ce:0:ce0" or "bge:0:mac", in bit/s (ifspeed) or Mb/s (link_speed).
func kstat(r *reading, s *section) error {
	for _, k := range parseKstat(s.lines) {
		n := r.known(k.module + k.instance)
		if n == nil {
			n = r.known(k.name)
		}
		value, err := strconv.ParseInt(k.value, 10, 64)
		if n == nil || err != nil || value <= 0 {
			continue
		}
		switch k.statistic {
		case "ifspeed":
			if mbps := value / 1e6; n.Speed == 0 && mbps <= maxSpeed {
				n.Speed = int(mbps)
			}
		case "link_speed":
			if n.Speed == 0 && value <= maxSpeed {
				n.Speed = int(value)
			}
		case "link_duplex":
			n.Duplex = map[int64]string{1: "half", 2: "full"}[value]
		}
	}
	return nil
}
