package diagnose

import "fmt"

// reordering: packets overtake each other, far more often than they are lost,
// and the congestion window is kept small all the same.
func reordering(v *view) *Finding {
	seen := v.reordered()
	events, _ := v.lossEver()
	spurious := v.spurious()
	if !v.short(v.goodput) || !v.networkHeld() || IsBBR(v.congestion()) || v.queued(v.loss.rttAt) {
		return nil
	}
	// A few are nothing, and a retransmission is out of order itself. Where packets
	// are lost as well, only reactions to loss that proved wrong count against the
	// reordering.
	often := seen >= 5 && seen >= 5*events && spurious >= events/3
	// More than was sent again at all are packets that the path duplicates.
	wrong := events >= 3 && spurious >= events/2 && spurious <= 2*v.resentEver()
	if !often && !wrong {
		return nil
	}
	f := &Finding{
		Cause:      Reordering,
		Confidence: confidence(1+count(often, wrong, spurious >= events, v.distance() > 10), 0),
		Says: fmt.Sprintf("Packets overtake each other: %.0f times in this transfer, by up to %.0f packets. The sender takes some of that for loss, sends again what had not been lost, and slows down.",
			seen, v.distance()),
		Action: "look for load balancing by packet or a link that repairs frames out of order; at the sender bbr is barely slowed by it, and a recent kernel (RACK, from 4.18 on) is slowed less",
		weight: 1,
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.Add("reordered", seen, "", "packets were seen out of order %.0f times", seen)
	f.Add("reordering_distance", v.distance(), "packets", "by up to %.0f packets", v.distance())
	f.Add("loss_events", events, "", "%.0f times the sender slowed down for loss", events)
	f.Add("spurious", spurious, "", "%.0f retransmissions turned out to be unnecessary (reported as duplicates, or undone)", spurious)
	f.addTrials(v, TrialCongestion, TrialPaced)
	return v.predict(f, v.receiverLimit(), v.senderLimit())
}

// reordered is how often the sender saw packets out of order, since its
// connections were opened.
func (v *view) reordered() float64 {
	return sum(v.senders, func(f flow) float64 {
		if len(f.measured) == 0 {
			return 0
		}
		return float64(f.last().TCP.ReordSeen)
	})
}

// distance is by how many packets, at most.
func (v *view) distance() float64 {
	most := 0.0
	for _, f := range v.senders {
		if len(f.measured) > 0 {
			most = max(most, float64(f.last().TCP.Reordering))
		}
	}
	return most
}

// spurious counts what proved to have been no loss, since the connections were
// opened: window reductions that the sender took back (Eifel and DSACK undo), and
// segments that the receiver got twice.
func (v *view) spurious() float64 {
	total := 0.0
	for _, name := range []string{"TcpExt.TCPFullUndo", "TcpExt.TCPPartialUndo", "TcpExt.TCPDSACKUndo", "TcpExt.TCPLossUndo", "TcpExt.TCPDSACKRecv"} {
		total += float64(max(0, v.end(sender).Counters[name]))
	}
	return total
}
