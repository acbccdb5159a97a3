package plan

import "github.com/fullbore/fullbore/host"

// linuxRules: buffers that tune themselves up to a maximum.
var linuxRules = rules{
	scale: func(m *maker, h *host.Facts) []Change {
		const name = "net.ipv4.tcp_window_scaling"
		if h.Tunables[name] != "0" {
			return nil
		}
		return m.change(h, name, "1", whyScale)
	},
	receive: []func(*maker, *host.Facts) *idea{receiveBuffer},
	send:    []func(*maker, *host.Facts) *idea{sendBuffer, idleRestart, mtuProbing, congestion},
}
