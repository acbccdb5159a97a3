package plan

import (
	"github.com/fullbore/fullbore/host"
)

// linuxRules: buffers that tune themselves up to a maximum; what else there is is
// only touched where the evidence or the workload asks for it.
var linuxRules = rules{
	scale: func(m *maker, h *host.Facts) []Change {
		const name = "net.ipv4.tcp_window_scaling"
		if h.Tunables[name] != "0" {
			return nil
		}
		return m.change(h, name, "1", whyScale)
	},
	receive: []func(*maker, *host.Facts) *idea{
		receiveBuffer, receiveOffloads, moreQueues, steering, receiverGovernor, rings, softnet, largerPackets, nfsMount, nfsServer,
	},
	send: []func(*maker, *host.Facts) *idea{
		sendBuffer, idleRestart, mtuProbing, congestion, pacing,
		sendOffloads, sendQueue, senderGovernor, largerPackets, nfsMount, nfsServer,
	},
}
