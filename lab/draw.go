package lab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fullbore/fullbore/lab/wire"
	"github.com/fullbore/fullbore/unit"
)

// Draw shows the hosts and the path between them as text.
func (s *Scenario) Draw() string {
	if s.Network != nil {
		return s.drawNetwork()
	}
	p := &s.Path
	forward, reverse := p.draw(&p.AToB), p.draw(p.BToA)
	length := max(utf8.RuneCountInString(forward[0]), utf8.RuneCountInString(reverse[0]))
	var b strings.Builder
	fmt.Fprintf(&b, "%s", s.Name)
	if s.About != "" {
		fmt.Fprintf(&b, ": %s", s.About)
	}
	middle := fmt.Sprintf("MTU %d, RTT %s", p.MTU, unit.Milliseconds(p.RTT()))
	fmt.Fprintf(&b, "\n\n  ┌───┐ ──%s─▶ ┌───┐\n", pad(forward[0], "─", length))
	fmt.Fprintf(&b, "  │ a │   %s   │ b │\n", pad(middle, " ", length))
	fmt.Fprintf(&b, "  └───┘ ◀─%s── └───┘\n\n", pad(reverse[0], "─", length))
	for _, d := range []struct {
		name  string
		notes []string
		d     *wire.Direction
	}{{"a to b", forward[1:], &p.AToB}, {"b to a", reverse[1:], p.BToA}} {
		fmt.Fprintf(&b, "  %s  BDP %s; one TCP flow at most %s\n", d.name, p.BDP(d.d), p.Goodput(d.d))
		for _, note := range d.notes {
			fmt.Fprintf(&b, "          %s\n", note)
		}
	}
	s.Hosts.A.draw(&b, "a")
	s.Hosts.B.draw(&b, "b")
	for _, t := range s.Traffic {
		fmt.Fprintf(&b, "  traffic %d flows %s to %s, from %s on\n", t.Flows, t.From, t.To, t.Start)
	}
	if s.NFS != nil {
		s.NFS.draw(&b)
	}
	if s.Expect.Cause != "" {
		fmt.Fprintf(&b, "  expect  %s\n", s.Expect.Cause)
	}
	return b.String()
}

// draw gives the label of one direction's arrow, and what else happens there.
func (p *Path) draw(d *wire.Direction) []string {
	return append([]string{" " + drawQueue(d, p.RTT()) + " ── " + d.Rate.String() + " ── " + drawDelay(d) + " "}, drawMore(d)...)
}

func drawDelay(d *wire.Direction) string {
	delay := unit.Milliseconds(d.Delay)
	if d.Jitter > 0 {
		delay += " ± " + unit.Milliseconds(d.Jitter)
	}
	return delay
}

func drawQueue(d *wire.Direction, rtt time.Duration) string {
	if d.Queue == (wire.Queue{}) {
		return "queue of 1 bdp"
	}
	queue := "queue of " + d.Queue.String()
	if d.Queue.Packets == 0 && d.Queue.Bytes == 0 {
		queue += " (" + d.Queue.Size(d.Rate, rtt).String() + ")"
	}
	return queue
}

// drawMore is what else happens in a direction.
func drawMore(d *wire.Direction) (all []string) {
	for _, impairment := range d.Impairments() {
		all = append(all, impairment.Says())
	}
	if d.Seed > 0 {
		all = append(all, fmt.Sprintf("seed %d", d.Seed))
	}
	return all
}

func (h *HostSpec) draw(b *strings.Builder, name string) {
	for i, line := range h.says() {
		label := ""
		if i == 0 {
			label = "host " + name
		}
		fmt.Fprintf(b, "  %-7s %s\n", label, line)
	}
}

// says is what is particular about the host.
func (h *HostSpec) says() (lines []string) {
	add := func(present bool, format string, args ...any) {
		if present {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	add(h.Congestion != "", "congestion control %s", h.Congestion)
	add(h.CPUs > 0, "%v CPUs", h.CPUs)
	add(h.SlowReader > 0, "receivers read at %s", h.SlowReader)
	add(h.SlowWriter > 0, "senders write at %s", h.SlowWriter)
	add(h.Shape > 0, "egress shaped to %s", h.Shape)
	for _, key := range slices.Sorted(maps.Keys(h.Sysctl)) {
		add(true, "%s = %s", key, h.Sysctl[key])
	}
	return lines
}

// pad centres text in a line of the filler.
func pad(text, filler string, length int) string {
	missing := length - utf8.RuneCountInString(text)
	left := missing / 2
	return strings.Repeat(filler, left) + text + strings.Repeat(filler, missing-left)
}
