package path

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Packet trains: packets that leave back to back are spread by the narrowest
// link, and stay spread behind it, so that the rate at which a train arrives is
// the capacity of that link (Dovrolis, Ramanathan, Moore: "Packet-dispersion
// techniques and a capacity-estimation methodology", 2004). Long trains see
// what cross traffic leaves over; these are as short as the timing allows.
// What trains cannot see is a policer with a deep bucket: they pass within its
// burst. A transfer shows it.
const (
	// targetDispersion is how long the measured part of a train should take to
	// arrive: long against the 50-100 µs for which NICs, shapers and emulated
	// paths collect packets, so that these are within 2-3 % of one train, and
	// below 1 % of the median of all.
	targetDispersion = 4 * time.Millisecond

	// longEnough is from when on a train need not be as long as the pilot was:
	// on slow links.
	longEnough = 50 * time.Millisecond

	pilotPackets = 32 // the first train: 48 KB fit into any queue
	minPackets   = 12 // fewer do not give the four batches that a rate needs
	mostPilots   = 7
	fewestTrains = 6  // the fewest that give the median an interval of 95 %
	mostTrains   = 16 // more hardly narrow it
	mostAttempts = 3
	misled       = 1.5 // times the pilot rate: then the pilot was slow by chance, and chose too short a train
	slowTrains   = 3   // where each takes so long that six are too much to wait for
	trainsTime   = 1200 * time.Millisecond
	trainsBytes  = 16 << 20

	// senderShare is how fast trains may arrive, as a share of the rate at which
	// they were sent, to count as spread by the path and not by the sender.
	senderShare = 0.5
	// disagreement is how far above the median the upper end of its interval may
	// be. Beyond it something between the trains and the clock, mostly a busy
	// processor, slowed most of them.
	disagreement = 1.25
	// notableLoss is the share of train packets lost from which on it is worth a
	// word: trains are short, and random loss is seldom above a few percent.
	notableLoss = 0.2
)

// Methods of Capacity.
const (
	methodTrains  = "packet trains"
	methodLimited = "packet trains, sender-limited"
	methodAssumed = "assumed"
)

// measured is a train as both ends saw it.
type measured struct {
	Train
	busy time.Duration // of the sender
}

// rate is that of the train's later part; 0 if there is none.
func (m measured) rate() unit.Rate { return m.Late.Rate() }

// least is a lower bound of the rate at which it came in, from the first packet
// to the last: the first took its time before.
func (m measured) least() unit.Rate {
	return unit.RateOf(m.Bytes-m.Bytes/int64(m.Received), max(m.Last-m.First, m.busy))
}

// plausible bounds what the far end says of a train by what was sent.
func (t Train) plausible(packets, size int) bool {
	most := int64(packets) * int64(size)
	return t.Received >= 0 && t.Received <= packets && t.Overflow >= 0 && t.Last >= t.First &&
		t.Bytes >= 0 && t.Bytes <= most &&
		t.Early.Bytes >= 0 && t.Early.Time >= 0 && t.Late.Bytes >= 0 && t.Late.Time >= 0 &&
		t.Early.Bytes+t.Late.Bytes <= t.Bytes
}

// runner sends n trains of so many packets, spaced from start to start, and
// returns what came in of them.
type runner func(ctx context.Context, n, packets int, spacing time.Duration) ([]measured, error)

// measureCapacity finds a good length with single trains, and then measures
// with several. size is that of the packets, IP bytes. A zero Rate means that
// no train got through.
func measureCapacity(ctx context.Context, run runner, size int) (c Capacity, err error) {
	first := pilotPackets
	for range mostAttempts {
		var packets int
		var rate unit.Rate
		packets, rate, err = pilot(ctx, run, size, first)
		if err != nil || packets == 0 {
			return Capacity{}, err
		}
		if c, err = measureWith(ctx, run, size, packets, rate); err != nil || c.Rate <= rate*misled {
			return c, err
		}
		first = max(lengthFor(c.Rate, size), 2*packets)
	}
	return c, nil
}

// measureWith measures with trains of a length, which are expected to come in at
// about the given rate.
func measureWith(ctx context.Context, run runner, size, packets int, rate unit.Rate) (Capacity, error) {
	lasts := 10 * time.Millisecond
	if rate > 0 {
		lasts = time.Duration(float64(packets*size*8) / float64(rate) * float64(time.Second))
	}
	spacing := lasts + lasts/2 + 2*time.Millisecond // lets the queue drain
	n := max(int(trainsTime/spacing), slowTrains)
	n = min(n, max(trainsBytes/(packets*size), fewestTrains), mostTrains)
	trains, err := run(ctx, n, packets, spacing)
	if err != nil {
		return Capacity{}, err
	}
	return estimate(trains), nil
}

// pilot finds how many packets a train needs for the target dispersion. It also
// lengthens trains whose beginning was faster than their end, until the end no
// longer gets slower: they began in the burst of a token bucket.
func pilot(ctx context.Context, run runner, size, first int) (packets int, rate unit.Rate, err error) {
	limit := min(maxTrainPackets, maxTrainBytes/size)
	packets = min(first, limit)
	silent := 0
	for range mostPilots {
		trains, err := run(ctx, 1, packets, 0)
		if err != nil {
			return 0, 0, err
		}
		if len(trains) == 0 || trains[0].Received < 2 { // one packet is no train
			if silent++; silent == 3 {
				return 0, 0, nil
			}
			continue
		}
		t, before := trains[0], rate
		if t.Overflow > 0 && packets > minPackets { // the receiver did not keep up
			limit = max(packets/2, minPackets)
			packets = limit
			continue
		}
		rate = t.rate()
		if rate == 0 && t.Last-t.First >= targetDispersion {
			rate = t.least() // most were lost: of a longer train, too
		}
		next := 4 * packets // all came in a few batches: too short to tell
		if rate > 0 {
			next = max(lengthFor(rate, size), min(packets, int(rate.BytesIn(longEnough))/size))
			steady := t.Early.Rate() <= rate*5/4 && t.Early.Time > 0
			fell := rate < before*4/5
			switch {
			case !steady && (before == 0 || rate < before*0.95):
				next = max(next, 2*packets)
			case !steady || fell:
				next = max(next, packets)
			}
		}
		next = min(max(next, minPackets), limit)
		if rate > 0 && next <= packets+packets/4 || next == packets {
			return next, rate, nil
		}
		packets = next
	}
	return packets, rate, nil
}

// lengthFor is the number of packets whose last three quarters take the target
// dispersion.
func lengthFor(rate unit.Rate, size int) int {
	return int(math.Ceil(float64(rate.BytesIn(targetDispersion)) / float64(size) * 4 / 3))
}

// estimate is the median of the trains with its 95 % interval. Lost packets
// took no time at the bottleneck if its queue dropped them, and are left out of
// the rates; trains that the receiver's own socket cut into are left out
// entirely.
func estimate(trains []measured) Capacity {
	var rates, paces []unit.Rate
	var passed []unit.Size // of trains that were cut
	var fastest unit.Rate
	var sent, received int
	for _, t := range trains {
		if t.Overflow > 0 || t.Received < 2 {
			continue
		}
		sent, received = sent+t.Sent, received+t.Received
		if t.Received <= t.Sent*9/10 {
			passed = append(passed, unit.Size(t.Bytes))
		}
		fastest = max(fastest, t.least())
		if t.rate() > 0 {
			rates, paces = append(rates, t.rate()), append(paces, t.pace())
		}
	}
	var notes []string
	lost := 0.0
	if sent > 0 {
		lost = max(0, 1-float64(received)/float64(sent))
	}
	if lost > notableLoss {
		notes = append(notes, fmt.Sprintf("%.0f %% of the train packets were lost: a shallow queue or a policer", 100*lost))
	}
	var burst unit.Size
	if len(passed) > len(trains)/2 {
		slices.Sort(passed)
		burst = passed[len(passed)/2]
	}
	if len(rates) < slowTrains { // they came all at once, or hardly at all
		return Capacity{Rate: fastest, Low: fastest, Lost: lost, Burst: burst, Method: methodLimited, Note: strings.Join(notes, "; ")}
	}
	c := Capacity{Rate: median(rates), Lost: lost, Burst: burst, Method: methodTrains}
	out := medianRank(len(rates))
	c.Low, c.High = rates[out], rates[len(rates)-1-out]
	switch {
	case c.Rate > median(paces)*senderShare:
		c.High, c.Method = 0, methodLimited
	case c.High > c.Rate*disagreement:
		c.High = 0
		notes = append(notes, "the trains disagree: at least this much")
	}
	c.Note = strings.Join(notes, "; ")
	return c
}

// pace is the rate at which the train was sent.
func (m measured) pace() unit.Rate {
	return unit.RateOf(m.Bytes/int64(m.Received)*int64(m.Sent), max(m.busy, 1))
}

// median sorts the rates, of which there is at least one.
func median(rates []unit.Rate) unit.Rate {
	slices.Sort(rates)
	return (rates[(len(rates)-1)/2] + rates[len(rates)/2]) / 2
}

// medianRank is how many of n sorted values to leave out at each side so that
// the rest encloses the median of their distribution with 95 % confidence
// (sign test: at most k of n values lie below the median with the binomial
// probability of k). Below six values, none can be left out.
func medianRank(n int) int {
	p := math.Pow(0.5, float64(n)) // of no value below the median
	sum := 0.0
	for k := 0; ; k++ {
		if sum += p; sum > 0.025 {
			return max(0, k-1)
		}
		p *= float64(n-k) / float64(k+1)
	}
}

// assumed is the capacity where nothing was measured. A network card that is
// slower than the assumption caps it.
func assumed(link unit.Rate, why string) Capacity {
	c := Capacity{Rate: AssumedRate, Assumed: true, High: link, Method: methodAssumed, Note: why}
	if link > 0 {
		c.Rate = min(c.Rate, link)
	}
	return c
}
