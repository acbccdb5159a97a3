//go:build !linux

package host

import "time"

func coreTimes() ([]CoreTimes, error) { return nil, nil }

func cpuLimit() (cpus float64, throttled time.Duration) { return 0, 0 }
