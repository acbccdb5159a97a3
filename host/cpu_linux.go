package host

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/procfs"
)

// coreTimes reads /proc/stat. Guest time is part of user and nice time there.
func coreTimes() ([]CoreTimes, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, fmt.Errorf("read core times: %w", err)
	}
	stat, err := fs.Stat()
	if err != nil {
		return nil, fmt.Errorf("read core times: %w", err)
	}
	cores := make([]CoreTimes, 0, len(stat.CPU))
	for id, t := range stat.CPU {
		idle := t.Idle + t.Iowait
		cores = append(cores, CoreTimes{
			ID:      int(id),
			Total:   seconds(t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ + t.Steal + idle),
			Idle:    seconds(idle),
			SoftIRQ: seconds(t.SoftIRQ),
			Steal:   seconds(t.Steal),
		})
	}
	slices.SortFunc(cores, func(a, b CoreTimes) int { return cmp.Compare(a.ID, b.ID) })
	return cores, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
