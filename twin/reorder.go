package twin

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// held is what a transfer shows of packets that were overtaken.
type held struct {
	seen     float64 // packets that TCP saw come late
	needless float64 // packets that it sent again although they were only late
	sent     float64
	distance float64 // packets by which they were late, at most
	rate     float64 // bits a second at which packets came
}

// overtaken counts what TCP saw out of order, and what it sent again although it had only
// been late: over the transfers with the kind of congestion control that was found, as
// BBR's, which repair less by acknowledgement, see less of it. Of these, only those in
// which next to nothing can have been seen both ways, if they say more. The others count
// for how late packets were: those that fill the path see the most packets overtake.
func (s *seen) overtaken() (counted held, each []held) {
	var clear held
	for _, m := range s.moved {
		h := held{}
		for i := range m.senders {
			samples := m.senders[i].Samples
			h.seen += float64(bulk.Grown(samples, func(t *bulk.TCPInfo) uint32 { return t.ReordSeen }))
			h.needless += float64(bulk.Grown(samples, func(t *bulk.TCPInfo) uint32 { return t.DsackDups }))
			for j := range samples {
				h.distance = max(h.distance, float64(samples[j].TCP.Reordering))
			}
		}
		first, last := m.steps[0], m.steps[len(m.steps)-1]
		bytes, _ := m.packet()
		for _, step := range m.steps {
			h.sent += step.sent
			h.rate += step.delivered * bytes * 8
		}
		h.rate /= (last.to - first.from).Seconds() * float64(len(m.senders))
		each = append(each, h)
		if m.gentle() == s.moved[0].gentle() && m.Spec.Pace == 0 && m.Spec.MSS == 0 {
			counted.add(h)
			if h.unsure() < sureEnough {
				clear.add(h)
			}
		}
	}
	if late, _, _ := clear.late(); late >= fewLate && clear.unsure()+1/math.Sqrt(late) < counted.unsure() {
		return clear, each
	}
	return counted, each
}

func (h *held) add(o held) {
	h.seen, h.needless, h.sent = h.seen+o.seen, h.needless+o.needless, h.sent+o.sent
}

// late is how many packets were late. Those sent again needlessly are seen as late, too,
// if the first one was acknowledged by SACK in between (tcp_sacktag_one,
// net/ipv4/tcp_input.c): it lies between the larger count and the sum of both.
func (h held) late() (typical, least, most float64) {
	least, most = max(h.seen, h.needless), h.seen+h.needless
	return (least + most) / 2, least, most
}

// unsure is half the width of what late gives, as a share of its middle.
func (h held) unsure() float64 {
	late, least, most := h.late()
	if late == 0 {
		return 0
	}
	return (most - least) / 2 / late
}

const (
	// sureEnough is how far a transfer's count may be off for what was seen both ways: less
	// than chance makes of fewLate packets.
	sureEnough = 0.1
	// fewLate are too few to speak of reordering.
	fewLate = 10
	// tooMany times the kernel's bound of what it takes for reordering (300 packets,
	// net.ipv4.tcp_max_reordering) a distance says only that there were more.
	tooMany = 290
)

// reorder: a share of the packets of the data's way is held back, by a time.
func (b *builder) reorder(name string) {
	c, each := b.overtaken()
	late, fewest, most := c.late()
	if late < fewLate || late < c.sent*1e-4 {
		if c.sent > 0 {
			_, most := counted(most)
			b.leave(Key{How: AtMost, High: unit.Percent(most / c.sent), Why: fmt.Sprintf("%.0f of %.0f segments came late or twice", late, c.sent)}, "path", name, "reorder")
		}
		return
	}
	by, soonest, latest, how := b.lateBy(each)
	if by <= 0 {
		return
	}
	low, _ := counted(fewest)
	_, high := counted(most)
	b.set(Key{
		How: Inferred, Low: unit.Percent(low / c.sent), High: unit.Percent(high / c.sent),
		Why: fmt.Sprintf("%.0f of %.0f segments came late; by %s to %s, %s", late, c.sent, unit.Milliseconds(soonest), unit.Milliseconds(latest), how),
	}, fmt.Sprintf("{share: %s, by: %s}", share(late/c.sent), span(by)), "path", name, "reorder")
}

// lateBy is by how much late packets are late. As many packets overtake one as come in
// that time: at the link's rate where a transfer fills it; otherwise at that rate at
// most, and at the transfer's own in the mean. A handshake of the probe that was held
// back says it directly.
func (s *seen) lateBy(each []held) (by, least, most time.Duration, how string) {
	low, high, full := 0.0, math.Inf(1), []float64{}
	bytes, _ := s.moved[0].packet()
	link := float64(s.rates[0].rate)
	for _, h := range each {
		if late, _, _ := h.late(); h.distance < 4 || late < fewLate || h.rate <= 0 { // 3 is where TCP begins
			continue
		}
		atLink := h.distance * bytes * 8 / link
		switch {
		case h.distance >= tooMany: // there may have been more
			low = max(low, min(atLink, tooMany*bytes*8/link))
		case h.rate >= keepsUp*link:
			full = append(full, atLink)
		default:
			low, high = max(low, atLink), min(high, h.distance*bytes*8/h.rate)
		}
	}
	how = "as many packets overtook them"
	switch {
	case len(full) > 0: // each is the most that was ever seen, and chance only adds to it
		by, least, most = seconds(slices.Min(full)), seconds(0.85*slices.Min(full)), seconds(slices.Max(full))
	case low == 0:
		return 0, 0, 0, ""
	default:
		high = max(high, low)
		if math.IsInf(high, 1) {
			high = 2 * low
		}
		by, least, most = seconds(math.Sqrt(low*high)), seconds(low), seconds(high)
	}
	if late := s.rtt.Max - s.rtt.Min; s.rtt.Count > 0 && late > 0 && float64(late) > 0.8*float64(least) && float64(late) < 1.5*float64(most) {
		return late, least, most, "as a handshake of the probe was"
	}
	return by, least, most, how
}

func seconds(v float64) time.Duration {
	return time.Duration(clamp(v, 0, 10) * float64(time.Second))
}
