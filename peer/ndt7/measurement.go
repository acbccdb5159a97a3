package ndt7

import (
	"encoding/json"
	"fmt"
	"time"
)

// Measurement is a text message: what one end knows of the test so far. Each
// part may be missing. All times are microseconds since the handshake.
type Measurement struct {
	AppInfo        *AppInfo        `json:",omitempty"`
	ConnectionInfo *ConnectionInfo `json:",omitempty"` // of a server
	BBRInfo        *BBRInfo        `json:",omitempty"` // of a sender with this congestion control
	TCPInfo        *TCPInfo        `json:",omitempty"`
	Origin         string          `json:",omitempty"` // "server" or "client": who measured
	Test           string          `json:",omitempty"` // "download" or "upload"
}

// AppInfo is what the application has written or read.
type AppInfo struct {
	NumBytes    int64
	ElapsedTime int64
}

// ConnectionInfo names the connection as the server sees it.
type ConnectionInfo struct {
	Client    string // address:port
	Server    string // address:port
	UUID      string `json:",omitempty"`
	StartTime string `json:",omitempty"` // RFC 3339
}

// BBRInfo is struct tcp_bbr_info in the kernel's units.
type BBRInfo struct {
	BW          int64  // bytes a second
	MinRTT      uint32 // microseconds
	PacingGain  uint32 // times 256
	CwndGain    uint32 // times 256
	ElapsedTime int64
}

// maxText is the longest text message that is read as a measurement; M-Lab's
// server sends 1.5 KB. Longer ones are dropped.
const maxText = 64 << 10

// longestTime bounds the times in a measurement: an hour, far beyond any test.
const longestTime = int64(time.Hour / time.Microsecond)

// parseMeasurement reads a text message. What came over the network is not
// trusted: counts must not be negative, times must lie within a test.
func parseMeasurement(text []byte) (*Measurement, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("measurement of %d bytes is longer than %d", len(text), maxText)
	}
	var m Measurement
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("read measurement: %w", err)
	}
	for name, elapsed := range map[string]int64{"AppInfo": m.appElapsed(), "TCPInfo": m.tcpElapsed()} {
		if elapsed < 0 || elapsed > longestTime {
			return nil, fmt.Errorf("measurement has %s.ElapsedTime %d: want microseconds within a test", name, elapsed)
		}
	}
	if m.AppInfo != nil && m.AppInfo.NumBytes < 0 {
		return nil, fmt.Errorf("measurement has AppInfo.NumBytes %d: must not be negative", m.AppInfo.NumBytes)
	}
	return &m, nil
}

func (m *Measurement) appElapsed() int64 {
	if m.AppInfo == nil {
		return 0
	}
	return m.AppInfo.ElapsedTime
}

func (m *Measurement) tcpElapsed() int64 {
	if m.TCPInfo == nil {
		return 0
	}
	return m.TCPInfo.ElapsedTime
}

// elapsed is when it was made, since the server's end of the handshake.
func (m *Measurement) elapsed() time.Duration {
	return time.Duration(max(m.appElapsed(), m.tcpElapsed())) * time.Microsecond
}
