package host

import (
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// linkNumber is a number that rtnetlink gives with an interface, and takes.
type linkNumber struct {
	attribute uint16 // IFLA_...
	of        func(device) uint32
	largest   func(device) uint32            // may be nil
	check     func(now, wanted uint32) error // may be nil
}

func (l linkNumber) get(s *session, name string) (string, error) {
	d, err := s.device(name)
	if err != nil {
		return "", err
	}
	return strconv.FormatUint(uint64(l.of(d)), 10), nil
}

func (l linkNumber) set(s *session, name, value string) error {
	wanted, err := number(value)
	if err != nil {
		return err
	}
	d, err := s.device(name)
	if err != nil {
		return err
	}
	if l.check != nil {
		if err := l.check(l.of(d), wanted); err != nil {
			return err
		}
	}
	if err := s.kernel.setLink(d.index, l.attribute, wanted); err != nil {
		return refused(err)
	}
	return nil
}

func (l linkNumber) most(s *session, name string) uint32 {
	d, err := s.device(name)
	if err != nil || l.largest == nil {
		return 0
	}
	return l.largest(d)
}

func (l linkNumber) settable(s *session, _ string) error { return s.mayConfigure() }

// leastIPv6 is the smallest MTU of a link that IPv6 is used on (RFC 8200, section 5).
const leastIPv6 = 1280

// keepIPv6 refuses an MTU with which the kernel would take an interface's IPv6
// addresses and routes away (addrconf_notify): no larger MTU brings them back.
func keepIPv6(now, wanted uint32) error {
	if wanted < leastIPv6 && now >= leastIPv6 {
		return errors.New("below 1280 bytes the interface would lose its IPv6 addresses for good")
	}
	return nil
}

// setLink changes one number of an interface.
func (r *rtnetlink) setLink(index int, attribute uint16, value uint32) error {
	body := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(body[4:], uint32(index))
	ae := netlink.NewAttributeEncoder()
	ae.Uint32(attribute, value)
	attributes, err := ae.Encode()
	if err != nil {
		return err
	}
	_, err = r.ask(unix.RTM_SETLINK, netlink.Request|netlink.Acknowledge, append(body, attributes...))
	return err
}
