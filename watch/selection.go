package watch

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/fullbore/fullbore/flow"
	"github.com/fullbore/fullbore/report"
)

// Selection says which flows of a snapshot are shown, and in which order. Its
// zero value shows all that move data, the fastest first.
type Selection struct {
	Processes []string       // names of programs, or process numbers; empty: any
	Remotes   []netip.Prefix // of the far end; empty: any
	Ports     []uint16       // of either end; empty: any
	Causes    []string       // what limits; empty: any
	Text      string         // part of the process, an address, a port or the cause, in any case; "": any
	Idle      bool           // flows that move nothing too
	Sort      Order
	Top       int // at most so many; 0: all
}

// Order is by what flows are sorted.
type Order string

// The orders: the largest figure first; processes by their names.
const (
	ByRate            Order = "rate"
	ByRTT             Order = "rtt"
	ByRetransmissions Order = "retransmissions"
	ByProcess         Order = "process"
)

// Of gives the selected flows of all, sorted. all stays as it is.
func (s *Selection) Of(all []flow.Flow) []flow.Flow {
	// Only pointers are sorted, and only what is shown is copied: flows are large,
	// and there may be thousands.
	var chosen []*flow.Flow
	text := strings.ToLower(s.Text)
	for i := range all {
		if f := &all[i]; (s.Idle || !f.Idle) && s.matches(f) && (text == "" || strings.Contains(words(f), text)) {
			chosen = append(chosen, f)
		}
	}
	slices.SortFunc(chosen, func(a, b *flow.Flow) int {
		if c := s.Sort.compare(a, b); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(b.Goodput, a.Goodput), strings.Compare(a.ID, b.ID))
	})
	if s.Top > 0 {
		chosen = chosen[:min(s.Top, len(chosen))]
	}
	out := make([]flow.Flow, len(chosen))
	for i, f := range chosen {
		out[i] = *f
	}
	return out
}

func (o Order) compare(a, b *flow.Flow) int {
	switch o {
	case ByRTT:
		return cmp.Compare(b.RTT, a.RTT)
	case ByRetransmissions:
		return cmp.Compare(b.Lost, a.Lost)
	case ByProcess:
		return strings.Compare(strings.ToLower(a.Process), strings.ToLower(b.Process))
	}
	return cmp.Compare(b.Goodput, a.Goodput)
}

func (s *Selection) matches(f *flow.Flow) bool {
	return (len(s.Processes) == 0 || slices.ContainsFunc(s.Processes, func(name string) bool { return belongs(f, name) })) &&
		(len(s.Remotes) == 0 || slices.ContainsFunc(s.Remotes, func(p netip.Prefix) bool { return p.Contains(unscoped(f.Remote.Addr())) })) &&
		(len(s.Ports) == 0 || slices.ContainsFunc(s.Ports, func(p uint16) bool { return f.Local.Port() == p || f.Remote.Port() == p })) &&
		(len(s.Causes) == 0 || slices.Contains(s.Causes, f.Limit.Cause))
}

// belongs says whether a flow is of a program, by its name or its number. Of a
// longer name Linux keeps 15 bytes (TASK_COMM_LEN, include/linux/sched.h).
func belongs(f *flow.Flow, process string) bool {
	const kept = 15
	return strings.EqualFold(f.Process, process[:min(kept, len(process))]) || f.PID > 0 && strconv.Itoa(f.PID) == process
}

// unscoped is an address as a prefix has it: without a zone, and IPv4 as IPv4 where
// a socket for both has it.
func unscoped(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// words is what the text of a selection is looked for in.
func words(f *flow.Flow) string {
	return strings.ToLower(strings.Join([]string{report.Process(f), report.Endpoint(f.Local), report.Endpoint(f.Remote), report.Limit(f)}, " "))
}

// ParseRemote reads an address or a prefix of addresses.
func ParseRemote(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		address = unscoped(address)
		return address.Prefix(address.BitLen())
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return prefix, fmt.Errorf("%q is neither an address nor a prefix such as 192.0.2.0/24", text)
	}
	return prefix.Masked(), nil
}
