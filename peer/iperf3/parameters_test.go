package iperf3

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

func parameters(t *testing.T, text string) Parameters {
	t.Helper()
	var p Parameters
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParametersRefused(t *testing.T) {
	for text, want := range map[string]Number{
		`"omit":601`:                           IEOmit,
		`"omit":-1`:                            IEOmit,
		`"time":86401`:                         IEDuration,
		`"time":-0.5`:                          IEDuration,
		`"time":1e400`:                         IEDuration,
		`"num":-1`:                             IERecvParams,
		`"num":18446744073709551615`:           IERecvParams, // -1 as Debian 12 writes it
		`"blockcount":-1`:                      IERecvParams,
		`"blockcount":9223372036854775807`:     IERecvParams,
		`"blockcount":70368744177664`:          IERecvParams, // 2^46 of 128 KiB
		`"parallel":0`:                         IENumStreams,
		`"parallel":129`:                       IENumStreams,
		`"parallel":1e300`:                     IENumStreams,
		`"parallel":4294967297`:                IENumStreams,
		`"len":0`:                              IEBlockSize,
		`"len":-1`:                             IEBlockSize,
		`"len":1048577`:                        IEBlockSize,
		`"udp":true,"len":15`:                  IEUDPBlockSize,
		`"udp":true,"len":65508`:               IEUDPBlockSize,
		`"udp":true,"len":0`:                   IEUDPBlockSize,
		`"window":536870913`:                   IEBufSize,
		`"window":-1`:                          IEBufSize,
		`"MSS":32768`:                          IEMSS,
		`"MSS":87`:                             IEMSS,
		`"burst":1001`:                         IEBurst,
		`"burst":-1`:                           IEBurst,
		`"TOS":256`:                            IEBadTOS,
		`"flowlabel":1048576`:                  IESetFlow,
		`"server_affinity":1025`:               IEAffinity,
		`"bandwidth":-1`:                       IERecvParams,
		`"fqrate":-1`:                          IERecvParams,
		`"sctp":true`:                          IENoSCTP,
		`"mptcp":true`:                         IEUnimp,
		`"reverse":true,"bidirectional":true`:  IEReverseBidir,
		`"parallel":129,"omit":601,"burst":-1`: IEOmit, // the first of them
	} {
		_, _, err := parameters(t, "{"+text+"}").Spec()
		if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Number != want {
			t.Errorf("%s: %v, want %d: %v", text, err, want, want)
		}
	}
}

func TestParametersTaken(t *testing.T) {
	usual := bulk.Spec{Protocol: bulk.TCP, Direction: bulk.Forward, Streams: 1, Duration: 10 * time.Second, Length: 131072}
	with := func(change func(*bulk.Spec)) bulk.Spec { s := usual; change(&s); return s }
	for text, want := range map[string]bulk.Spec{
		``:                                usual,
		`"time":2.5`:                      with(func(s *bulk.Spec) { s.Duration = 2500 * time.Millisecond }),
		`"time":0`:                        with(func(s *bulk.Spec) { s.Duration = bulk.MaxDuration }), // until the client ends it
		`"omit":600,"time":86400`:         with(func(s *bulk.Spec) { s.Omit, s.Duration = 600*time.Second, 24*time.Hour }),
		`"omit":1.9`:                      with(func(s *bulk.Spec) { s.Omit = time.Second }),
		`"parallel":1.28e2`:               with(func(s *bulk.Spec) { s.Streams = 128 }),
		`"num":9007199254740993,"time":5`: with(func(s *bulk.Spec) { s.Bytes, s.Duration = 1<<53+1, 0 }),
		`"num":9223372036854775807`:       with(func(s *bulk.Spec) { s.Bytes, s.Duration = math.MaxInt64, 0 }),
		`"blockcount":70368744177663`:     with(func(s *bulk.Spec) { s.Bytes, s.Duration = math.MaxInt64-131071, 0 }),
		`"burst":0,"bandwidth":0,"MSS":0`: usual,
		`"reverse":false`:                 usual,
		`"skip_rx_copy":1,"zerocopy":0`:   with(func(s *bulk.Spec) { s.RecvPath = bulk.RecvTruncate }),
		`"TCP":5,"Parallel":7,"a":{"b":[1,{}]},"gso":1`: usual, // no keys of the protocol
		`"udp":true,"tcp":true,"len":16,"MSS":1000,"congestion":"cubic","zerocopy":1`: with(func(s *bulk.Spec) {
			s.Protocol, s.Length = bulk.UDP, 16
		}),
	} {
		got, notes, err := parameters(t, "{"+text+"}").Spec()
		if err != nil || len(notes) > 0 {
			t.Errorf("%s: notes %q, %v", text, notes, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestParametersNotes(t *testing.T) {
	for text, want := range map[string]string{
		`"reverse":1`:                         `"reverse" is not true or false: ignored`,
		`"reverse":null`:                      `"reverse" is not true or false: ignored`,
		`"time":"10"`:                         `"time" is not a number: ignored`,
		`"parallel":null`:                     `"parallel" is not a number: ignored`,
		`"zerocopy":true`:                     `"zerocopy" is not a number: ignored`,
		`"title":7`:                           `"title" is not a string: ignored`,
		`"flowlabel":7`:                       `the IPv6 flow label is not set`,
		`"congestion":"../x"`:                 `no congestion control is called "../x"`,
		`"congestion":"abcdefghijklmnopq"`:    `no congestion control is called "abcdefghijklmnopq"`,
		`"bidirectional":{"a":1},"len":[131]`: `"bidirectional" is not true or false: ignored`,
	} {
		spec, notes, err := parameters(t, "{"+text+"}").Spec()
		if err != nil || len(notes) == 0 || !strings.Contains(strings.Join(notes, "\n"), want) {
			t.Errorf("%s: notes %q, %v", text, notes, err)
		}
		want := bulk.Spec{Protocol: bulk.TCP, Direction: bulk.Forward, Streams: 1, Duration: 10 * time.Second, Length: 131072}
		if diff := cmp.Diff(want, spec); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// A client always sends what the oldest server insists on, and nothing that the
// newest refuses.
func TestParametersSent(t *testing.T) {
	for _, spec := range []bulk.Spec{
		{Direction: bulk.Forward, Streams: 1, Duration: 1500 * time.Millisecond, Omit: 100 * time.Millisecond},
		{Direction: bulk.Forward, Streams: 1, Bytes: 1},
		{Direction: bulk.Forward, Streams: 1},
		{Protocol: bulk.UDP, Direction: bulk.Reverse, Streams: 3, Duration: time.Second},
	} {
		text, err := json.Marshal(ParametersOf(spec))
		if err != nil {
			t.Fatal(err)
		}
		var sent map[string]any
		if err := json.Unmarshal(text, &sent); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"omit", "time", "num", "blockcount", "parallel", "len", "pacing_timer"} {
			if n, ok := sent[key].(float64); !ok || n != math.Trunc(n) {
				t.Errorf("%s: %s is %v", text, key, sent[key])
			}
		}
		if sent["tcp"] == true == (sent["udp"] == true) || sent["time"] == 0.0 && sent["num"] == 0.0 {
			t.Errorf("%s", text)
		}
		for key := range maps.Keys(sent) {
			if key == "burst" || key == "MSS" || key == "window" || key == "bandwidth" {
				t.Errorf("%s: with %s", text, key)
			}
		}
	}
	sent := ParametersOf(bulk.Spec{Direction: bulk.Forward, Streams: 1, Duration: 1500 * time.Millisecond, Omit: 100 * time.Millisecond})
	if sent.Time != 2 || sent.Omit != 1 {
		t.Errorf("%v s, %v s omitted", sent.Time, sent.Omit)
	}
	if cpus := ParametersOf(bulk.Spec{Streams: 1, Bytes: 1, ServerCPUs: "0-3"}); cpus.Affinity != nil {
		t.Errorf("affinity %d", *cpus.Affinity)
	}
}

// What a client asks for in iperf3's words, a server understands.
func TestSpecThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := bulk.Spec{
			Protocol:  rapid.SampledFrom([]bulk.Protocol{bulk.TCP, bulk.UDP}).Draw(t, "protocol"),
			Direction: rapid.SampledFrom([]bulk.Direction{bulk.Forward, bulk.Reverse, bulk.Both}).Draw(t, "direction"),
			Streams:   rapid.IntRange(1, maxStreams).Draw(t, "streams"),
			Omit:      time.Duration(rapid.IntRange(0, maxOmit).Draw(t, "omit")) * time.Second,
			Length:    rapid.IntRange(minUDPLength, maxUDPLength).Draw(t, "length"),
			Rate:      unit.Rate(rapid.Int64Range(0, 1<<53).Draw(t, "rate")),
			Pace:      unit.Rate(rapid.Int64Range(0, 1<<53).Draw(t, "pace")),
			Burst:     rapid.IntRange(0, maxBurst).Draw(t, "burst"),
			TOS:       rapid.IntRange(0, maxTOS).Draw(t, "tos"),
			SendBuf:   rapid.IntRange(0, maxWindow).Draw(t, "window"),
		}
		spec.RecvBuf = spec.SendBuf
		if rapid.Bool().Draw(t, "timed") {
			spec.Duration = time.Duration(rapid.IntRange(1, maxTime).Draw(t, "time")) * time.Second
		} else {
			spec.Bytes = rapid.Int64Range(1, math.MaxInt64).Draw(t, "bytes")
		}
		if spec.Protocol == bulk.TCP {
			spec.MSS = rapid.SampledFrom([]int{0, minMSS, 1460, maxMSS}).Draw(t, "mss")
			spec.NoDelay = rapid.Bool().Draw(t, "nodelay")
			spec.Congest = rapid.SampledFrom([]string{"", "cubic", "bbr"}).Draw(t, "congestion")
			spec.SendPath = rapid.SampledFrom([]bulk.SendPath{"", bulk.SendFile}).Draw(t, "send")
			spec.RecvPath = rapid.SampledFrom([]bulk.RecvPath{"", bulk.RecvTruncate}).Draw(t, "receive")
		} else {
			spec.Counters64 = rapid.Bool().Draw(t, "counters")
			spec.DontFragment = rapid.Bool().Draw(t, "fragment")
		}
		text, err := json.Marshal(ParametersOf(spec))
		if err != nil || len(text) > maxParameters {
			t.Fatal(len(text), err)
		}
		var p Parameters
		if err := json.Unmarshal(text, &p); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ParametersOf(spec), p, cmpopts.IgnoreUnexported(p)); diff != "" {
			t.Fatalf("(-sent +read):\n%s", diff)
		}
		got, notes, err := p.Spec()
		if err != nil || len(notes) > 0 {
			t.Fatal(notes, err)
		}
		if diff := cmp.Diff(spec, got); diff != "" {
			t.Fatalf("(-asked +understood):\n%s", diff)
		}
	})
}
