package iperf3

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Bytes as servers send them.

func states(all ...State) []byte {
	b := make([]byte, len(all))
	for i, s := range all {
		b[i] = byte(s)
	}
	return b
}

func numbers(all ...uint32) []byte {
	var b []byte
	for _, n := range all {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

func blob(text string) []byte { return append(numbers(uint32(len(text))), text...) }

const (
	results312 = `{"cpu_util_total":1.5,"cpu_util_user":0.5,"cpu_util_system":1,"sender_has_retransmits":18446744073709551615,"congestion_used":"cubic","streams":[{"id":1,"bytes":131072,"retransmits":18446744073709551615,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1.5}]}`
	results314 = `{"cpu_util_total":1.5,"cpu_util_user":0.5,"cpu_util_system":1,"sender_has_retransmits":-1,"congestion_used":"cubic","streams":[{"id":1,"bytes":131072,"retransmits":-1,"jitter":0,"errors":0,"omitted_errors":0,"packets":0,"omitted_packets":0,"start_time":0,"end_time":1.5}]}`
	results30  = `{"cpu_util_total":1.5,"cpu_util_user":0.5,"cpu_util_system":1,"sender_has_retransmits":-1,"streams":[{"id":1,"bytes":131072,"retransmits":-1,"jitter":0,"errors":0,"packets":0}]}`
)

// What servers of each version send, from their source, and what a client makes
// of it.
func TestServersOfAllVersions(t *testing.T) {
	setUp := states(ParamExchange, CreateStreams, TestStart, TestRunning)
	atResults := slices.Concat(setUp, states(ExchangeResults))
	zero := int64(0)
	bare := StreamResults{ID: 1, Bytes: 131072, Retransmits: -1}
	old := bare
	old.EndTime = 1.5
	current := old
	current.OmittedErrors, current.OmittedPackets = &zero, &zero
	for _, test := range []struct {
		version, what string
		sent          []byte
		states        int // that come before the error
		stream        StreamResults
		err           error // that ends it
	}{
		{"3.12 to 3.13", "a whole test", slices.Concat(atResults, blob(results312), states(DisplayResults)), 6, old, ErrClosed},
		{"3.14 and later", "a whole test", slices.Concat(atResults, blob(results314), states(DisplayResults)), 6, current, ErrClosed},
		{"before 3.2", "no times", slices.Concat(atResults, blob(results30), states(DisplayResults)), 6, bare, ErrClosed},
		{"all", "busy", states(AccessDenied), 0, StreamResults{}, ErrBusy},
		{"all", "busy, and its answer lost", nil, 0, StreamResults{}, ErrNoAnswer},
		{"all", "stopped during the test", slices.Concat(setUp, states(ServerTerminate)), 4, StreamResults{}, ErrServerTerminated},
		{"all", "stopped before the results", slices.Concat(atResults, states(ServerTerminate)), 5, StreamResults{}, ErrServerTerminated},
		{"all", "no place for the stream listener", slices.Concat(states(ParamExchange, ServerError), numbers(202, 98)), 1, StreamResults{}, &RemoteError{IEStreamListen, 98}},
		{"all", "buffers smaller than asked", slices.Concat(states(ParamExchange, ServerError), numbers(141, 0)), 1, StreamResults{}, &RemoteError{IESetBuf2, 0}},
		{"3.12 to 3.18", "login failed: one number", slices.Concat(states(ParamExchange, ServerError), numbers(142)), 1, StreamResults{}, &RemoteError{IEAuthTest, 0}},
		{"3.19 to 3.20", "login failed: two numbers", slices.Concat(states(ParamExchange, ServerError), numbers(142, 11)), 1, StreamResults{}, &RemoteError{IEAuthTest, 11}},
		{"3.21", "login failed: no number", states(ParamExchange), 1, StreamResults{}, ErrClosed},
		{"3.12 to 3.19", "parameters refused", states(ParamExchange), 1, StreamResults{}, ErrClosed},
		{"3.20", "parameters refused", slices.Concat(states(ParamExchange, ServerError), numbers(6, 0)), 1, StreamResults{}, &RemoteError{IENumStreams, 0}},
		{"3.12 to 3.20", "rate exceeded", setUp, 4, StreamResults{}, ErrClosed},
		{"3.21", "rate exceeded: told twice", slices.Concat(setUp, states(ServerError), numbers(27, 0), states(ServerError), numbers(27, 0)), 4, StreamResults{}, &RemoteError{IETotalRate, 0}},
		{"3.21", "too long for the server", slices.Concat(states(ParamExchange, ServerError), numbers(37, 0)), 1, StreamResults{}, &RemoteError{IEMaxServerTestDurationExceeded, 0}},
		{"3.21", "no data came", slices.Concat(setUp, states(ServerError), numbers(144, 11)), 4, StreamResults{}, &RemoteError{IENoMsg, 11}},
		{"3.21", "its time is over", slices.Concat(setUp, states(ServerError), numbers(160, 0)), 4, StreamResults{}, &RemoteError{IEServerTestDurationExpired, 0}},
		{"3.21", "an error in place of the length of the results", slices.Concat(atResults, states(ServerError), numbers(208, 104)), 5, StreamResults{}, &RemoteError{IEStreamID, 104}},
		{"3.21", "an error in place of the last state", slices.Concat(atResults, blob(results314), states(ServerError), numbers(107, 32)), 5, current, &RemoteError{107, 32}},
		{"of the future", "an unknown error", slices.Concat(states(ParamExchange, ServerError), numbers(999, 0)), 1, StreamResults{}, &RemoteError{999, 0}},
		{"not iperf3", "HTTP", []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), 0, StreamResults{}, ErrMessage},
		{"not iperf3", "an unknown state", states(ParamExchange, 3), 1, StreamResults{}, ErrMessage},
	} {
		t.Run(test.version+" "+test.what, func(t *testing.T) {
			c := playing(t, test.sent)
			var got heard
			got.asClient(c)
			if len(got.States) != test.states || !sameError(got.Err, test.err) {
				t.Errorf("%v, then %v, want %d states, then %v", got.States, got.Err, test.states, test.err)
			}
			if test.stream.ID == 0 {
				return
			}
			if diff := cmp.Diff([]StreamResults{test.stream}, got.Results.Streams); diff != "" {
				t.Errorf("streams (-want +got):\n%s", diff)
			}
			if got.Results.CPUTotal != 1.5 || got.Results.SenderHasRetransmits != -1 {
				t.Errorf("results %+v", got.Results)
			}
		})
	}
}

// What clients of each version ask for, from their source.
func TestClientsOfAllVersions(t *testing.T) {
	base := Parameters{TCP: true, Time: 10, Parallel: 1, Len: 131072, PacingTimer: 1000}
	with := func(change func(*Parameters)) Parameters { p := base; change(&p); return p }
	affinity := 0
	for _, test := range []struct {
		version, sent string
		want          Parameters
	}{
		{"3.2", `{"tcp":true,"omit":0,"time":10,"parallel":1,"len":131072,"client_version":"3.2"}`,
			with(func(p *Parameters) { p.PacingTimer, p.ClientVersion = 0, "3.2" })},
		{"3.12", `{"tcp":true,"omit":0,"time":10,"num":0,"blockcount":0,"parallel":1,"len":131072,"pacing_timer":1000,"client_version":"3.12"}`,
			with(func(p *Parameters) { p.ClientVersion = "3.12" })},
		{"3.12 zero copy", `{"tcp":true,"omit":3,"server_affinity":0,"time":10,"num":0,"blockcount":0,"nodelay":true,"parallel":1,"reverse":true,"len":131072,"pacing_timer":1000,"zerocopy":1,"get_server_output":1,"client_version":"3.12"}`,
			with(func(p *Parameters) {
				p.ClientVersion, p.Omit, p.Affinity, p.NoDelay, p.Reverse, p.ZeroCopy, p.GetServerOutput = "3.12", 3, &affinity, true, true, 1, 1
			})},
		{"3.19 mptcp, truncating", `{"tcp":true,"omit":0,"time":10,"num":0,"blockcount":0,"parallel":1,"mptcp":true,"len":131072,"pacing_timer":1000,"skip_rx_copy":1,"client_version":"3.19.1"}`,
			with(func(p *Parameters) { p.ClientVersion, p.MPTCP, p.SkipRxCopy = "3.19.1", true, 1 })},
		{"3.21 udp", `{"udp":true,"omit":0,"time":10,"num":0,"blockcount":0,"parallel":1,"len":1448,"bandwidth":1048576,"pacing_timer":1000,"gso":0,"gso_dg_size":0,"gso_bf_size":65507,"gro":0,"gro_bf_size":65507,"client_version":"3.21"}`,
			with(func(p *Parameters) {
				p.ClientVersion, p.TCP, p.UDP, p.Len, p.Bandwidth = "3.21", false, true, 1448, 1048576
			})},
		{"of another kind: booleans for numbers", `{"tcp":true,"time":10,"parallel":1,"len":131072,"pacing_timer":1000,"get_server_output":true,"reverse":1}`,
			base},
		{"with nothing but a protocol", `{"tcp":true,"pacing_timer":1000}`, base},
		{"with nothing but a protocol, udp", `{"udp":true,"pacing_timer":1000}`,
			with(func(p *Parameters) { p.TCP, p.UDP, p.Len = false, true, 1460 })},
		{"in C's way, with its NUL", "{\"tcp\":true,\"pacing_timer\":1000}\x00", base},
	} {
		t.Run(test.version, func(t *testing.T) {
			var got Parameters
			if err := playing(t, blob(test.sent)).readJSON(maxParameters, soon, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreUnexported(Parameters{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
