package diagnose

import (
	"fmt"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/unit"
)

// hystart counters show that CUBIC left slow start early (TcpExt).
var hystart = []string{"TcpExt.TCPHystartTrainDetect", "TcpExt.TCPHystartDelayDetect"}

// shortTransfer: windows were still opening when it ended; or CUBIC left slow
// start early and grows too slowly for a long fat path.
func shortTransfer(v *view) *Finding {
	limit, known := v.pathLimit()
	growing := v.growing(congestionWindow) || v.growing(window)
	climbing := v.climb() > rise
	slow := v.cwndFull() > 0.5 && known && !v.queued(v.rtt) // and nothing is lost, see held
	opening := slow || growing && climbing
	held := v.loss.packets > 0 || v.sndbuf > 0.5 || v.rwnd > 0.5 && !growing
	if !opening || held || v.atCapacity() {
		return nil
	}
	says := fmt.Sprintf("Nothing held the transfer back but time: its window was still opening when it ended, and the last quarter carried %.2g times as much as the one before. %v is an average over that climb, not what the path can do.",
		v.climb(), v.goodput)
	if !climbing {
		says = fmt.Sprintf("Nothing held the transfer back but its congestion window, which is used up and opens too slowly, although nothing is lost and nothing queues. %v is what that window makes, not what the path can do.", v.goodput)
	}
	early := 0.0
	for _, name := range hystart {
		early += float64(v.end(sender).Counters[name])
	}
	f := &Finding{
		Cause:      ShortTransfer,
		Confidence: confidence(count(climbing, growing, slow), count(!climbing)),
		Says:       says,
		Action:     "measure longer; if it stays so, a congestion control that finds the rate sooner, such as bbr",
		weight:     max(v.cwndFull(), 0.5),
	}
	f.addGoodput(v)
	f.addRTT(v)
	f.Add("climb", v.climb(), "x", "the last quarter carried %.2g times as much as the one before", v.climb())
	cwnd := unit.Size(sum(v.senders, func(f flow) float64 { return f.median(congestionWindow) }))
	f.Add("congestion_window", float64(cwnd), "B", "congestion window: %v", cwnd)
	f.AddShare("cwnd_full", v.cwndFull(), "of the time the congestion window was used up")
	if known {
		f.addPath(limit, "the path can carry %v, which needs %v in flight", limit, limit.BytesIn(v.rtt))
	}
	if early > 0 {
		f.Add("hystart_exits", early, "", "%s left slow start early (HyStart)", v.congestion())
	}
	return v.predict(f, v.receiverLimit(), v.senderLimit())
}

func congestionWindow(s *bulk.Sample) float64 { return float64(s.TCP.SndCwnd) * float64(s.TCP.SndMSS) }

// climb is how much more the last quarter of the measured time carried than the
// quarter before it.
func (v *view) climb() float64 {
	before, after := 0.0, 0.0
	for _, f := range v.senders {
		n := len(f.measured)
		if n < 8 {
			return 1
		}
		half, late, last := &f.measured[n/2], &f.measured[n*3/4], f.last()
		before += ratio(float64(late.TCP.BytesAcked)-float64(half.TCP.BytesAcked), (late.At - half.At).Seconds())
		after += ratio(float64(last.TCP.BytesAcked)-float64(late.TCP.BytesAcked), (last.At - late.At).Seconds())
	}
	if before <= 0 {
		return 1
	}
	return after / before
}
