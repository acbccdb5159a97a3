package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// parseCounters adds the counters of one /proc/net/snmp or netstat to into.
// Both hold pairs of lines, names and then values, with the same prefix:
//
//	Tcp: RtoAlgorithm RtoMin ... RetransSegs
//	Tcp: 1 200 ... 17
func parseCounters(text string, into map[string]int64) error {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines)%2 != 0 {
		return errors.New("parse counters: a line of names has no line of values")
	}
	for i := 0; i < len(lines); i += 2 {
		names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
		if len(names) != len(values) || len(names) == 0 || names[0] != values[0] || !strings.HasSuffix(names[0], ":") {
			return fmt.Errorf("parse counters: lines %d and %d are not names and values of one protocol", i+1, i+2)
		}
		protocol := strings.TrimSuffix(names[0], ":")
		for column := 1; column < len(names); column++ {
			n, err := strconv.ParseInt(values[column], 10, 64)
			if err != nil {
				return fmt.Errorf("parse counter %s.%s: %w", protocol, names[column], err)
			}
			into[protocol+"."+names[column]] = n
		}
	}
	return nil
}

// Delta is what changed from before to after; what did not change is left out,
// and so is what only one of them has.
func Delta(before, after map[string]int64) map[string]int64 {
	changes := map[string]int64{}
	for name, now := range after {
		if was, ok := before[name]; ok && now != was {
			changes[name] = now - was
		}
	}
	return changes
}
