package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// structure is one of linux/ethtool.h that is all 32-bit words, the command
// first. ethtool(8)'s ioctl reads and writes it as a whole.
type structure struct {
	get, set uint32 // commands
	words    int
}

var (
	rings      = structure{0x10, 0x11, 9}  // struct ethtool_ringparam
	channels   = structure{0x3c, 0x3d, 9}  // struct ethtool_channels
	coalescing = structure{0x0e, 0x0f, 23} // struct ethtool_coalesce
	pauses     = structure{0x12, 0x13, 4}  // struct ethtool_pauseparam
)

// parameter is one word of such a structure.
type parameter struct {
	structure
	at      int  // which word
	largest int  // which word has the largest value that the device takes; 0: none does
	flag    bool // 0 or 1
}

// asker is ethtool(8)'s ioctl of one interface: it sends a command with its
// arguments, whose answer takes their place.
type asker interface {
	ask(command uint32, data []byte) error
}

// word gives the place of a word.
func (parameter) word(data []byte, at int) []byte { return data[4*at:][:4] }

// read asks for the structure. A device that has no such thing says so by an
// error, or by a maximum of 0.
func (p parameter) read(device asker) (data []byte, value uint32, err error) {
	data = make([]byte, 4*p.words)
	if err := device.ask(p.structure.get, data); err != nil {
		return nil, 0, lacks(err)
	}
	if p.largest > 0 && binary.NativeEndian.Uint32(p.word(data, p.largest)) == 0 {
		return nil, 0, lacks(unix.EOPNOTSUPP)
	}
	value = binary.NativeEndian.Uint32(p.word(data, p.at))
	if p.flag && value != 0 {
		value = 1
	}
	return data, value, nil
}

// write changes the one word of the structure; the device may take the others
// anew although they stay what they are.
func (p parameter) write(device asker, value uint32) error {
	data, _, err := p.read(device)
	if err != nil {
		return err
	}
	if p.flag && value > 1 {
		return errors.New("it is neither 0 nor 1")
	}
	if p.largest > 0 {
		if most := binary.NativeEndian.Uint32(p.word(data, p.largest)); value > most {
			return fmt.Errorf("the device has %d at most", most)
		}
	}
	binary.NativeEndian.PutUint32(p.word(data, p.at), value)
	if err := device.ask(p.structure.set, data); err != nil {
		return refused(err)
	}
	return nil
}

func (p parameter) get(s *session, name string) (string, error) {
	_, value, err := p.read(s.ethtool(name))
	return strconv.FormatUint(uint64(value), 10), err
}

func (p parameter) set(s *session, name, value string) error {
	wanted, err := number(value)
	if err != nil {
		return err
	}
	return p.write(s.ethtool(name), wanted)
}

func (p parameter) most(s *session, name string) uint32 {
	data, _, err := p.read(s.ethtool(name))
	if err != nil || p.largest == 0 {
		return 0
	}
	return binary.NativeEndian.Uint32(p.word(data, p.largest))
}

func (p parameter) settable(s *session, _ string) error { return s.mayConfigure() }

// ethtool is the ioctl of an interface.
func (s *session) ethtool(name string) ethtoolSocket { return ethtoolSocket{s.socket, name} }

// lacks puts an ioctl's refusal into words.
func lacks(err error) error {
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("the device has no such thing: %w", err)
	case errors.Is(err, unix.ENODEV):
		return fmt.Errorf("the interface is %w in this network namespace", errInstance)
	}
	return err
}
