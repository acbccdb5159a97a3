package host

import (
	"fmt"
	"os"
	"strings"
)

// ReadTCPMemory reads the memory that TCP holds now. The bounds of tcp_mem are to
// be seen in the machine's first network namespace only.
func ReadTCPMemory() (TCPMemory, error) {
	text, err := readBounded("/proc/thread-self/net/sockstat")
	if err != nil {
		return TCPMemory{}, fmt.Errorf("read TCP's memory: %w", err)
	}
	pages, err := parseSockstat(text)
	if err != nil {
		return TCPMemory{}, fmt.Errorf("read TCP's memory: %w", err)
	}
	size := int64(os.Getpagesize())
	memory := TCPMemory{Used: pages * size}
	bounds, _ := root("/").get("net.ipv4.tcp_mem") // "" in any other
	for i, field := range strings.Fields(bounds) {
		if pages, err := parsePages(field); err == nil && i < 3 {
			*[]*int64{&memory.Low, &memory.Pressure, &memory.High}[i] = pages * size
		}
	}
	return memory, nil
}
