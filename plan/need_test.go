package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/path"
	"github.com/fullbore/fullbore/unit"
)

// saw is a transfer whose sender saw these round trips, the first one in the
// omitted time.
func saw(rtts ...time.Duration) *bulk.Result {
	sender := bulk.Stream{Sender: true}
	for i, rtt := range rtts {
		sender.Samples = append(sender.Samples, bulk.Sample{Omitted: i == 0, TCP: bulk.TCPInfo{RTT: uint32(rtt.Microseconds())}})
	}
	return &bulk.Result{Client: bulk.End{Streams: []bulk.Stream{sender}}}
}

// The round trip to plan for is the probe's, or what TCP saw under load: of that at
// most another round trip, or a time slice of the scheduler on short paths. What was
// seen before the measured time, or not at all, does not count.
func TestRoundTripToPlanFor(t *testing.T) {
	for name, c := range map[string]struct {
		idle     time.Duration // 0: not probed
		baseline *bulk.Result
		want     time.Duration
	}{
		"only probed":                            {10 * ms, nil, 10 * ms},
		"nothing was seen under load":            {10 * ms, saw(), 10 * ms},
		"faster than the probe":                  {10 * ms, saw(0, 8*ms), 10 * ms},
		"a queue of less than a round trip":      {10 * ms, saw(0, 16*ms), 16 * ms},
		"a queue of more":                        {10 * ms, saw(0, 35*ms), 20 * ms},
		"a short path: less than a time slice":   {ms, saw(0, 3*ms), 3 * ms},
		"a short path: more":                     {ms, saw(0, 30*ms), 5 * ms},
		"not probed: as it was under load":       {0, saw(0, 60*ms), 60 * ms},
		"neither probed nor seen":                {0, nil, 0},
		"the omitted time does not count":        {0, saw(900*ms, 60*ms), 60 * ms},
		"samples without a figure do not either": {0, saw(0, 0, 0, 60*ms, 60*ms), 60 * ms},
		"the median counts":                      {0, saw(0, 50*ms, 60*ms, 900*ms), 60 * ms},
	} {
		in := Input{Direction: bulk.Forward, Baseline: c.baseline, OneEnd: true}
		if c.idle > 0 {
			in.Path = between(unit.Gbps, c.idle)
		}
		if got := newMaker(in).need.rtt; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Where the capacity is not known, the plan assumes as much as most paths have, or
// twice what was reached, and says so.
func TestRateToPlanFor(t *testing.T) {
	reached := func(rate unit.Rate) *bulk.Result {
		return &bulk.Result{Server: bulk.End{Streams: []bulk.Stream{{Bytes: int64(rate.BytesIn(time.Second)), Elapsed: time.Second}}}}
	}
	bound := between(unit.Gbps, 10*ms)
	bound.Forward.Capacity.High = 0
	for name, c := range map[string]struct {
		path     *path.Estimate
		baseline *bulk.Result
		want     unit.Rate
		note     string
	}{
		"nothing is known":            {nil, nil, path.AssumedRate, "is not known; the plan assumes 100 Mb/s"},
		"little was reached":          {nil, reached(8 * unit.Mbps), path.AssumedRate, "is not known; the plan assumes 100 Mb/s"},
		"more was reached":            {nil, reached(80 * unit.Mbps), 160 * unit.Mbps, "is not known; the plan assumes 160 Mb/s"},
		"a lower bound":               {bound, nil, unit.Gbps, "was not measured; the plan assumes 1 Gb/s"},
		"twice as much as that bound": {bound, reached(unit.Gbps), 2 * unit.Gbps, "was not measured; the plan assumes 2 Gb/s"},
		"measured":                    {between(unit.Gbps, 10*ms), reached(80 * unit.Mbps), unit.Gbps, ""},
		"reached in spite of that":    {between(unit.Gbps, 10*ms), reached(1.2 * unit.Gbps), 1.2 * unit.Gbps, ""},
	} {
		m := newMaker(Input{Path: c.path, Direction: bulk.Forward, Baseline: c.baseline, OneEnd: true})
		if notes := strings.Join(m.notes, "\n"); m.need.rate != c.want || !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
			t.Errorf("%s: %v, want %v; notes %q", name, m.need.rate, c.want, notes)
		}
	}
}

// The part of the receive buffer that becomes window is what the transfer showed,
// between a quarter and the usual half; half, where it showed nothing.
func TestShareOfBuffer(t *testing.T) {
	for _, c := range []struct {
		window uint32
		buffer int
		want   float64
	}{
		{1 << 20, 3 << 20, 1.0 / 3},
		{1 << 20, 8 << 20, leastShare},
		{3 << 20, 4 << 20, diagnose.ReceiverShare},
		{0, 8 << 20, diagnose.ReceiverShare},
		{1 << 20, 0, diagnose.ReceiverShare},
		{0, 0, diagnose.ReceiverShare},
	} {
		b := saw(0, 0)
		b.Client.Streams[0].Samples[1].TCP.SndWnd = c.window
		b.Server.Streams = []bulk.Stream{{RecvBuf: c.buffer}}
		if got := newMaker(Input{Path: between(unit.Gbps, 10*ms), Direction: bulk.Forward, Baseline: b}).share(); got != c.want {
			t.Errorf("a window of %d in %d bytes: %v, want %v", c.window, c.buffer, got, c.want)
		}
	}
}

// What is not known of the path is assumed so that nothing is predicted too low.
func TestPathNotKnown(t *testing.T) {
	in := Input{Path: Given(unit.Gbps, 0, 0), Direction: bulk.Forward, OneEnd: true}
	m := newMaker(in)
	if got := m.mtu(); got != 1500 {
		t.Errorf("MTU not known: %v", got)
	}
	if got := m.windowRate(65535); got != unlimited {
		t.Errorf("a window without a round trip allows %v", got)
	}
	in.Path.Forward.MTU.Bytes = 9000
	if got := newMaker(in).mtu(); got != 9000 {
		t.Errorf("MTU 9000: %v", got)
	}
}

// Of NFS's largest requests, so many are under way that they fill the path twice
// over, on however many connections.
func TestUnderWay(t *testing.T) {
	for _, streams := range []int{1, 4} {
		m := newMaker(Input{Path: between(unit.Gbps, 150*ms), Streams: streams, OneEnd: true})
		if got := m.underWay(); got != 36 { // twice 18.75 MB
			t.Errorf("%d streams: %d", streams, got)
		}
	}
	for n, want := range map[int64]int64{1: 64, 3: 48, 33: 66, 36: 36, 50: 50} {
		if got := doubled(n, 36); got != want {
			t.Errorf("%d doubled: %d, want %d", n, got, want)
		}
	}
}

// Without a round trip nothing is known of what is in flight: no system's buffers or
// windows are raised.
func TestNoRoundTripNoBuffers(t *testing.T) {
	small := map[string]string{
		rmem: "4096 24576 24576", wmem: "4096 16384 16384",
		"net.inet.tcp.recvbuf_max": "65536", "net.inet.tcp.sendbuf_max": "65536", "net.inet.tcp.recvspace": "16384", "net.inet.tcp.sendspace": "16384",
		"net.inet.tcp.autorcvbufmax": "65536", "net.inet.tcp.autosndbufmax": "65536",
		"tcp_recv_hiwat": "24576", "tcp_xmit_hiwat": "16384", "recv_buf": "24576", "send_buf": "16384",
		windowSize: "17520", "DefaultSendWindow": "8192", autotuning: "disabled",
	}
	for _, system := range append([]string{"linux6.18"}, others...) {
		h := assume(t, system)
		for name, value := range small {
			if has(h, name) {
				h.Tunables[name] = value
			}
		}
		p := Make(Input{Path: between(unit.Gbps, 0), Direction: bulk.Forward, Sender: h, Receiver: h})
		for _, s := range p.Steps {
			for _, c := range s.Changes {
				if _, is := small[c.Tunable]; is {
					t.Errorf("%s: %s is set to %s", system, c.Tunable, c.To)
				}
			}
		}
	}
}

// A finding counts from where it is no longer doubtful.
func TestDoubtful(t *testing.T) {
	for confidence, counts := range map[float64]bool{0.49: false, diagnose.Doubtful: true, 0.9: true} {
		m := newMaker(Input{OneEnd: true, Diagnosis: &diagnose.Diagnosis{Findings: []diagnose.Finding{
			{Cause: diagnose.Policer, Confidence: 0.9}, {Cause: diagnose.RandomLoss, Confidence: confidence},
		}}})
		if f := m.finding(diagnose.RandomLoss); (f != nil) != counts || counts && f.Cause != diagnose.RandomLoss {
			t.Errorf("confidence %v: %+v", confidence, f)
		}
	}
}
