//go:build unix

package host

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

func processTimes() (user, system time.Duration, err error) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0, 0, fmt.Errorf("read processor time: %w", err)
	}
	return time.Duration(usage.Utime.Nano()), time.Duration(usage.Stime.Nano()), nil
}
