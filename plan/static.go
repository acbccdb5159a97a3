package plan

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// What systems other than Linux have in common: their buffers count data, so that
// a receive buffer is the window, and a send buffer is what may be in flight.

// leastStatic is the smallest static buffer that is planned: what a sweep over
// buffers on gigabit Ethernet found to be the best compromise for many
// connections (S2; nothing was gained above 128 KB).
const leastStatic = 64 * unit.KiB

// static is the buffer that a connection needs where the system does not tune it.
// Besides the path's windows it holds what arrives in the time slice for which
// the reader may wait for a core: a static buffer does not grow when that
// happens.
func (m *maker) static() unit.Size {
	size := m.exact()
	if size > float64(leastBuffer) {
		return readable(size)
	}
	return 1 << bits.Len64(uint64(max(unit.Size(size), leastStatic)-1))
}

// exact is static before it is rounded to a power of two.
func (m *maker) exact() float64 {
	return windows*float64(m.need.bdp) + float64(m.need.rate.BytesIn(timeSlice))/float64(m.Streams)
}

// whole is the buffer that a connection needs where the system tunes it, and all
// of it becomes window.
func (m *maker) whole() unit.Size { return readable(windows * float64(m.need.bdp)) }

// whyStatic is why a static buffer is as large as it is.
func (m *maker) whyStatic() string {
	return fmt.Sprintf("%s, and as this system does not tune buffers, it also covers the %s for which a reader may wait for a CPU", m.holds(), unit.Milliseconds(timeSlice))
}

// asks gives what the application of the baseline sets its buffer to itself, 0
// if it leaves that to the system.
func (m *maker) asks(receiving bool) unit.Size {
	switch {
	case m.Baseline == nil:
		return 0
	case receiving:
		return unit.Size(max(0, m.Baseline.Spec.RecvBuf))
	}
	return unit.Size(max(0, m.Baseline.Spec.SendBuf))
}

// asked answers an application that sets its buffer itself. Other than Linux,
// which cuts the request, these systems refuse one above their maximum (ENOBUFS:
// tcp_opt_set in illumos' tcp_opt_data.c, sbreserve in the BSDs' and Apple's
// kernels), and the application keeps the default: now is its size. room is what
// the maximum has to be.
func (m *maker) asked(h *host.Facts, name, cause string, asked, now, room unit.Size) *idea {
	option := "SO_SNDBUF"
	if cause == diagnose.ReceiverBuffer {
		option = "SO_RCVBUF"
	}
	m.note("The application sets %s to %v itself on %s, so no other buffer of the system counts for it.", option, asked, h.Name)
	i := &idea{answers: []string{cause}, limit: m.windowRate(now), after: m.windowRate(asked)}
	i.Idea = fmt.Sprintf("let the application have the %s that it asks for", option)
	i.Risk = risk(h, name)
	if room > present(h, name) {
		i.Changes = m.change(h, name, number64(room), fmt.Sprintf("the application asks for %v, and the system refuses what it does not have room for here", asked))
	}
	return i
}

// least is the smallest value to which a size may be raised: what the version
// comes with, as far as memory allows that (see maker.floor).
func (m *maker) least(h *host.Facts, name string) unit.Size {
	usual := defaultMax(h, name)
	if bound := m.bound(h); bound > 0 {
		return min(usual, bound)
	}
	return usual
}

// number64 is a size as a tunable's value.
func number64(size unit.Size) string { return fmt.Sprint(int64(size)) }

// present is a tunable's value in bytes, 0 if the host does not tell.
func present(h *host.Facts, name string) unit.Size { return unit.Size(number(h.Tunables[name], 0)) }

// has says whether a tunable exists in a host's version of its system.
func has(h *host.Facts, name string) bool {
	t, ok := tunable.Lookup(h.OS, name)
	return ok && t.Applies(h.Version)
}

// from says whether a host's version is at least this one; one that cannot be
// read is taken for a current one.
func from(h *host.Facts, version string) bool {
	return (&tunable.Tunable{Since: version}).Applies(h.Version)
}

// roomFor is the most that a tunable may become once so many changes are made,
// the last of each tunable counting: what bounds it, of kern.ipc.maxsockbuf 8/9,
// and for that itself the pool of clusters. 0: nothing bounds it.
func roomFor(h *host.Facts, t *tunable.Tunable, name string, made []Change) unit.Size {
	if name == maxsockbuf {
		return macosPool(h)
	}
	bound, most := boundary(h, t, name)
	room := unit.Size(most)
	for _, c := range made {
		if c.Host == h.Name && c.Tunable == bound {
			room = unit.Size(number(c.To, 0))
		}
	}
	if bound == maxsockbuf {
		return usable(room)
	}
	return room
}

// takes says of changes that do not count at once when they do. It begins with a
// blank, as it follows another sentence.
func takes(h *host.Facts, changes []Change) string {
	var text strings.Builder
	for _, effect := range []tunable.Effect{tunable.NewMounts, tunable.RestartService, tunable.Reboot} {
		var names []string
		for _, c := range changes {
			if t, ok := tunable.Lookup(h.OS, c.Tunable); ok && t.Effect == effect && !slices.Contains(names, c.Tunable) {
				names = append(names, c.Tunable)
			}
		}
		if len(names) > 0 {
			fmt.Fprintf(&text, " %s: counts from the next %s on.", strings.Join(names, ", "), occasion[effect])
		}
	}
	return text.String()
}

// occasion is what has to happen for a change to count.
var occasion = map[tunable.Effect]string{
	tunable.NewMounts:      "mount",
	tunable.RestartService: "restart of the service",
	tunable.Reboot:         "reboot",
}

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
