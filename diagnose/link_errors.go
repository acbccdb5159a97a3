package diagnose

import (
	"fmt"
	"strings"

	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// damage is what came in broken over the whole transfer, in packets.
type damage struct {
	frames   float64  // of data, thrown away by the receiver's interface
	segments float64  // of data, whose frames were whole, thrown away by the receiver's TCP
	answers  float64  // of what comes back, both together, at the sender
	flaps    float64  // times a link went down or came up
	where    []string // the interfaces
}

func (v *view) damage() damage {
	var d damage
	for _, at := range []side{receiver, sender} {
		for _, l := range v.used(at) {
			broken := float64(l.Damaged())
			if broken+float64(l.CarrierChanges) > 0 {
				d.where = append(d.where, fmt.Sprintf("%s of the %s", printable.Line(l.Name), at))
			}
			d.flaps += float64(l.CarrierChanges)
			if at == sender {
				d.answers += broken
			} else {
				d.frames = max(d.frames, broken) // an interface and what is stacked upon it may both count
			}
		}
	}
	d.segments = float64(max(0, v.end(receiver).Counters["Tcp.InCsumErrors"]))
	d.answers += float64(max(0, v.end(sender).Counters["Tcp.InCsumErrors"]))
	return d
}

// lost is the data that was thrown away.
func (d damage) lost() float64 { return d.frames + d.segments }

// explains is the share of loss events, over the whole transfer, that damaged
// data accounts for. A congestion control reacts once to all that is lost in one
// round trip, so that there may be more damaged packets than events.
func (d damage) explains(v *view) float64 {
	events, _ := v.lossEver()
	return min(1, ratio(d.lost(), events))
}

// linkErrors: packets come in damaged, and that is what the sender takes for
// congestion. Damage that Ethernet's checksum sees arises on a cable or in a
// transceiver, other damage inside a device on the way (Stone and Partridge,
// "When the CRC and TCP checksum disagree", SIGCOMM 2000).
func linkErrors(v *view) *Finding {
	d := v.damage()
	if d.lost()+d.flaps == 0 || !v.lostEver() {
		return nil
	}
	share := d.explains(v)
	explains := share >= 0.5 || d.flaps > 0
	model := v.lossRate()
	off := ratio(float64(model), float64(v.goodput))
	f := &Finding{
		Cause: LinkErrors,
		Confidence: confidence(
			count(explains, d.lost() >= 3, explains && off > 1.0/3 && off < 3, explains && v.surelyShort()),
			3*count(!explains)),
		Says: fmt.Sprintf("%s %s brings %v in spite of it, on a round trip of %s.",
			d.says(share), v.congestion(), v.goodput, unit.Milliseconds(v.rtt)),
		Action: d.action(),
		weight: v.network(),
	}
	f.addGoodput(v)
	f.addRTT(v)
	if d.frames > 0 {
		f.Add("damaged_frames", d.frames, "packets", "%.0f frames were thrown away by the receiver's interface (CRC, alignment, symbol errors)", d.frames)
	}
	if d.segments > 0 {
		f.Add("checksum_errors", d.segments, "packets", "%.0f segments were thrown away by the receiver's TCP for a wrong checksum", d.segments)
	}
	if d.answers > 0 {
		f.Add("damaged_answers", d.answers, "packets", "%.0f packets of what comes back arrived damaged at the sender", d.answers)
	}
	if d.flaps > 0 {
		f.Add("carrier_changes", d.flaps, "", "the link went down or came up %.0f times", d.flaps)
	}
	f.AddShare("explained", share, "of the losses are damaged packets")
	f.AddShare("retransmitted", v.loss.share, "of all bytes were sent again")
	if !explains || !v.short(v.goodput) {
		f.Gain, f.Predicted = 1, v.goodput
		return f
	}
	return v.predict(f, v.receiverLimit(), v.senderLimit())
}

func (d damage) says(share float64) string {
	if d.flaps > 0 {
		return fmt.Sprintf("The link at %s went down or came up %.0f times, and what was in flight is lost.", strings.Join(d.where, " and "), d.flaps)
	}
	return fmt.Sprintf("Data arrives damaged: the receiver threw %.0f packets away, which accounts for %.3g %% of the losses.", d.lost(), 100*share)
}

func (d damage) action() string {
	if len(d.where) > 0 {
		return "replace the cable or transceiver, or clean the fibre, at " + strings.Join(d.where, " and ") +
			"; the errors of the other end of that cable are in the counters of the switch"
	}
	return "find the device that damages packets, since the frames came whole over the last link: read the error counters of switches and routers on the way, and try the NICs with their checksum offload off (ethtool -K, rx off tx off)"
}
