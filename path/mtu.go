package path

import (
	"context"
	"fmt"
	"slices"
)

// commonMTUs are tried first, in bytes: sizes that links and tunnels really
// have, so that mostly nothing remains to be searched. Beside the plateaus of
// RFC 1191 (section 7.1): jumbo frames, VLAN and VXLAN tags, PPPoE (1492), GRE
// (1476), IPsec (1438, 1400), WireGuard (1420), and the IPv6 minimum (1280).
var commonMTUs = []int{
	65535, 32000, 17914, 9216, 9000, 8948, 8192, 4352, 2002, 1600, 1508, 1504, 1500, 1496, 1492, 1480,
	1476, 1472, 1462, 1454, 1450, 1438, 1430, 1420, 1400, 1380, 1360, 1340, 1320, 1280, 1006, 576, 296, 68,
}

// asker sends packets of the given sizes, largest first, and returns the
// largest that got through, 0 if none did in time.
type asker func(ctx context.Context, sizes []int) (int, error)

// searchMTU finds the largest packet that passes, at most link bytes: first
// among common sizes, then between the two that enclose it. 0: nothing passed.
//
// A lost probe is no proof of anything, so sizes without an answer are asked for
// again before they count as too big. A received one is proof for all below.
func searchMTU(ctx context.Context, link int, ask asker) (int, error) {
	const tries = 2 // every try sends each size twice
	if got, err := ask(ctx, []int{link}); got == link || err != nil {
		return got, err // most paths end here, with little traffic
	}
	passes, fails := 0, link
	sizes := []int{link}
	for _, size := range commonMTUs {
		if size < link {
			sizes = append(sizes, size)
		}
	}
	for {
		best := 0
		for range tries {
			above := slices.DeleteFunc(slices.Clone(sizes), func(size int) bool { return size <= best })
			if len(above) == 0 {
				break
			}
			got, err := ask(ctx, above)
			if err != nil {
				return 0, err
			}
			best = max(best, got)
		}
		for _, size := range sizes { // largest first
			if size > best {
				fails = size
			}
		}
		passes = max(passes, best)
		if passes == 0 || fails-passes <= 1 {
			return passes, nil
		}
		sizes = between(passes, fails)
	}
}

// between spreads sizes over the open interval, largest first. 24 of them take
// two rounds for an interval of 600 bytes.
func between(passes, fails int) []int {
	const most = 24
	steps := min(most, fails-passes-1)
	var sizes []int
	for i := steps; i > 0; i-- {
		sizes = append(sizes, passes+(fails-passes)*i/(steps+1))
	}
	return slices.Compact(sizes)
}

// probedMTU puts in words what a search found. kernel is what the sending
// kernel believes of the path after the search: TCP will keep to that. It learns
// of a smaller MTU if a router says so by ICMP.
func probedMTU(found, link, kernel int) MTU {
	m := MTU{Bytes: found, Link: link, Method: "udp probe"}
	switch {
	case found == 0 || kernel == 0:
	case kernel > found:
		m.BlackHole = true
		m.Note = fmt.Sprintf("packets above %d bytes vanish without an ICMP error", found)
	case kernel < found:
		m.Note = fmt.Sprintf("the kernel keeps to packets of %d bytes, although larger ones pass", kernel)
	case found < link:
		m.Note = "the kernel knows of the limit, by an ICMP error or from its routes"
	}
	return m
}

// believedMTUs is what can be known without probes. Forwards: the kernel's path
// MTU, or less if the far end announced a smaller segment size. Backwards: the
// size that this host announced, an upper limit.
func believedMTUs(r route, h handshake, headers int) (forward, reverse MTU) {
	forward = MTU{Bytes: r.kernel, Link: r.link, Method: "kernel"}
	if size := h.sendMSS + headers; h.sendMSS > 0 && (r.kernel == 0 || size < r.kernel) {
		forward.Bytes = size
		forward.Note = fmt.Sprintf("the TCP segment size agreed at the handshake fits packets of %d bytes", size)
	}
	if forward.Bytes == 0 {
		forward.Method = "none"
	}
	reverse = MTU{Method: "none"}
	if h.announced > 0 {
		reverse = MTU{Bytes: h.announced + headers, Method: "kernel", Note: "an upper limit: the segment size that this host announced; nothing was probed"}
	}
	return forward, reverse
}

// tcpHeaders is the size of the IP and TCP headers without options, bytes.
func tcpHeaders(overhead int) int { return overhead - 8 + 20 }
