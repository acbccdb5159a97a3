package bulk

// Cost is the processor time that one end of a transfer took. A percentage would
// depend on how many processors there are.
type Cost struct {
	Process      float64  `json:"process_cpus"`                 // CPUs that this process used, mean: 1 is one of them all the time
	ProcessPerGB *float64 `json:"process_s_per_gb,omitempty"`   // CPU seconds of this process for each 10^9 bytes received
	Host         *float64 `json:"host_cpus,omitempty"`          // CPUs busy with anything, network interrupts included
	HostPerGB    *float64 `json:"host_s_per_gb,omitempty"`      // CPU seconds of all of the host's work for each 10^9 bytes received
	SoftIRQ      *float64 `json:"softirq_cpus,omitempty"`       // CPUs busy with network interrupts
	Busiest      *float64 `json:"busiest_core_share,omitempty"` // 0..1 of the busiest core
	Cores        int      `json:"cores,omitempty"`              // that the host has
}

// leastForCost is the fewest bytes received for which a cost per 10^9 bytes means
// something: setting a transfer up and ending it takes a millisecond of processor
// time, as much as moving a megabyte.
const leastForCost = 1e6

// Cost is the CPU cost of one of the transfer's ends, from its record; nil if
// there is none. A transfer in both directions is charged for the bytes of both.
func (r *Result) Cost(e *End) *Cost {
	elapsed := e.CPU.Elapsed.Seconds()
	if elapsed <= 0 {
		return nil
	}
	var bytes int64
	for _, d := range r.Spec.Directions() {
		bytes += moved(r.Receivers(d)).Bytes
	}
	perGB := func(cpus float64) *float64 {
		if bytes < leastForCost {
			return nil
		}
		v := cpus * elapsed / (float64(bytes) / 1e9)
		return &v
	}
	c := &Cost{Process: (e.CPU.User + e.CPU.System).Seconds() / elapsed, Cores: len(e.CPU.Cores)}
	c.ProcessPerGB = perGB(c.Process)
	if c.Cores > 0 {
		var busy, softirq, busiest float64
		for _, core := range e.CPU.Cores {
			busy += core.Busy
			softirq += core.SoftIRQ
			busiest = max(busiest, core.Busy)
		}
		c.Host, c.SoftIRQ, c.Busiest, c.HostPerGB = &busy, &softirq, &busiest, perGB(busy)
	}
	return c
}
