package host

import (
	"fmt"
	"time"

	"golang.org/x/sys/windows"
)

func processTimes() (user, system time.Duration, err error) {
	var created, exited, kernel, own windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &own); err != nil {
		return 0, 0, fmt.Errorf("read processor time: %w", err)
	}
	return span(own), span(kernel), nil
}

// span reads a Filetime that holds a length of time, in units of 100 ns.
func span(t windows.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
