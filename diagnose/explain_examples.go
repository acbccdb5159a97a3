package diagnose

import (
	"fmt"
	"math"
	"text/template"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// examples is what explanations compute their numbers with. Where diagnosis has
// a model, its own function is used: text and verdict cannot part. Rates, sizes
// and times are written as people do: "1gbit", "6MiB", "150ms".
var examples = template.FuncMap{
	"healthyShare": func() float64 { return healthyShare },
	"falls":        func() float64 { return falls },
	"smallShare":   func() float64 { return smallShare },
	"doubtful":     func() float64 { return Doubtful },
	"saturated":    func() float64 { return saturated },
	"untried":      func() float64 { return untried },
	"heavyLoss":    func() float64 { return heavyLoss },
	"bloat":        func() string { return unit.Milliseconds(bloat) },
	"confidence":   confidence,

	// Windows and buffers.
	"receiverWindow": func(buffer any) unit.Size { return ReceiverWindow(size(buffer)) },
	"receiverBuffer": func(window any) unit.Size { return unit.Size(float64(size(window)) / ReceiverShare) },
	"senderWindow":   func(buffer any) unit.Size { return SenderWindow(size(buffer)) },
	"senderBuffer":   func(window any) unit.Size { return unit.Size(float64(size(window)) / SenderShare) },
	"largestWindow":  largestWindow,
	"windowRate":     func(window, rtt any) unit.Rate { return WindowRate(size(window), span(rtt)) },
	"bdp":            func(r, rtt any) unit.Size { return rate(r).BytesIn(span(rtt)) },

	// Links: payload of packets on a link whose rate counts IP packets (as
	// capacities do), or bits on an Ethernet cable.
	"payload":  func(r, mtu any) unit.Rate { return framed(rate(r), number(mtu), 0) },
	"ethernet": func(r, mtu any) unit.Rate { return framed(rate(r), number(mtu), 38) },
	"packets":  func(r, bytes any) string { return thousands(float64(rate(r)) / 8 / number(bytes)) },
	"takes":    func(n, r any) string { return duration(float64(size(n)) * 8 / float64(rate(r))) },
	"inTurn":   func(a, b any) unit.Rate { return 1 / (1/rate(a) + 1/rate(b)) },
	"ackRate":  func(r any) unit.Rate { return rate(r) * ackPacket / (2 * 1448) }, // one for two segments
	"ackLimit": func(back any) unit.Rate { return rate(back) * 2 * 1448 / ackPacket },

	// Loss.
	"cubic": func(p, rtt, mss any) unit.Rate { return lossModel("cubic", number(p), span(rtt), number(mss)) },
	"reno":  func(p, rtt, mss any) unit.Rate { return lossModel("reno", number(p), span(rtt), number(mss)) },
	"runLength": func(r, rtt any) string { // RFC 8337
		return thousands(3 * math.Pow(segments(rate(r), span(rtt)), 2))
	},
	"frameLoss": func(bitErrors, bytes any) float64 { return 1 - math.Pow(1-number(bitErrors), 8*number(bytes)) },
	"collided":  func(framesBack any) float64 { return 1 - math.Exp(-number(framesBack)) }, // while one frame is on its way

	// Queues: what keeps a link busy when a loss leaves this part of the window.
	"queue": func(bdp, left, flows any) unit.Size {
		return unit.Size(float64(size(bdp)) * (1/number(left) - 1) / math.Sqrt(number(flows)))
	},
	"queueRTT": func(queue, r, left any) string {
		return duration(float64(size(queue)) * 8 / float64(rate(r)) / (1/number(left) - 1))
	},

	// Slow start and CUBIC's climb from this part of the path's window (RFC 9438, equation 2).
	"slowStart":     func(r, rtt any) float64 { return slowStart(rate(r), span(rtt)) },
	"slowStartTime": func(r, rtt any) string { return duration(slowStart(rate(r), span(rtt)) * span(rtt).Seconds()) },
	"climb": func(r, rtt, from any) string {
		return duration(math.Cbrt(segments(rate(r), span(rtt)) * (1 - number(from)) / 0.4))
	},

	// Hosts.
	"cpuRate": func(cores, secondsPerGB any) unit.Rate { return unit.Rate(number(cores) / number(secondsPerGB) * 8e9) },
	"pages":   func(n any) unit.Size { return unit.Size(number(n) * 4096) },
	"sockets": func(pages, buffer any) string {
		return thousands(math.Floor(number(pages) * 4096 / float64(size(buffer))))
	},

	// Forms.
	"times":   func(r, by any) unit.Rate { return rate(r) * unit.Rate(number(by)) },
	"share":   func(part, whole any) float64 { return float64(rate(part) / rate(whole)) },
	"percent": func(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) },
	"oneIn":   func(p float64) string { return thousands(1 / p) },
}

// framed is the payload that a rate carries in packets of so many bytes, each
// with headers of 52 bytes (IPv4, TCP, timestamps) in it and more around it.
func framed(r unit.Rate, mtu, around float64) unit.Rate {
	return r * unit.Rate((mtu-52)/(mtu+around))
}

// segments of 1448 bytes that a path holds.
func segments(r unit.Rate, rtt time.Duration) float64 { return float64(r.BytesIn(rtt)) / 1448 }

// slowStart is how many round trips it takes from ten segments (RFC 6928).
func slowStart(r unit.Rate, rtt time.Duration) float64 { return math.Log2(segments(r, rtt) / 10) }

func lossModel(congestion string, p float64, rtt time.Duration, mss float64) unit.Rate {
	return unit.Rate(LossWindow(congestion, p, rtt) * mss * 8 / rtt.Seconds())
}
