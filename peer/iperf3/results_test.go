package iperf3

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fullbore/fullbore/bulk"
)

func TestStreamID(t *testing.T) {
	var got []int
	for i := range 5 {
		got = append(got, StreamID(i))
	}
	if diff := cmp.Diff([]int{1, 3, 4, 5, 6}, got); diff != "" {
		t.Error(diff)
	}
}

// Two ends of a bidirectional test, each of which knows what it counted.
func TestResultsOfBothEnds(t *testing.T) {
	spec := bulk.Spec{Protocol: bulk.TCP, Direction: bulk.Both, Streams: 1, Duration: 2 * time.Second}
	client := bulk.End{
		CPU: bulk.CPU{Elapsed: 2 * time.Second, User: 100 * time.Millisecond, System: 300 * time.Millisecond},
		Streams: []bulk.Stream{
			{ID: 1, Sender: true, Local: "[::1]:1000", Remote: "[::1]:5201", Congestion: "cubic", Bytes: 1<<53 + 1, Retransmits: 7, Elapsed: 2 * time.Second},
			{ID: 3, Local: "[::1]:1001", Remote: "[::1]:5201", Congestion: "cubic", Bytes: 5, Retransmits: -1, Elapsed: 1900 * time.Millisecond},
		},
	}
	sent := ResultsOf(client, spec)
	zero := int64(0)
	want := Results{
		CPUTotal: 20, CPUUser: 5, CPUSystem: 15, SenderHasRetransmits: 1, CongestionUsed: "cubic",
		Streams: []StreamResults{
			{ID: 1, Bytes: 1<<53 + 1, Retransmits: 7, OmittedErrors: &zero, OmittedPackets: &zero, EndTime: 2},
			{ID: 3, Bytes: 5, Retransmits: -1, OmittedErrors: &zero, OmittedPackets: &zero, EndTime: 1.9},
		},
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// The server has the same streams, the other way round.
	server := bulk.End{Streams: []bulk.Stream{
		{ID: 1, Local: "[::1]:5201", Remote: "[::1]:1000", Elapsed: time.Second},
		{ID: 3, Sender: true, Local: "[::1]:5201", Remote: "[::1]:1001", Elapsed: time.Second},
	}}
	text, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	var read Results
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	got, err := read.End(spec, server)
	if err != nil {
		t.Fatal(err)
	}
	client.Software = "iperf3"
	if diff := cmp.Diff(client, got); diff != "" {
		t.Errorf("(-client +as the server knows it):\n%s", diff)
	}
}

func TestResultsOfDatagrams(t *testing.T) {
	spec := bulk.Spec{Protocol: bulk.UDP, Direction: bulk.Forward, Streams: 1, Duration: time.Second, Omit: time.Second}
	sender := bulk.Stream{ID: 1, Sender: true, Elapsed: time.Second, Bytes: 9000, Retransmits: -1,
		Datagrams: &bulk.Datagrams{Packets: 90, Omitted: bulk.Counts{Packets: 10}}}
	receiver := bulk.Stream{ID: 1, Elapsed: time.Second, Bytes: 8800, Retransmits: -1,
		Datagrams: &bulk.Datagrams{Packets: 89, Lost: 1, Jitter: 0.001, Omitted: bulk.Counts{Packets: 11, Lost: 4}}}
	for _, end := range [][2]bulk.Stream{{sender, receiver}, {receiver, sender}} {
		sent := ResultsOf(bulk.End{Streams: []bulk.Stream{end[0]}}, spec)
		got, err := sent.End(spec, bulk.End{Streams: []bulk.Stream{end[1]}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(end[0], got.Streams[0]); diff != "" {
			t.Errorf("(-end +as the other knows it):\n%s", diff)
		}
		if sent.SenderHasRetransmits == 1 || sent.Streams[0].Packets != 100 {
			t.Errorf("%+v", sent)
		}
	}
	// 3.12 and 3.13 only have totals: what is known here of the omitted time helps.
	sent := ResultsOf(bulk.End{Streams: []bulk.Stream{receiver}}, spec)
	sent.Streams[0].OmittedErrors, sent.Streams[0].OmittedPackets = nil, nil
	got, err := sent.End(spec, bulk.End{Streams: []bulk.Stream{sender}})
	if err != nil {
		t.Fatal(err)
	}
	want := &bulk.Datagrams{Packets: 90, Lost: 5, Jitter: 0.001, Omitted: bulk.Counts{Packets: 10}}
	if diff := cmp.Diff(want, got.Streams[0].Datagrams); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// good is what a server's results are, but for what a test puts in.
func good(streams string) string {
	return `{"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":0,"sender_has_retransmits":-1,"streams":[` + streams + `]}`
}

const goodStream = `{"id":1,"bytes":5,"retransmits":-1,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1}`

func TestResultsRefused(t *testing.T) {
	instead := func(old, new string) string {
		text := strings.Replace(good(goodStream), old, new, 1)
		if text == good(goodStream) {
			t.Fatalf("no %q", old)
		}
		return text
	}
	mine := bulk.End{Streams: []bulk.Stream{{ID: 1, Sender: true}}}
	spec := bulk.Spec{Protocol: bulk.TCP}
	take := func(text string) (bulk.End, error) {
		var r Results
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return bulk.End{}, err
		}
		return r.End(spec, mine)
	}
	if _, err := take(good(goodStream)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"no stream":                good(""),
		"an unknown stream":        instead(`"id":1`, `"id":2`),
		"one stream more":          good(goodStream + "," + strings.Replace(goodStream, `"id":1`, `"id":3`, 1)),
		"a stream twice":           good(goodStream + "," + goodStream),
		"too many streams":         good(strings.Repeat(goodStream+",", maxStreamResults) + goodStream),
		"no list":                  instead(`[`+goodStream+`]`, `{}`),
		"a list of something else": good(`1`),
		"no id":                    instead(`"id":1,`, ``),
		"no bytes":                 instead(`"bytes":5,`, ``),
		"bytes in words":           instead(`"bytes":5`, `"bytes":"5"`),
		"negative bytes":           instead(`"bytes":5`, `"bytes":-5`),
		"negative bytes, Debian's": instead(`"bytes":5`, `"bytes":18446744073709551611`),
		"negative jitter":          instead(`"jitter":0`, `"jitter":-1`),
		"infinite jitter":          instead(`"jitter":0`, `"jitter":1e999`),
		"negative loss":            instead(`"errors":0`, `"errors":-1`),
		"half of the omitted":      instead(`"errors":0`, `"errors":0,"omitted_errors":0`),
		"infinite time":            instead(`"end_time":1`, `"end_time":1e300`),
		"no processor time":        instead(`"cpu_util_total":1,`, ``),
		"no word on retransmits":   instead(`"sender_has_retransmits":-1,`, ``),
		"a key twice":              instead(`"bytes":5`, `"bytes":5,"bytes":6`),
	} {
		if end, err := take(text); err == nil {
			t.Errorf("%s: taken as %+v", name, end)
		}
	}
	// What is not known is no reason to throw away the rest.
	for name, text := range map[string]string{
		"null for a division by zero": instead(`"cpu_util_user":1`, `"cpu_util_user":null`),
		"impossible processor time":   instead(`"cpu_util_user":1`, `"cpu_util_user":-1e300`),
		"no congestion control":       instead(`"streams"`, `"congestion_used":"\u001b[31m","streams"`),
		"server output of no kind":    instead(`"streams"`, `"server_output_json":"x","server_output_text":7,"streams"`),
	} {
		end, err := take(text)
		if err != nil || end.Streams[0].Bytes != 5 || end.Streams[0].Congestion != "" || end.CPU.User != 0 && name == "impossible processor time" {
			t.Errorf("%s: %+v, %v", name, end, err)
		}
	}
}
