package host

import (
	"fmt"
	"io"
	"os"
)

// Counters reads the kernel's protocol counters of the calling thread's network
// namespace, by "Tcp.RetransSegs", "TcpExt.TCPTimeouts", "IpExt.InOctets" and
// so on. TCP over IPv6 counts there too. "Softnet.Dropped" and
// "Softnet.TimeSqueeze" are the machine's; a kernel that hides them has none.
func Counters() (map[string]int64, error) {
	// The thread's own entry and not /proc/self/net, which shows the namespace
	// of the process' first thread (proc(5)).
	const dir = "/proc/thread-self/net/"
	counters := map[string]int64{}
	for _, name := range []string{"snmp", "netstat"} {
		text, err := readBounded(dir + name)
		if err != nil {
			return nil, fmt.Errorf("read counters: %w", err)
		}
		if err := parseCounters(text, counters); err != nil {
			return nil, fmt.Errorf("%s%s: %w", dir, name, err)
		}
	}
	if text, err := readBounded(dir + "softnet_stat"); err == nil {
		if err := parseSoftnet(text, counters); err != nil {
			return nil, fmt.Errorf("%ssoftnet_stat: %w", dir, err)
		}
	}
	return counters, nil
}

// readBounded reads a file of /proc, of which none read here comes near 1 MiB.
func readBounded(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return string(data), err
}
