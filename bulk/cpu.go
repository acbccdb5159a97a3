package bulk

import (
	"time"

	"github.com/fullbore/fullbore/host"
)

// CPUSpent is the processor time from one reading to the next.
func CPUSpent(from, to host.CPUTimes) CPU {
	spent := CPU{
		Elapsed:   to.At.Sub(from.At),
		User:      to.User - from.User,
		System:    to.System - from.System,
		Cores:     []Core{},
		Quota:     to.Quota,
		Throttled: max(0, to.Throttled-from.Throttled),
	}
	before := map[int]host.CoreTimes{}
	for _, c := range from.Cores {
		before[c.ID] = c
	}
	for _, now := range to.Cores {
		was, ok := before[now.ID]
		total := now.Total - was.Total
		if !ok || total <= 0 {
			continue // it came or went meanwhile
		}
		// The kernel's idle and iowait times may step back a little
		// (proc(5)): no share leaves 0..1 for it.
		share := func(d time.Duration) float64 { return max(0, min(1, d.Seconds()/total.Seconds())) }
		spent.Cores = append(spent.Cores, Core{
			ID:      now.ID,
			Busy:    share(total - (now.Idle - was.Idle)),
			SoftIRQ: share(now.SoftIRQ - was.SoftIRQ),
			Steal:   share(now.Steal - was.Steal),
		})
	}
	return spent
}
