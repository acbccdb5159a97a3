package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/unit"
)

// drawNetwork shows each switch with what is at its ports: hosts by ─, other switches by ═.
func (s *Scenario) drawNetwork() string {
	n := s.Network
	hosts := n.all()
	f, err := n.fabric(addressesOf(len(hosts)))
	if err != nil {
		return err.Error() + "\n" // a loaded scenario was checked
	}
	longest := time.Duration(0)
	for _, link := range f.Links {
		longest = max(longest, link.RTT)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s", s.Name)
	if s.About != "" {
		fmt.Fprintf(&b, ": %s", s.About)
	}
	fmt.Fprintf(&b, "\n\n  %s, MTU %d, RTT %s at most\n", unit.Count(len(hosts), "host"), n.MTU, unit.Milliseconds(longest))
	for _, at := range n.Switches {
		fmt.Fprintf(&b, "\n  %s", at.Name)
		if at.Buffer > 0 {
			fmt.Fprintf(&b, "  a buffer of %s that all its queues share", at.Buffer)
		}
		b.WriteString("\n")
		for _, line := range n.ports(at, f) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	for i, w := range n.Ways {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "  way %s to %s  %s\n", w.From, w.To, strings.Join(slices.Concat(drawRate(&w.Link), drawMore(&w.Link)), ", "))
	}
	return b.String()
}

// ports are the lines below a switch.
func (n *Network) ports(at Switch, f *wire.Fabric) (lines []string) {
	type port struct{ branch, name, text string }
	var ports []port
	link := 0
	for i := range n.Hosts {
		m := &n.Hosts[i]
		names := m.Names()
		first := link
		link += 2 * len(names)
		if m.Switch != at.Name {
			continue
		}
		name := names[0]
		if len(names) > 1 {
			name += " to " + names[len(names)-1]
		}
		text := drawPort(&m.Port, at.Buffer > 0, f.Links[first+1].RTT)
		text = append(text, drawMore(&m.Port)...)
		if m.Up != nil {
			text = append(text, "up: "+strings.Join(append(drawPort(m.Up, false, f.Links[first].RTT), drawMore(m.Up)...), ", "))
		}
		ports = append(ports, port{"─", name, strings.Join(append(text, m.says()...), ", ")})
	}
	for i, t := range n.Trunks {
		to, d, link := t.To, &t.Link, n.trunkLink(i)
		if t.To == at.Name {
			to, d, link = t.From, t.Back, link+1
		} else if t.From != at.Name {
			continue
		}
		ports = append(ports, port{"═", to, strings.Join(append(drawPort(d, at.Buffer > 0, f.Links[link].RTT), drawMore(d)...), ", ")})
	}
	width := 0
	for _, p := range ports {
		width = max(width, len(p.name))
	}
	for i, p := range ports {
		corner := "├"
		if i == len(ports)-1 {
			corner = "└"
		}
		lines = append(lines, fmt.Sprintf("%s%s %-*s  %s", corner, p.branch, width, p.name, p.text))
	}
	return lines
}

// drawRate is what a link carries, and how long that takes.
func drawRate(d *wire.Direction) (text []string) {
	if d.Rate > 0 {
		text = append(text, d.Rate.String())
	}
	if d.Delay > 0 {
		text = append(text, drawDelay(d))
	}
	return text
}

// drawPort is a port with its queue.
func drawPort(d *wire.Direction, shared bool, rtt time.Duration) []string {
	text := drawRate(d)
	if d.Rate > 0 && (!shared || d.Queue != (wire.Queue{})) {
		text = append(text, drawQueue(d, rtt))
	}
	return text
}
