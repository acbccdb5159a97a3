package plan

import (
	"github.com/fullbore/fullbore/host"
	"github.com/fullbore/fullbore/tunable"
	"github.com/fullbore/fullbore/unit"
)

// Needs says whether a change on a host could not stand without another one there,
// since that makes the room for it.
func Needs(h *host.Facts, c, other Change) bool {
	if h == nil || !c.onHostOf(other) {
		return false
	}
	t, ok := tunable.Lookup(h.OS, c.Tunable)
	if !ok {
		return false
	}
	base, _ := tunable.Split(other.Tunable)
	room := unit.Size(greatest(other.From))
	if base == maxsockbuf {
		room = usable(room)
	}
	return t.Within == base && unit.Size(greatest(c.To)) > room
}

// roomFor is the most that a tunable may become once so many changes are made,
// the last of each tunable counting: what bounds it, of kern.ipc.maxsockbuf 8/9,
// and for that itself the pool of clusters. 0: nothing bounds it.
func (in *Input) roomFor(h *host.Facts, t *tunable.Tunable, name string, made []Change) unit.Size {
	if name == maxsockbuf {
		return macosPool(h)
	}
	bound, most := boundary(h, t, name)
	room := unit.Size(most)
	for _, c := range made {
		if in.HostOf(c) == h && c.Tunable == bound {
			room = unit.Size(number(c.To, 0))
		}
	}
	if bound == maxsockbuf {
		return usable(room)
	}
	return room
}
