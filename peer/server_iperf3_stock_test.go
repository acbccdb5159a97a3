package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// iperf3Document is what is looked at of what a stock client reports with -J.
type iperf3Document struct {
	Intervals []json.RawMessage `json:"intervals"`
	End       struct {
		Streams []struct {
			Sender, Receiver iperf3Row
			UDP              *iperf3Row
		} `json:"streams"`
		SumSent            iperf3Row  `json:"sum_sent"`
		SumReceived        iperf3Row  `json:"sum_received"`
		SumSentReverse     *iperf3Row `json:"sum_sent_bidir_reverse"`
		SumReceivedReverse *iperf3Row `json:"sum_received_bidir_reverse"`
		Sum                *iperf3Row `json:"sum"` // UDP
		SenderCongestion   string     `json:"sender_tcp_congestion"`
		ReceiverCongestion string     `json:"receiver_tcp_congestion"`
	} `json:"end"`
	ServerJSON json.RawMessage `json:"server_output_json"`
	ServerText string          `json:"server_output_text"`
	Error      string          `json:"error"`
}

type iperf3Row struct {
	Bytes       int64   `json:"bytes"`
	Seconds     float64 `json:"seconds"`
	Retransmits *int64  `json:"retransmits"`
	Packets     int64   `json:"packets"`
	Lost        int64   `json:"lost_packets"`
	OutOfOrder  int64   `json:"out_of_order"`
}

// iperf3Client runs the stock client against a far end.
func iperf3Client(t *testing.T, ctx context.Context, address string, options ...string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("iperf3")
	if err != nil {
		t.Skip("iperf3 is not installed")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(ctx, program, append([]string{"-c", host, "-p", port}, options...)...)
}

// iperf3JSON runs it with -J. What it has to say against that is an error of the
// document.
func iperf3JSON(t *testing.T, address string, options ...string) (document iperf3Document) {
	t.Helper()
	out, err := iperf3Client(t, within(t, generous), address, append(options, "-J")...).Output()
	if jsonErr := json.Unmarshal(out, &document); jsonErr != nil {
		document.Error = fmt.Sprintf("%v, %v: %s", err, jsonErr, out)
	}
	return document
}

// iperf3Minor is y of the client's version 3.y.
func iperf3Minor(t *testing.T) (minor int) {
	t.Helper()
	program, err := exec.LookPath("iperf3")
	if err != nil {
		t.Skip("iperf3 is not installed")
	}
	out, err := exec.CommandContext(t.Context(), program, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(out), "iperf 3.%d", &minor); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return minor
}

// iperf3All runs it with each of the options, many at once, and gives each
// document a subtest.
func iperf3All(t *testing.T, address string, options []string, check func(t *testing.T, options string, got iperf3Document)) {
	t.Helper()
	documents := make([]iperf3Document, len(options))
	var group errgroup.Group
	group.SetLimit(10)
	for i, o := range options {
		group.Go(func() error {
			documents[i] = iperf3JSON(t, address, strings.Fields(o)...)
			return nil
		})
	}
	_ = group.Wait()
	for i, o := range options {
		t.Run(o, func(t *testing.T) {
			if documents[i].Error != "" {
				t.Fatal(documents[i].Error)
			}
			check(t, o, documents[i])
		})
	}
}

// roomy has places for tests that run side by side.
func roomy() Limits {
	return Limits{Transfer: time.Minute, Streams: 128, Transfers: 100, Samples: 20_000}
}
