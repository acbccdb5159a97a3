package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// fastEthernet is the highest speed at which one side can be half duplex and the
// other full: 1000BASE-T always negotiates, and almost nothing is half duplex.
const fastEthernet = 100 // Mb/s

// duplexMismatch: one side of a link waits for silence and sends again after a
// collision, the other sends whenever it has something. So long as packets go one
// way only, all is well; under load, what the full side sends collides with what
// the half side does (Shalunov and Carlson, "Detecting Duplex Mismatch on
// Ethernet", PAM 2005). The half side counts late collisions, the full one
// damaged frames, which the other's collisions cut off.
func duplexMismatch(v *view) *Finding {
	worst := mismatch{}
	for _, at := range bothSides {
		for _, l := range v.used(at) {
			if m := v.mismatch(at, l); m.signs > worst.signs {
				worst = m
			}
		}
	}
	collapsed := v.short(v.goodput) && v.loss.share > heavyLoss
	if worst.signs == 0 || worst.signs == 1 && !collapsed {
		return v.perhapsMismatch()
	}
	f := &Finding{
		Cause:      DuplexMismatch,
		Confidence: confidence(worst.signs-1+count(collapsed), 0),
		Says: fmt.Sprintf("One side of the link at %s is half duplex, the other full: %s. What both send at once is lost, %s here, and %v is left.",
			worst.where, worst.why, percent(v.loss.share), v.goodput),
		Action: "set both sides of that link, the host's and the switch's, to negotiate; or both to the same fixed speed and to full duplex (ethtool -s, duplex full autoneg on)",
		weight: v.network(),
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.AddShare("retransmitted", v.loss.share, "of all bytes were sent again")
	worst.facts(f)
	if !v.short(v.goodput) {
		f.Gain, f.Predicted = 1, v.goodput
		return f
	}
	speed := limit{unit.Rate(float64(worst.device.Speed)*v.payloadShare()) * unit.Mbps, "the speed of that link"}
	if worst.device.Speed == 0 {
		speed.rate = unit.Rate(fastEthernet*v.payloadShare()) * unit.Mbps
	}
	return v.predict(f, speed, v.receiverLimit(), v.senderLimit())
}

// heavyLoss is the share of bytes sent again that no healthy Ethernet comes near.
// NDT asked for more than two retransmissions a second and a timeout (web100
// heuristics.c), which depends on the rate.
const heavyLoss = 0.005

// mismatch is what one interface shows.
type mismatch struct {
	device host.Interface // as its host describes it; empty if it does not
	link   host.LinkDelta
	where  string
	why    string
	signs  int // that agree
}

func (v *view) mismatch(at side, l host.LinkDelta) mismatch {
	m := mismatch{link: l, where: fmt.Sprintf("%s of the %s", printable.Line(l.Name), at)}
	m.device, _ = v.device(at, l.Name)
	slow := m.device.Speed > 0 && m.device.Speed <= fastEthernet
	half := m.device.Duplex == "half"
	// A bad cable damages frames as well, but does not leave pieces of them.
	fixed := slow && m.device.Duplex == "full" && m.device.Autoneg == "off" && l.Damaged() > 0 && l.Frame+l.Length > 0
	switch {
	case l.LateCollisions > 0:
		m.why = fmt.Sprintf("it counted %d late collisions, which the half-duplex side sees of a partner that does not wait", l.LateCollisions)
	case half:
		m.why = fmt.Sprintf("it runs at %d Mb/s half duplex", m.device.Speed)
	case fixed:
		m.why = fmt.Sprintf("it is fixed at %d Mb/s full duplex, so that a partner that negotiates takes half, and %d frames came in cut off", m.device.Speed, l.Damaged())
	}
	m.signs = 2*count(l.LateCollisions > 0) + count(half, fixed, fixed && l.Damaged() >= 3, half && l.Aborted > 0)
	return m
}

func (m mismatch) facts(f *Finding) {
	f.Add("late_collisions", float64(m.link.LateCollisions), "", "%d late collisions", m.link.LateCollisions)
	f.Add("damaged_frames", float64(m.link.Damaged()), "packets", "%d frames came in damaged or cut off", m.link.Damaged())
	if m.device.Speed > 0 {
		negotiation := map[string]string{"on": ", negotiated", "off": ", fixed"}[m.device.Autoneg]
		f.Add("speed", float64(m.device.Speed), "Mb/s", "%s: %d Mb/s %s duplex%s", m.where, m.device.Speed, printable.Line(m.device.Duplex), negotiation)
	}
}

// perhapsMismatch is a hint where only the symptoms fit: on a path as fast as
// Fast Ethernet a flow collapses with heavy loss and no queue, and one host does
// not report its interfaces. Other causes look the same.
func (v *view) perhapsMismatch() *Finding {
	hidden := v.SenderHost == nil || v.ReceiverHost == nil || len(v.used(sender)) == 0 || len(v.used(receiver)) == 0
	c, known := v.capacity()
	class := known && (within(c.Rate, 10*unit.Mbps) || within(c.Rate, 100*unit.Mbps))
	if !hidden || !class || v.loss.share < 2*heavyLoss || v.goodput > c.Rate/3 || v.queued(v.loss.rttAt) {
		return nil
	}
	f := &Finding{
		Cause:      DuplexMismatch,
		Confidence: 0.25,
		Says: fmt.Sprintf("The path carries %v but this transfer only %v, with %s sent again and no queue, as on a link with one side at half duplex. One host does not report its interfaces, and other faults look the same.",
			c.Rate, v.goodput, percent(v.loss.share)),
		Action: "compare speed and duplex of both sides of each link (ethtool, the switch's interface status); late collisions or damaged frames prove it",
		weight: v.network(),
	}
	f.addGoodput(v)
	f.Add("capacity", float64(c.Rate), "b/s", "narrowest link: %v", c.Rate)
	f.AddShare("retransmitted", v.loss.share, "of all bytes were sent again")
	return v.predict(f, v.receiverLimit(), v.senderLimit())
}

// within says whether a measured rate is that of a kind of link: probes of full
// packets see 1500 bytes of each 1538 on Ethernet.
func within(rate, link unit.Rate) bool {
	return float64(rate) > 0.9*float64(link) && float64(rate) < 1.05*float64(link)
}
