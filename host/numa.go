package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU is the highest number that sched_setaffinity's usual mask has room for.
const maxCPU = 1023

// ParseCPUs reads a list of CPUs as the kernel writes it and taskset(1) takes
// it: numbers and ranges, "0,2-5". Each comes once, in the order of the list.
func ParseCPUs(list string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		first, err := parseCPU(low)
		if err != nil {
			return nil, err
		}
		last := first
		if isRange {
			if last, err = parseCPU(high); err != nil {
				return nil, err
			}
		}
		if last < first {
			return nil, fmt.Errorf("range of CPUs %q ends before it begins", part)
		}
		for cpu := first; cpu <= last; cpu++ {
			if !slices.Contains(cpus, cpu) {
				cpus = append(cpus, cpu)
			}
		}
	}
	return cpus, nil
}

func parseCPU(text string) (int, error) {
	cpu, err := strconv.ParseUint(text, 10, 16)
	if err != nil || cpu > maxCPU {
		return 0, fmt.Errorf("%.20q is no CPU: use numbers up to %d and ranges of them, such as 0,2-5", text, maxCPU)
	}
	return int(cpu), nil
}
