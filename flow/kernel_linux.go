package flow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/host"
)

// settings are the few things that are not reported with a socket. Files under
// /proc that depend on the network namespace keep to the one in which they were
// opened.
type settings struct {
	sockstat, rmem, wmem *os.File
}

func openSettings() (_ *settings, err error) {
	s := &settings{}
	for path, into := range map[string]**os.File{
		"/proc/thread-self/net/sockstat": &s.sockstat,
		"/proc/sys/net/ipv4/tcp_rmem":    &s.rmem,
		"/proc/sys/net/ipv4/tcp_wmem":    &s.wmem,
	} {
		if *into, err = os.Open(path); err != nil {
			s.close()
			return nil, fmt.Errorf("open kernel's settings of TCP: %w", err)
		}
	}
	return s, nil
}

func (s *settings) close() {
	for _, f := range []*os.File{s.sockstat, s.rmem, s.wmem} {
		if f != nil {
			f.Close()
		}
	}
}

// facts are this host's bounds of TCP buffers, as the kernel has them.
func (s *settings) facts() *host.Facts {
	return &host.Facts{OS: "linux", Tunables: map[string]string{"net.ipv4.tcp_rmem": read(s.rmem), "net.ipv4.tcp_wmem": read(s.wmem)}}
}

// timeWait counts the sockets in TIME_WAIT, of both address families.
func (s *settings) timeWait() int {
	var buffer [1024]byte
	n, err := s.sockstat.ReadAt(buffer[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0
	}
	return parseTimeWait(buffer[:n])
}

// parseTimeWait reads the line of TCP in /proc/net/sockstat: "TCP: inuse 5
// orphan 0 tw 3 alloc 8 mem 1".
func parseTimeWait(raw []byte) int {
	for line := range bytes.Lines(raw) {
		fields := bytes.Fields(line)
		if len(fields) == 0 || string(fields[0]) != "TCP:" {
			continue
		}
		for i := 1; i+1 < len(fields); i += 2 {
			if string(fields[i]) == "tw" {
				n, err := strconv.Atoi(string(fields[i+1]))
				if err != nil {
					return 0
				}
				return max(0, n)
			}
		}
	}
	return 0
}

// read gives a short file's text; "" if it cannot be read any more.
func read(f *os.File) string {
	var buffer [128]byte
	n, err := f.ReadAt(buffer[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return strings.TrimSpace(string(buffer[:n]))
}
