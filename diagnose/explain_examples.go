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
	"heavyLoss":    func() float64 { return heavyLoss },
	"bloat":        func() string { return unit.Milliseconds(bloat) },
	"confidence":   confidence,

	// Windows and buffers.
	"receiverWindow": with1(size, ReceiverWindow),
	"receiverBuffer": with1(size, func(window unit.Size) unit.Size { return unit.Size(float64(window) / ReceiverShare) }),
	"senderWindow":   with1(size, SenderWindow),
	"senderBuffer":   with1(size, func(window unit.Size) unit.Size { return unit.Size(float64(window) / SenderShare) }),
	"largestWindow":  largestWindow,
	"windowRate":     with2(size, span, WindowRate),
	"bdp":            with2(rate, span, unit.Rate.BytesIn),

	// Links: payload of packets on a link whose rate counts IP packets (as
	// capacities do), or bits on an Ethernet cable.
	"payload":  with2(rate, number, func(r unit.Rate, mtu float64) unit.Rate { return framed(r, mtu, 0) }),
	"ethernet": with2(rate, number, func(r unit.Rate, mtu float64) unit.Rate { return framed(r, mtu, 38) }),
	"packets":  with2(rate, number, func(r unit.Rate, bytes float64) string { return thousands(float64(r) / 8 / bytes) }),
	"takes":    with2(size, rate, func(n unit.Size, r unit.Rate) string { return duration(float64(n) * 8 / float64(r)) }),
	"inTurn":   with2(rate, rate, func(a, b unit.Rate) unit.Rate { return 1 / (1/a + 1/b) }),
	"ackRate":  with1(rate, func(r unit.Rate) unit.Rate { return r * 52 / (2 * 1448) }), // one of 52 bytes for two segments
	"ackLimit": with1(rate, func(back unit.Rate) unit.Rate { return back * 2 * 1448 / 52 }),

	// Loss.
	"cubic": with3(number, span, number, func(p float64, rtt time.Duration, mss float64) unit.Rate {
		return lossModel("cubic", p, rtt, mss)
	}),
	"reno": with3(number, span, number, func(p float64, rtt time.Duration, mss float64) unit.Rate {
		return lossModel("reno", p, rtt, mss)
	}),
	"runLength": with2(rate, span, func(r unit.Rate, rtt time.Duration) string { return thousands(3 * math.Pow(segments(r, rtt), 2)) }), // RFC 8337
	"frameLoss": with2(number, number, func(bitErrors, bytes float64) float64 { return 1 - math.Pow(1-bitErrors, 8*bytes) }),
	"collided":  with1(number, func(framesBack float64) float64 { return 1 - math.Exp(-framesBack) }), // while one frame is on its way

	// Queues: what keeps a link busy when a loss leaves this part of the window.
	"queue": with3(size, number, number, func(bdp unit.Size, left, flows float64) unit.Size {
		return unit.Size(float64(bdp) * (1/left - 1) / math.Sqrt(flows))
	}),
	"queueRTT": with3(size, rate, number, func(queue unit.Size, r unit.Rate, left float64) string {
		return duration(float64(queue) * 8 / float64(r) / (1/left - 1))
	}),

	// Slow start and CUBIC's climb from this part of the path's window (RFC 9438, equation 2).
	"slowStart":     with2(rate, span, slowStart),
	"slowStartTime": with2(rate, span, func(r unit.Rate, rtt time.Duration) string { return duration(slowStart(r, rtt) * rtt.Seconds()) }),
	"climb": with3(rate, span, number, func(r unit.Rate, rtt time.Duration, from float64) string {
		return duration(math.Cbrt(segments(r, rtt) * (1 - from) / 0.4))
	}),

	// Hosts.
	"cpuRate": with2(number, number, func(cores, secondsPerGB float64) unit.Rate { return unit.Rate(cores / secondsPerGB * 8e9) }),
	"pages":   with1(number, func(n float64) unit.Size { return unit.Size(n * 4096) }),
	"sockets": with2(number, size, func(pages float64, buffer unit.Size) string {
		return thousands(math.Floor(pages * 4096 / float64(buffer)))
	}),

	// Forms.
	"times":   with2(rate, number, func(r unit.Rate, by float64) unit.Rate { return r * unit.Rate(by) }),
	"share":   with2(rate, rate, func(part, whole unit.Rate) float64 { return float64(part / whole) }),
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
