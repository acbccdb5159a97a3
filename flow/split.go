package flow

import (
	"encoding/binary"
	"errors"
	"syscall"
)

// Types of netlink's own messages (include/uapi/linux/netlink.h).
const (
	typeError = 2
	typeDone  = 3
)

var errDatagram = errors.New("the kernel's answer is malformed")

// split takes a netlink datagram apart and calls each for every message: with
// what it carries, or with the error that the kernel reports instead. The first
// error that each returns ends it. done says that a dump is complete.
func split(raw []byte, each func(seq uint32, raw []byte, failed error) error) (done bool, err error) {
	for len(raw) > 0 {
		const header = 16 // struct nlmsghdr: length, type, flags, sequence number, port
		if len(raw) < header {
			return false, errDatagram
		}
		length := int64(binary.NativeEndian.Uint32(raw))
		if length < header || length > int64(len(raw)) {
			return false, errDatagram
		}
		seq, body := binary.NativeEndian.Uint32(raw[8:]), raw[header:length]
		switch binary.NativeEndian.Uint16(raw[4:]) {
		case typeDone:
			if failed := kernelError(body); failed != nil {
				return true, each(seq, nil, failed)
			}
			return true, nil
		case typeError:
			if failed := kernelError(body); failed != nil {
				if err := each(seq, nil, failed); err != nil {
					return false, err
				}
			}
		default:
			if err := each(seq, body, nil); err != nil {
				return false, err
			}
		}
		raw = raw[min((length+3)&^3, int64(len(raw))):]
	}
	return false, nil
}

// kernelError reads the negative error number with which such a message begins;
// nil if it is none.
func kernelError(body []byte) error {
	if len(body) < 4 {
		return errDatagram
	}
	if code := -int32(binary.NativeEndian.Uint32(body)); code > 0 {
		return syscall.Errno(code)
	}
	return nil
}

// deliver hands on the socket that a message is about, or the error. The message
// is read into m, so that thousands cost no allocation.
func deliver(m *message, raw []byte, failed error, each func(*message)) error {
	if failed != nil {
		return failed
	}
	if err := m.parse(raw); err != nil {
		return err
	}
	each(m)
	return nil
}
