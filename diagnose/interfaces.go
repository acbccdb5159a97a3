package diagnose

import (
	"slices"

	"github.com/fullbore/fullbore/host"
)

// host is what the sending or the receiving host tells of itself, nil if nothing.
func (v *view) host(sender bool) *host.Facts {
	if sender {
		return v.SenderHost
	}
	return v.ReceiverHost
}

// side is what people call it.
func side(sender bool) string {
	if sender {
		return "sender"
	}
	return "receiver"
}

// used are the interfaces of a host that carried the transfer: one, or one
// stacked upon others.
func (v *view) used(sender bool) []host.LinkDelta {
	var used []host.LinkDelta
	for _, l := range v.end(sender).Links {
		if l.Used {
			used = append(used, l)
		}
	}
	return used
}

// devices are the same interfaces as the host describes them.
func (v *view) devices(sender bool) []host.Interface {
	var devices []host.Interface
	for _, l := range v.used(sender) {
		if i, known := v.device(sender, l.Name); known {
			devices = append(devices, i)
		}
	}
	return devices
}

// device is an interface as its host describes it.
func (v *view) device(sender bool, name string) (i host.Interface, known bool) {
	facts := v.host(sender)
	if facts == nil {
		return i, false
	}
	at := slices.IndexFunc(facts.Interfaces, func(i host.Interface) bool { return i.Name == name })
	if at < 0 {
		return i, false
	}
	return facts.Interfaces[at], true
}
