package plan

import (
	"net"
	"net/netip"
	"slices"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
)

// pacing has the sender's interface send what TCP hands it at the rate that TCP
// has worked out, not in bursts.
func pacing(m *maker, h *host.Facts) *idea {
	var why string
	switch {
	case m.finding(diagnose.ShallowQueue) != nil:
		why = "the bottleneck's queue is too short for bursts, and fq sends each flow at the rate that TCP asks for"
	case m.finding(diagnose.Policer) != nil:
		why = "the policer drops bursts, and fq sends each flow at the rate that TCP asks for"
	default:
		return nil
	}
	i := &idea{answers: []string{diagnose.ShallowQueue, diagnose.Policer}, limit: unlimited, after: unlimited}
	i.Idea = "space the sender's packets instead of sending them in bursts"
	for _, l := range m.links(h, true) {
		name := l.of("link.qdisc")
		switch h.Tunables[name] {
		case "pfifo_fast", "pfifo", "fq_codel":
			i.Changes = append(i.Changes, m.change(h, name, "fq", why)...)
			i.Risk = risk(h, name)
		case "mq":
			m.note("fq may help on %s of %s, which has several send queues: with net.core.default_qdisc=fq, tc qdisc replace dev %s root mq gives each of them one.", l.Name, h.Name, l.Name)
		} // another one was put there by somebody who wanted it, mostly to shape
	}
	return i
}

// route is the congestion control of the route to the receiver: the most
// specific one that holds it; without a baseline, the only one there is. The
// default route is no single destination. "": there is none.
func (m *maker) route(h *host.Facts) string {
	all := slices.DeleteFunc(instances(h, "route.congctl"), func(name string) bool {
		_, prefix := tunable.Split(name)
		p, err := parsePrefix(prefix)
		return err != nil || p.Bits() == 0
	})
	far, ok := m.far()
	if !ok {
		if len(all) == 1 {
			return all[0]
		}
		return ""
	}
	best, bits := "", -1
	for _, name := range all {
		_, prefix := tunable.Split(name)
		if p, _ := parsePrefix(prefix); p.Contains(far) && p.Bits() > bits {
			best, bits = name, p.Bits()
		}
	}
	return best
}

// parsePrefix also takes an address for a prefix, as ip-route(8) writes it.
func parsePrefix(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Prefix(a.BitLen())
	}
	return netip.ParsePrefix(s)
}

// far is the receiver's address, as the sender's first stream had it.
func (m *maker) far() (netip.Addr, bool) {
	if m.Baseline == nil {
		return netip.Addr{}, false
	}
	senders := m.Baseline.Senders(m.Direction)
	i := slices.IndexFunc(senders, func(s bulk.Stream) bool { return s.Remote != "" })
	if i < 0 {
		return netip.Addr{}, false
	}
	address, _, err := net.SplitHostPort(senders[i].Remote)
	if err != nil {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(address)
	return a.Unmap().WithZone(""), err == nil
}
