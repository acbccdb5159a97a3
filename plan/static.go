package plan

import (
	"fmt"
	"math/bits"

	"github.com/fullbore/fullbore/diagnose"
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/unit"
)

// What systems other than Linux have in common: their buffers count data, so that
// a receive buffer is the window, and a send buffer is what may be in flight.

// leastStatic is the smallest static buffer that is planned: what a sweep over
// buffers on gigabit Ethernet found to be the best compromise for many
// connections (the GigaSwift article; nothing was gained above 128 KB).
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
func (m *maker) whyStatic(buffer unit.Size) string {
	if float64(buffer) < m.exact() {
		return m.holds() + "; this is as much of it as the host has room for"
	}
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
