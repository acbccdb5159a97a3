package change

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"regexp"
	"syscall"

	"github.com/fullbore/fullbore/tunable"
)

// Device is what a network interface is recognised by when its name alone will
// not do: names are given to other interfaces, and interfaces to other names.
type Device struct {
	Index int    `json:"index"`         // the kernel never uses it twice in one boot and namespace
	MAC   string `json:"mac,omitempty"` // "": it has none
}

// macs are hardware addresses as package net writes them.
var macs = regexp.MustCompile(`^([0-9a-f]{2}:){5,19}[0-9a-f]{2}$`)

// errGone: what the tunable was of is not there any more, or another is there
// by that name.
var errGone = errors.New("what it was of is gone")

// findDevice gives the interface of that name in the calling thread's network
// namespace.
func findDevice(name string) (Device, error) {
	all, err := net.Interfaces()
	if err != nil {
		return Device{}, fmt.Errorf("find interface %.40q: %w", name, err)
	}
	for _, i := range all {
		if i.Name == name {
			return Device{Index: i.Index, MAC: i.HardwareAddr.String()}, nil
		}
	}
	return Device{}, fmt.Errorf("find interface %.40q: %w", name, fs.ErrNotExist)
}

// identify gives the interface that the tunable is of; nil if it is of none.
func (m *Manager) identify(name string) (*Device, error) {
	known, ok := lookup(name)
	_, instance := tunable.Split(name)
	if !ok || known.Scope != tunable.OfInterface || instance == "" {
		return nil, nil
	}
	device, err := m.device(instance)
	if err != nil {
		return nil, err
	}
	return &device, nil
}

// look reads a value of the set. The error is errGone where there is nothing
// that the set has ever touched.
func (l *ledger) look(set *Set, v *Value) (string, error) {
	if v.Device != nil {
		device, err := l.identify(v.Tunable)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		// With another boot indexes are others.
		if device == nil || device.MAC != v.Device.MAC || device.Index != v.Device.Index && set.BootID == l.boot {
			return "", fmt.Errorf("%s: %w", v.Tunable, errGone)
		}
	}
	now, err := l.knobs.Get(v.Tunable)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return "", fmt.Errorf("%s: %w (%w)", v.Tunable, errGone, err)
	}
	return now, err
}

// still reads a value and reports whether it is one that this set gave the
// tunable, or found there.
func (l *ledger) still(set *Set, v *Value) (now string, ours bool, err error) {
	now, err = l.look(set, v)
	if errors.Is(err, errGone) {
		return "", false, nil
	}
	return now, err == nil && v.ours(now), err
}
