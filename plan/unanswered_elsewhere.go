package plan

import (
	"maps"

	"github.com/fullbore/fullbore/diagnose"
)

// elsewhere is what there is to say of causes on systems other than Linux, with
// what one of them says in its own words.
func elsewhere(own map[string]string) map[string]string {
	all := maps.Clone(everySystem)
	maps.Copy(all, own)
	return all
}

// everySystem holds for all systems: unplannable, without the names of what
// Linux has.
var everySystem = map[string]string{
	diagnose.RandomLoss: "No setting removes loss that is not congestion. What helps is to find the link that loses (its error counters, cables, optics, radio); " +
		"until then several connections, or a sender with a congestion control that does not take every loss for congestion (BBR).",
	diagnose.ShallowQueue: "The bottleneck's queue is not a setting of these hosts. What helps is to pace the sender: " +
		"an application that limits its rate a little below the bottleneck's, a shaper in front of the path, or a longer queue at the bottleneck.",
	diagnose.Policer: "The policer is a contract, not a setting of these hosts. What helps is to stay below its rate: " +
		"shape or pace the sender a little under it, or ask for shaping in place of policing.",
	diagnose.Reordering: "How much reordering the sender takes for loss is not a setting that lasts. " +
		"What helps is to find what spreads one connection over several ways (per-packet balancing, a link aggregation that balances by packet, a radio link).",
	diagnose.MTUBlackHole: "Which packets pass is decided on the path. " +
		"What helps is to let ICMP \"fragmentation needed\" through on the path, or to lower the interface's or the route's MTU to what passes.",
	diagnose.DuplexMismatch: "A link's duplex is not a tunable. What helps is to let both sides of it negotiate, or to set both alike (the adapter's properties, the switch's port).",
	diagnose.LinkErrors:     "No setting of the kernel repairs frames. What helps is another cable, optic, port or NIC: its counters show which (netstat -i, and the switch's).",
	diagnose.PacingCap: "The limit is one that somebody set: the application, or a shaper on the sender. " +
		"What helps is to raise it there.",
	diagnose.SenderCPU: "A tunable does not make a core faster. What helps is several connections on several cores, the adapter's offloads (checksums, large segments), " +
		"larger packets, or sendfile in the application.",
	diagnose.ReceiverCPU: "A tunable does not make a core faster. What helps is several connections, interrupts and application on different cores, " +
		"the adapter's offloads (checksums, large receive), or larger packets.",
	diagnose.MemoryPressure: "Network memory is shared by all connections of the machine: raising it is for its administrator to decide. " +
		"What helps is that, more memory, or fewer connections with smaller buffers.",
	diagnose.ShortTransfer: "The transfer ends before its window is open. What helps is to keep connections open and use them again, or several connections.",
}
