package diagnose

import (
	"slices"

	"github.com/fullbore/fullbore/host"
)

// side is one end of the transfer, as people call it.
type side string

const (
	sender   side = "sender"
	receiver side = "receiver"
)

var bothSides = []side{sender, receiver}

// host is what the sending or the receiving host reports of itself, nil if nothing.
func (v *view) host(at side) *host.Facts {
	if at == sender {
		return v.SenderHost
	}
	return v.ReceiverHost
}

// used are the interfaces of a host that carried the transfer: one, or one
// stacked upon others.
func (v *view) used(at side) []host.LinkDelta {
	var used []host.LinkDelta
	for _, l := range v.end(at).Links {
		if l.Used {
			used = append(used, l)
		}
	}
	return used
}

// devices are the same interfaces as the host describes them.
func (v *view) devices(at side) []host.Interface {
	var devices []host.Interface
	for _, l := range v.used(at) {
		if i, known := v.device(at, l.Name); known {
			devices = append(devices, i)
		}
	}
	return devices
}

// device is an interface as its host describes it.
func (v *view) device(at side, name string) (i host.Interface, known bool) {
	facts := v.host(at)
	if facts == nil {
		return i, false
	}
	n := slices.IndexFunc(facts.Interfaces, func(i host.Interface) bool { return i.Name == name })
	if n < 0 {
		return i, false
	}
	return facts.Interfaces[n], true
}
