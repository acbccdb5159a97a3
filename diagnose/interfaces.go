package diagnose

import (
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
	facts := v.host(sender)
	if facts == nil {
		return nil
	}
	var devices []host.Interface
	for _, l := range v.used(sender) {
		for _, i := range facts.Interfaces {
			if i.Name == l.Name {
				devices = append(devices, i)
			}
		}
	}
	return devices
}
