package iperf3

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/fullbore/fullbore/bulk"
)

// Results is what each end reports to the other when the test is over.
type Results struct {
	CPUTotal             float64         `json:"cpu_util_total"` // percent of one core
	CPUUser              float64         `json:"cpu_util_user"`
	CPUSystem            float64         `json:"cpu_util_system"`
	SenderHasRetransmits int             `json:"sender_has_retransmits"` // 1 yes, 0 no, -1: this end is the receiver
	CongestionUsed       string          `json:"congestion_used,omitempty"`
	Streams              []StreamResults `json:"streams"`
	ServerOutputJSON     json.RawMessage `json:"server_output_json,omitempty"`
	ServerOutputText     string          `json:"server_output_text,omitempty"`
}

// StreamResults is one stream as one end counted it: bytes and retransmits
// without those of the omitted time, errors and packets with them. All keys but
// the last four are required, for TCP too.
type StreamResults struct {
	ID             int     `json:"id"` // 1, 3, 4, 5, ...: iperf3 skips 2
	Bytes          int64   `json:"bytes"`
	Retransmits    int64   `json:"retransmits"` // -1: unknown, or a receiver
	Jitter         float64 `json:"jitter"`      // s
	Errors         int64   `json:"errors"`      // UDP datagrams lost
	Packets        int64   `json:"packets"`
	OmittedErrors  *int64  `json:"omitted_errors,omitempty"` // both or neither; since 3.14
	OmittedPackets *int64  `json:"omitted_packets,omitempty"`
	StartTime      float64 `json:"start_time"` // always 0
	EndTime        float64 `json:"end_time"`   // s
}

// maxStreamResults bounds the list of streams before it is compared with those
// of the test: there are no more in both directions.
const maxStreamResults = 2 * bulk.MaxStreams

// UnmarshalJSON reads the results of the other end. Whether they belong to the
// test is for [Results.End] to say.
func (r *Results) UnmarshalJSON(text []byte) error {
	f, err := parseFields(text)
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	*r = Results{}
	// Of a test that took no time iperf3 divides by zero, and writes null.
	for key, to := range map[string]*float64{"cpu_util_total": &r.CPUTotal, "cpu_util_user": &r.CPUUser, "cpu_util_system": &r.CPUSystem} {
		if !f.float(key, to) && string(f.values[key]) != "null" {
			return fmt.Errorf("results: no number %q", key)
		}
	}
	if !integer(f, "sender_has_retransmits", &r.SenderHasRetransmits) {
		return fmt.Errorf("results: no number %q", "sender_has_retransmits")
	}
	f.text("congestion_used", &r.CongestionUsed)
	f.text("server_output_text", &r.ServerOutputText)
	if v := f.values["server_output_json"]; len(v) > 0 && v[0] == '{' {
		r.ServerOutputJSON = v
	}
	if r.Streams, err = parseStreams(f.values["streams"]); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

func parseStreams(text []byte) ([]StreamResults, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, fmt.Errorf("no list %q", "streams")
	}
	var all []StreamResults
	for d.More() {
		if len(all) == maxStreamResults {
			return nil, fmt.Errorf("more than %d streams", maxStreamResults)
		}
		var s StreamResults
		if err := d.Decode(&s); err != nil {
			return nil, fmt.Errorf("stream %d of the list: %w", len(all)+1, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// UnmarshalJSON reads one stream's results.
func (s *StreamResults) UnmarshalJSON(text []byte) error {
	f, err := parseFields(text)
	if err != nil {
		return err
	}
	*s = StreamResults{}
	var errors, packets int64
	for key, found := range map[string]bool{
		"id": integer(f, "id", &s.ID), "bytes": integer(f, "bytes", &s.Bytes), "retransmits": integer(f, "retransmits", &s.Retransmits),
		"jitter": f.float("jitter", &s.Jitter), "errors": integer(f, "errors", &s.Errors), "packets": integer(f, "packets", &s.Packets),
	} {
		if !found {
			return fmt.Errorf("no number %q", key)
		}
	}
	if integer(f, "omitted_errors", &errors) {
		s.OmittedErrors = &errors
	}
	if integer(f, "omitted_packets", &packets) {
		s.OmittedPackets = &packets
	}
	if (s.OmittedErrors == nil) != (s.OmittedPackets == nil) {
		return fmt.Errorf("only one of %q and %q", "omitted_errors", "omitted_packets")
	}
	f.float("start_time", &s.StartTime)
	f.float("end_time", &s.EndTime)
	return nil
}
