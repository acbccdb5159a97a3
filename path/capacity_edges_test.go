package path

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/fullbore/fullbore/internal/golden"
	"github.com/fullbore/fullbore/unit"
)

// What the far end says of a train is believed up to what was sent, and no further.
func TestPlausibleTrain(t *testing.T) {
	whole := Train{Received: 10, Bytes: 15000, First: 1, Last: 5, Early: Dispersion{Bytes: 5000, Time: 1}, Late: Dispersion{Bytes: 10000, Time: 3}}
	for name, c := range map[string]struct {
		change func(*Train)
		want   bool
	}{
		"all that was sent":           {func(*Train) {}, true},
		"nothing":                     {func(t *Train) { *t = Train{} }, true},
		"all at one instant":          {func(t *Train) { t.Last = t.First }, true},
		"a packet more":               {func(t *Train) { t.Received++ }, false},
		"a packet fewer than none":    {func(t *Train) { t.Received = -1 }, false},
		"a byte more":                 {func(t *Train) { t.Bytes++ }, false},
		"fewer bytes than none":       {func(t *Train) { t.Bytes, t.Early, t.Late = -1, Dispersion{}, Dispersion{} }, false},
		"parts that are more":         {func(t *Train) { t.Late.Bytes++ }, false},
		"an end before its beginning": {func(t *Train) { t.Last = 0 }, false},
		"early bytes below 0":         {func(t *Train) { t.Early.Bytes = -1 }, false},
		"early time below 0":          {func(t *Train) { t.Early.Time = -1 }, false},
		"late bytes below 0":          {func(t *Train) { t.Late.Bytes = -1 }, false},
		"late time below 0":           {func(t *Train) { t.Late.Time = -1 }, false},
		"an overflow below 0":         {func(t *Train) { t.Overflow = -1 }, false},
	} {
		train := whole
		c.change(&train)
		if got := train.plausible(10, 1500); got != c.want {
			t.Errorf("%s: plausible %v", name, got)
		}
	}
}

// How trains are sent and what comes of them, on many links and ends.
func TestManyLinks(t *testing.T) {
	var text strings.Builder
	for seed := range uint64(60) {
		chance := rand.New(rand.NewPCG(seed, 7))
		oneOf := func(of ...float64) float64 { return of[chance.IntN(len(of))] }
		l := &link{
			rate: unit.Rate(oneOf(0.3, 1, 5, 20, 100, 400, 1000, 4000)) * unit.Mbps, sender: unit.Rate(oneOf(1, 2, 8, 8, 8)) * unit.Gbps,
			bucket: oneOf(0, 0, 0, 30e3, 100e3), queue: oneOf(6e3, 20e3, 48e3, 256e3, 1e9),
			jitter: time.Duration(oneOf(0, 20, 100, 2000)) * time.Microsecond, stall: oneOf(0, 0, 0.3, 0.8), busy: oneOf(1, 1, 0.3), chance: chance,
		}
		size := int(oneOf(1280, 1500, 9000))
		send := l.run(size)
		calls := 0
		overflows, silent := int(oneOf(0, 0, 0, 1, 2)), int(oneOf(0, 0, 0, 1, 2, 3))
		got, err := measureCapacity(t.Context(), func(ctx context.Context, n, packets int, spacing time.Duration) ([]measured, error) {
			calls++
			fmt.Fprintf(&text, "%d: %d trains of %d packets, %v apart\n", seed, n, packets, spacing.Round(time.Microsecond))
			if calls <= silent {
				return nil, nil
			}
			trains, err := send(ctx, n, packets, spacing)
			if calls <= silent+overflows {
				trains[0].Overflow = 1
			}
			return trains, err
		}, size)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%d: %.4g (%.4g to %.4g), lost %.3g, burst %d, %s %s\n", seed, float64(got.Rate), float64(got.Low), float64(got.High), got.Lost, got.Burst, got.Method, got.Note)
	}
	golden.Check(t, "links.txt", text.String())
}

// What trains come to: of those that were cut, were lost, or came too fast.
func TestEstimateEdges(t *testing.T) {
	train := func(received int, late time.Duration) measured {
		return measured{Train{Sent: 100, Received: received, Bytes: int64(received) * 1500, First: 0, Last: late + time.Millisecond, Late: Dispersion{Bytes: 75_000, Time: late}}, time.Microsecond}
	}
	times := func(n int, m measured) (all []measured) {
		for range n {
			all = append(all, m)
		}
		return all
	}
	whole, none := train(100, 6*time.Millisecond), measured{Train: Train{Sent: 100, Received: 1}}
	cut := whole
	cut.Overflow = 1
	slow := whole
	slow.busy = 6 * time.Millisecond
	for name, c := range map[string]struct {
		trains []measured
		want   string
	}{
		"nothing":                           {nil, "0 b/s to 0 b/s, lost 0, burst 0 B, packet trains, sender-limited "},
		"no train":                          {times(5, none), "0 b/s to 0 b/s, lost 0, burst 0 B, packet trains, sender-limited "},
		"six trains":                        {times(6, whole), "100 Mb/s to 100 Mb/s, lost 0, burst 0 B, packet trains "},
		"three":                             {times(3, whole), "100 Mb/s to 100 Mb/s, lost 0, burst 0 B, packet trains "},
		"two":                               {times(2, whole), "170 Mb/s to 0 b/s, lost 0, burst 0 B, packet trains, sender-limited "},
		"cut by the receiver":               {append(times(2, cut), times(3, whole)...), "100 Mb/s to 100 Mb/s, lost 0, burst 0 B, packet trains "},
		"a fifth is lost":                   {times(6, train(80, 6*time.Millisecond)), "100 Mb/s to 100 Mb/s, lost 0.2, burst 117 KiB, packet trains "},
		"more than a fifth":                 {times(6, train(79, 6*time.Millisecond)), "100 Mb/s to 100 Mb/s, lost 0.21, burst 116 KiB, packet trains 21 % of the train packets were lost: a shallow queue or a policer"},
		"a tenth is lost":                   {times(6, train(90, 6*time.Millisecond)), "100 Mb/s to 100 Mb/s, lost 0.1, burst 132 KiB, packet trains "},
		"less than a tenth":                 {times(6, train(91, 6*time.Millisecond)), "100 Mb/s to 100 Mb/s, lost 0.09, burst 0 B, packet trains "},
		"a tenth, of half of them":          {append(times(3, whole), times(3, train(90, 6*time.Millisecond))...), "100 Mb/s to 100 Mb/s, lost 0.05, burst 0 B, packet trains "},
		"the sender took half as long":      {times(6, slow), "100 Mb/s to 100 Mb/s, lost 0, burst 0 B, packet trains "},
		"the sender took longer":            {times(6, func() measured { m := slow; m.busy += time.Millisecond; return m }()), "100 Mb/s to 0 b/s, lost 0, burst 0 B, packet trains, sender-limited "},
		"they disagree: at least this much": {append(times(5, whole), times(4, train(100, 4*time.Millisecond))...), "100 Mb/s to 0 b/s, lost 0, burst 0 B, packet trains the trains disagree: at least this much"},
	} {
		got := estimate(c.trains)
		if text := fmt.Sprintf("%v to %v, lost %.2g, burst %v, %s %s", got.Low, got.High, got.Lost, got.Burst, got.Method, got.Note); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}

// What is believed of the MTU where nothing was probed.
func TestBelievedMTUs(t *testing.T) {
	headers := tcpHeaders(overhead(netip.MustParseAddr("192.0.2.1")))
	if headers != 40 {
		t.Errorf("IPv4 and TCP take %d bytes", headers)
	}
	const agreed = "the TCP segment size agreed at the handshake fits packets of %d bytes"
	for _, c := range []struct {
		kernel, sendMSS, announced int
		forward, reverse           int
		method, note               string
	}{
		{1500, 0, 0, 1500, 0, "kernel", ""},
		{0, 0, 0, 0, 0, "none", ""},
		{1500, 1460, 1460, 1500, 1500, "kernel", ""},
		{1500, 1459, 8960, 1499, 9000, "kernel", fmt.Sprintf(agreed, 1499)},
		{1500, 1461, 0, 1500, 0, "kernel", ""},
		{0, 1460, 1, 1500, 41, "kernel", fmt.Sprintf(agreed, 1500)},
	} {
		forward, reverse := believedMTUs(route{link: 1500, kernel: c.kernel}, handshake{sendMSS: c.sendMSS, announced: c.announced}, headers)
		if want := (MTU{Bytes: c.forward, Link: 1500, Method: c.method, Note: c.note}); forward != want {
			t.Errorf("forward %+v, want %+v", forward, want)
		}
		if reverse.Bytes != c.reverse || (reverse.Method == "none") != (c.reverse == 0) {
			t.Errorf("reverse %+v, want %d bytes", reverse, c.reverse)
		}
	}
}
