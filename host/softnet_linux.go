package host

import (
	"fmt"
	"strconv"
	"strings"
)

// parseSoftnet adds what the processors' network queues have lost and left over,
// of a /proc/net/softnet_stat: a line of hexadecimal counters for each processor
// that is online, of which the second is packets that found the queue full
// (net.core.netdev_max_backlog), and the third rounds that ended with packets
// left (net.core.netdev_budget). See softnet_seq_show in
// net/core/net-procfs.c; they are the machine's, in every network namespace.
func parseSoftnet(text string, into map[string]int64) error {
	var dropped, squeezed int64
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			return fmt.Errorf("parse softnet_stat: %d columns, want 3 or more", len(fields))
		}
		for at, sum := range map[int]*int64{1: &dropped, 2: &squeezed} {
			n, err := strconv.ParseUint(fields[at], 16, 32)
			if err != nil {
				return fmt.Errorf("parse softnet_stat: %w", err)
			}
			*sum += int64(n)
		}
	}
	into["Softnet.Dropped"], into["Softnet.TimeSqueeze"] = dropped, squeezed
	return nil
}
