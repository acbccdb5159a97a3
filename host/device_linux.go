package host

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ethtool(8)'s ioctl of one interface, of the network namespace of the thread
// that opened it. Reading needs no privileges.
type ethtoolSocket struct {
	fd   int
	name string
}

// ethtoolGLinkSettings is a command (linux/ethtool.h).
const ethtoolGLinkSettings = 0x4c

// ask sends a command with its arguments, whose answer takes their place.
func (e ethtoolSocket) ask(command uint32, data []byte) error {
	binary.NativeEndian.PutUint32(data, command)
	request := struct { // struct ifreq
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&data[0])}
	if len(e.name) >= len(request.name) {
		return unix.ENODEV
	}
	copy(request.name[:], e.name)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(e.fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}

// Of struct ethtool_link_settings.
const (
	linkSettingsSize = 48
	autonegAt        = 11
	nwordsAt         = 15
)

// autoneg says whether the link's speed and duplex are negotiated.
func (e ethtoolSocket) autoneg() string {
	// Asked for masks of no words, the kernel answers with how many it has,
	// negated; asked for as many, with the settings.
	settings := make([]byte, linkSettingsSize+3*127*4)
	if e.ask(ethtoolGLinkSettings, settings) != nil {
		return ""
	}
	words := -int8(settings[nwordsAt])
	clear(settings)
	settings[nwordsAt] = byte(words)
	if words <= 0 || e.ask(ethtoolGLinkSettings, settings) != nil {
		return ""
	}
	switch settings[autonegAt] {
	case 1: // AUTONEG_ENABLE
		return "on"
	case 0:
		return "off"
	}
	return ""
}

// describe adds what the kernel reports of the interfaces by itself, in any network
// namespace: queues, offloads, negotiation. What it does not report stays empty: a
// kernel may lack traffic control, a sandbox netlink.
func (s *session) describe(interfaces []Interface, indexes []int) {
	queues, _ := s.queues()
	for i := range interfaces {
		one := &interfaces[i]
		for _, q := range queues[indexes[i]] {
			one.Qdiscs = append(one.Qdiscs, q.qdisc())
		}
		one.Offloads = s.offloads(one.Name)
		if one.Speed > 0 {
			one.Autoneg = s.ethtool(one.Name).autoneg()
		}
	}
}

// offloads are those of Offloads that the kernel reports; nil if none.
func (s *session) offloads(name string) map[string]bool {
	features, err := s.featuresOf(s.ethtool(name))
	if err != nil {
		return nil
	}
	on := map[string]bool{}
	for _, o := range Offloads {
		on[o], _, _ = offload(o).state(features)
	}
	return on
}
