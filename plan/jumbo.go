package plan

import (
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// nearby is the round trip below which two hosts are taken to share a network
// whose packet size is theirs to choose: light goes 200 km of fibre there and
// back in it.
const nearby = 2 * time.Millisecond

// jumbo advises larger packets where they are worth a try: on a fast network
// nearby that carries the usual ones. how is the system's command.
func (m *maker) jumbo(h *host.Facts, how string) {
	if m.need.rate < unit.Gbps || m.need.rtt <= 0 || m.need.rtt > nearby || m.mtu() > 1500 {
		return
	}
	m.note("Packets of 9000 bytes cost %s less CPU for the same data, if every device between the hosts takes them: %s. Do that before anything else, and look at the segment size that comes out of it.", h.Name, how)
}

// largerPackets advises what no host can do alone where processors limit: fewer,
// larger packets.
func largerPackets(m *maker, h *host.Facts) *idea {
	if m.finding(diagnose.SenderCPU) != nil || m.finding(diagnose.ReceiverCPU) != nil {
		m.jumbo(h, "ip link set dev INTERFACE mtu 9000")
	}
	return nil
}
