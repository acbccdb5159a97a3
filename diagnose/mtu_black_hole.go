package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/printable"
	"github.com/fullbore/fullbore/unit"
)

// mtuBlackHole: small packets pass, and those as large as the link allows
// are lost without an ICMP error. TCP connects, and then stalls.
func mtuBlackHole(v *view) *Finding {
	d := v.direction()
	if d == nil || !d.MTU.BlackHole || d.MTU.Bytes == 0 || d.MTU.Link <= d.MTU.Bytes {
		return nil
	}
	believed := v.believed()
	if believed > 0 && believed <= float64(d.MTU.Bytes) {
		return nil // TCP knows of the limit: no packet is too large
	}
	small := v.trial(TrialSegment)
	if !v.stalled() && (believed == 0 || small == nil) {
		return nil
	}
	f := &Finding{
		Cause:      MTUBlackHole,
		Confidence: confidence(2+count(small != nil, small != nil && small.goodput > 10*v.goodput), 0),
		Says: fmt.Sprintf("Packets of up to %d bytes pass, larger ones are lost, and no router reports it. TCP relies on the %d bytes of its own link, so a connection opens and then stalls.",
			d.MTU.Bytes, d.MTU.Link),
		Action: fmt.Sprintf("let ICMP \"fragmentation needed\" through the firewalls on the path; or set net.ipv4.tcp_mtu_probing to 1 on the sender; or lower its link's MTU to %d bytes, or the MSS to %d", d.MTU.Bytes, d.MTU.Bytes-ipv6Headers),
		Gain:   1,
		weight: 1,
	}
	f.addGoodput(v)
	f.Add("path_mtu", float64(d.MTU.Bytes), "B", "largest packet that passes: %d bytes (%s)", d.MTU.Bytes, printable.Line(d.MTU.Method))
	f.Add("link_mtu", float64(d.MTU.Link), "B", "MTU of the sender's link: %d bytes", d.MTU.Link)
	f.addTrials(v, TrialSegment)
	if small != nil {
		f.Predicted = small.goodput
		if limit, known := small.pathLimit(); known {
			f.Predicted = limit
		}
	}
	if f.Predicted <= v.goodput { // nothing is known of what small segments bring, or they bring no more
		f.Predicted = v.goodput
		return f
	}
	f.Gain = min(maxGain, float64(f.Predicted)/float64(v.goodput))
	return f
}

// maxGain is the largest gain that is written down: any factor is true of a
// transfer that stalled.
const maxGain = 10_000

// stalled says whether the sender was left waiting: almost nothing arrives (a
// retransmission timeout lets a packet go every 200 ms, later ever more rarely,
// RFC 6298), or most of what it sends it sends again.
func (v *view) stalled() bool {
	return v.goodput < 10*unit.Kbps || v.loss.share > 0.5
}
