package datagram

import (
	"math"
	"time"

	"github.com/fullbore/fullbore/bulk"
)

// arrival is a datagram that came.
type arrival struct {
	number int64
	size   int           // bytes of payload
	sent   time.Duration // by the sender's clock
	at     time.Duration // by this end's
}

// tally counts the datagrams of one flow by their numbers, as iperf3 does
// (iperf_udp_recv in its iperf_udp.c): a gap is lost at once, and a datagram
// whose number is not above the highest so far is out of order and takes one
// loss back, whether it is late or came twice. Of a sender, highest and bytes
// are what it sent.
type tally struct {
	bytes      int64
	highest    int64
	lost       int64
	outOfOrder int64
	malformed  int64

	jitter  float64       // seconds
	transit time.Duration // of the datagram before
	moving  bool          // there was one

	held *arrival // waits for another to bear it out
}

// A number may be anything, and one that was corrupted or forged must not count
// as millions of losses. One more than maxJump above the highest is therefore
// held back until the next datagram is near it (RFC 1889, appendix A.1, has the
// same rule), and one above what maxRate allows is not believed at all. After an
// outage that long, the first datagram counts when the second comes.
const (
	maxJump = 1 << 16     // 0.8 s of 1460 bytes each at 1 Gb/s
	maxRate = 150_000_000 // datagrams a second: the smallest ones at 100 Gb/s
)

// add counts a datagram that came when the flow had run for the given time.
func (t *tally) add(a arrival, running time.Duration) {
	switch {
	case a.number <= 0 || float64(a.number) > (running.Seconds()+1)*maxRate:
		t.malformed++
		return
	case a.number <= t.highest+maxJump:
	case t.held == nil || max(a.number-t.held.number, t.held.number-a.number) > maxJump:
		t.malformed++
		t.held = &a
		return
	default:
		t.malformed--
		t.count(*t.held)
	}
	t.held = nil
	t.count(a)
}

// count counts a datagram that is believed.
func (t *tally) count(a arrival) {
	t.bytes += int64(a.size)
	if a.number > t.highest {
		t.lost += a.number - t.highest - 1
		t.highest = a.number
	} else {
		t.outOfOrder++
		t.lost = max(0, t.lost-1)
	}

	// RFC 1889, section 6.3.1 and appendix A.8. The clocks need not agree: only
	// the change of the time under way counts.
	transit := a.at - a.sent
	if t.moving {
		t.jitter += (math.Abs((transit - t.transit).Seconds()) - t.jitter) / 16
	}
	t.transit, t.moving = transit, true
}

// restart begins the measured time: jitter starts anew.
func (t *tally) restart() { t.jitter, t.moving = 0, false }

// counts are the totals so far.
func (t *tally) counts() bulk.Counts {
	return bulk.Counts{Packets: t.highest, Lost: t.lost, OutOfOrder: t.outOfOrder}
}

// since is what came after the omitted ones. Datagrams that are late across
// that line may take back more losses than there were after it: those are then
// taken from the omitted ones, so that the sum stays what iperf3 counts.
func (t *tally) since(omitted bulk.Counts) bulk.Datagrams {
	omitted.Lost = min(omitted.Lost, t.lost)
	return bulk.Datagrams{
		Packets:    t.highest - omitted.Packets,
		Lost:       t.lost - omitted.Lost,
		OutOfOrder: t.outOfOrder - omitted.OutOfOrder,
		Jitter:     t.jitter,
		Malformed:  t.malformed,
		Omitted:    omitted,
	}
}
