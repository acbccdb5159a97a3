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

// Commands (linux/ethtool.h).
const (
	ethtoolGRxCsum       = 0x14
	ethtoolGTxCsum       = 0x16
	ethtoolGSG           = 0x18
	ethtoolGTSO          = 0x1e
	ethtoolGGSO          = 0x23
	ethtoolGFlags        = 0x25
	ethtoolGGRO          = 0x2b
	ethtoolGLinkSettings = 0x4c

	flagLRO = 1 << 15
)

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

// offloads are those of Offloads that the kernel tells; nil if none.
func (e ethtoolSocket) offloads() map[string]bool {
	commands := map[string]uint32{
		"rx": ethtoolGRxCsum, "tx": ethtoolGTxCsum, "sg": ethtoolGSG, "tso": ethtoolGTSO,
		"gso": ethtoolGGSO, "gro": ethtoolGGRO, "lro": ethtoolGFlags,
	}
	var on map[string]bool
	for _, name := range Offloads {
		value := make([]byte, 8) // struct ethtool_value
		if e.ask(commands[name], value) != nil {
			continue
		}
		set := binary.NativeEndian.Uint32(value[4:])
		if name == "lro" {
			set &= flagLRO
		}
		if on == nil {
			on = map[string]bool{}
		}
		on[name] = set != 0
	}
	return on
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

// devices adds what the kernel tells of the interfaces by itself, in any network
// namespace: queues, offloads, negotiation. What it does not tell stays empty: a
// kernel may lack traffic control, a sandbox netlink.
func (f *Facts) devices(indexes []int) {
	queues, _ := readQdiscs()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		fd = -1 // then every question is refused
	} else {
		defer unix.Close(fd)
	}
	for i := range f.Interfaces {
		one := &f.Interfaces[i]
		one.Qdiscs = queues[indexes[i]]
		e := ethtoolSocket{fd, one.Name}
		one.Offloads = e.offloads()
		if one.Speed > 0 {
			one.Autoneg = e.autoneg()
		}
	}
}
