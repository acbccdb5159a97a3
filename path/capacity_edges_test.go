package path

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
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
		"nothing":    {nil, "0 b/s to 0 b/s, lost 0, burst 0 B, packet trains, sender-limited "},
		"no train":   {times(5, none), "0 b/s to 0 b/s, lost 0, burst 0 B, packet trains, sender-limited "},
		"six trains": {times(6, whole), "100 Mb/s to 100 Mb/s, lost 0, burst 0 B, packet trains "},
		"three":      {times(3, whole), "100 Mb/s to 100 Mb/s, lost 0, burst 0 B, packet trains "},
		"two":        {times(2, whole), "170 Mb/s to 0 b/s, lost 0, burst 0 B, packet trains, sender-limited "},
		"of the bytes that passed the median": {[]measured{train(70, 6*time.Millisecond), train(50, 6*time.Millisecond), train(60, 6*time.Millisecond)},
			"100 Mb/s to 100 Mb/s, lost 0.4, burst 87.9 KiB, packet trains 40 % of the train packets were lost: a shallow queue or a policer"},
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

// How many packets a train is to have, by what came of the trains before.
func TestPilot(t *testing.T) {
	const size, ms = 1500, time.Millisecond
	// at is a train that came in whole at a rate, its first packets at another.
	at := func(rate, early unit.Rate) func(packets int) measured {
		return func(packets int) measured {
			bytes := int64(packets * size)
			late := Dispersion{Bytes: bytes * 3 / 4, Time: time.Duration(float64(bytes*3/4*8) / float64(rate) * 1e9)}
			first := Dispersion{Bytes: bytes / 4, Time: time.Duration(float64(bytes/4*8) / float64(early) * 1e9)}
			return measured{Train{Sent: packets, Received: packets, Bytes: bytes, First: time.Hour, Last: time.Hour + first.Time + late.Time, Early: first, Late: late}, time.Microsecond}
		}
	}
	steady := func(rate unit.Rate) func(int) measured { return at(rate, rate) }
	overflows := func(packets int) measured {
		m := steady(unit.Gbps)(packets)
		m.Overflow = 1
		return m
	}
	// once is a train that came in at once, or with nothing but its first and last packet.
	once := func(received int, within time.Duration) func(int) measured {
		return func(packets int) measured {
			return measured{Train{Sent: packets, Received: received, Bytes: int64(received * size), First: time.Hour, Last: time.Hour + within}, 0}
		}
	}
	// rate is that at which so many packets are the right ones.
	rate := func(packets int) unit.Rate {
		return unit.RateOf(int64(packets*size)*3/4, targetDispersion) * 0.9999
	}
	for _, c := range []struct {
		name   string
		first  int
		trains []func(packets int) measured
		asked  []int
		want   int
	}{
		{"just right", 32, []func(int) measured{steady(rate(32))}, []int{32}, 32},
		{"a quarter more will do", 32, []func(int) measured{steady(rate(40))}, []int{32}, 40},
		{"more than that is tried", 32, []func(int) measured{steady(rate(41)), steady(rate(41))}, []int{32, 41}, 41},
		{"too few to tell", 32, []func(int) measured{once(32, 0), steady(rate(130))}, []int{32, 128}, 130},
		{"too few to tell, and then all there may be", 1200, []func(int) measured{once(1200, 0), once(1398, 0)}, []int{1200, 1398}, 1398},
		{"most are lost, and what is left takes its time", 32, []func(int) measured{once(2, targetDispersion), once(2, targetDispersion)}, []int{32, 64}, 64},
		{"most are lost, in less", 32, []func(int) measured{once(2, targetDispersion-1), steady(rate(128))}, []int{32, 128}, 128},
		{"nothing comes", 32, []func(int) measured{once(1, 0), once(0, 0), once(1, ms)}, []int{32, 32, 32}, 0},
		{"nothing at first", 32, []func(int) measured{once(1, 0), once(0, 0), steady(rate(32))}, []int{32, 32, 32}, 32},
		{"the receiver does not keep up", 64, []func(int) measured{overflows, overflows, overflows, overflows}, []int{64, 32, 16, 12}, 12},
		{"a burst at first is tried with more", 32, []func(int) measured{at(rate(20), 2*rate(20)), steady(rate(20))}, []int{32, 64}, 64},
		{"a burst that stays, and does not slow it", 32, []func(int) measured{at(rate(20), 2*rate(20)), at(rate(20), 2*rate(20))}, []int{32, 64}, 64},
		{"a burst that slows it further", 32, []func(int) measured{at(rate(60), 2*rate(60)), at(rate(40), 2*rate(40)), steady(rate(40))}, []int{32, 64, 128}, 128},
		{"on a slow link fewer will do", 200, []func(int) measured{steady(24 * unit.Mbps)}, []int{200}, 100},
		{"but not where it became slow with longer trains", 32, []func(int) measured{steady(rate(200)), steady(24 * unit.Mbps)}, []int{32, 200}, 200},
		{"nor where it began fast", 32, []func(int) measured{steady(rate(200)), at(rate(190), 2*rate(190))}, []int{32, 200}, 200},
	} {
		var asked []int
		got, _, err := pilot(t.Context(), func(_ context.Context, n, packets int, _ time.Duration) ([]measured, error) {
			asked = append(asked, packets)
			if n != 1 || len(asked) > len(c.trains) {
				return nil, fmt.Errorf("%d trains, after %d", n, len(asked)-1)
			}
			return []measured{c.trains[len(asked)-1](packets)}, nil
		}, size, c.first)
		if err != nil || got != c.want || !slices.Equal(asked, c.asked) {
			t.Errorf("%s: %d packets after trains of %v (%v), want %d after %v", c.name, got, asked, err, c.want, c.asked)
		}
	}
}

// What is known of a path one way, where it was probed.
func TestWay(t *testing.T) {
	e := &Estimate{RTT: RTT{Min: 100 * time.Millisecond}, Forward: Direction{Capacity: Capacity{Rate: unit.Gbps}}}
	var none *Estimate
	if e.Way(false) != &e.Forward || e.Way(true) != &e.Reverse || none.Way(false) != nil || none.Way(true) != nil {
		t.Error("not that way")
	}
	if got := e.BDP(e.Forward); got != 12_500_000 {
		t.Errorf("1 Gb/s times 100 ms is %v", got)
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
