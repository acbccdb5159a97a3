package host

import "time"

// CPUTimes is the processor time used up to one instant. The difference of two
// is what a transfer cost.
type CPUTimes struct {
	At        time.Time
	User      time.Duration // this process
	System    time.Duration // this process
	Cores     []CoreTimes   // by ID; empty where the system does not report them
	Quota     float64       // CPUs that the process' control group may use, 0: no limit
	Throttled time.Duration // how long that limit has held the group back
}

// CoreTimes is how one core has spent its time since boot.
type CoreTimes struct {
	ID      int
	Total   time.Duration
	Idle    time.Duration // waiting for a disk included
	SoftIRQ time.Duration
	Steal   time.Duration
}

// ReadCPU reads the processor times of this process and of every core. Where
// the system reports only the former, Cores is empty.
func ReadCPU() (CPUTimes, error) {
	times := CPUTimes{At: time.Now()}
	var err error
	if times.User, times.System, err = processTimes(); err != nil {
		return CPUTimes{}, err
	}
	if times.Cores, err = coreTimes(); err != nil {
		return CPUTimes{}, err
	}
	times.Quota, times.Throttled = cpuLimit()
	return times, nil
}
