package host

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// TCPMemory is the memory that the TCP sockets of the whole machine hold, in all
// its network namespaces together, and the bounds of tcp_mem, in bytes.
type TCPMemory struct {
	Used     int64 `json:"used_bytes"`
	Low      int64 `json:"low_bytes,omitempty"`      // pressure ends below; 0: the bounds are not to be seen from here
	Pressure int64 `json:"pressure_bytes,omitempty"` // above, all sockets have to save
	High     int64 `json:"high_bytes,omitempty"`     // nobody gets more
}

// parseSockstat finds the pages in use in /proc/net/sockstat:
//
//	TCP: inuse 27 orphan 1 tw 23 alloc 31 mem 3
func parseSockstat(text string) (pages int64, err error) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "TCP:" {
			continue
		}
		for i := 1; i+1 < len(fields); i += 2 {
			if fields[i] == "mem" {
				return parsePages(fields[i+1])
			}
		}
	}
	return 0, errors.New("parse sockstat: there is no memory of TCP")
}

// maxPages keeps a number of bytes within 63 bits.
const maxPages = math.MaxInt64 >> 20

// parsePages reads a number of pages; tcp_mem may be set to any.
func parsePages(text string) (int64, error) {
	pages, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse pages: %w", err)
	}
	return min(max(0, pages), maxPages), nil
}

// Check says whether what another host reports of its memory can be true.
func (m *TCPMemory) Check() error {
	if m != nil && min(m.Used, m.Low, m.Pressure, m.High) < 0 {
		return errors.New("TCP holds negative memory")
	}
	return nil
}
