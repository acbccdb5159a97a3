package datagram

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// inbox is room for the datagrams that one call of recvmmsg takes.
type inbox struct {
	messages []message
	buffers  [][]byte
	control  [][]byte
	vectors  []unix.Iovec
}

// message is struct mmsghdr.
type message struct {
	unix.Msghdr
	size uint32
}

// Many small datagrams are taken at once, and few large ones.
const (
	inboxMessages = 64
	inboxBytes    = 256 << 10
)

// newInbox makes an inbox that keeps the first keep bytes of each datagram.
func newInbox(keep int) *inbox {
	n := max(1, min(inboxMessages, inboxBytes/keep))
	in := &inbox{
		messages: make([]message, n), buffers: make([][]byte, n), control: make([][]byte, n), vectors: make([]unix.Iovec, n),
	}
	for i := range in.messages {
		in.buffers[i] = make([]byte, keep)
		in.control[i] = make([]byte, unix.CmsgSpace(int(unsafe.Sizeof(unix.Timespec{}))))
		in.vectors[i].Base = &in.buffers[i][0]
		in.vectors[i].SetLen(keep)
		m := &in.messages[i]
		m.Iov = &in.vectors[i]
		m.SetIovlen(1)
		m.Control = &in.control[i][0]
	}
	return in
}

// receive waits for datagrams and hands over those that are there: the bytes
// that are kept, the size of the whole, and when the kernel got it. It returns
// errTick when nothing came for a tick.
func (s *socket) receive(handle func(kept []byte, size int, at time.Duration)) error {
	in := s.in
	for i := range in.messages {
		in.messages[i].SetControllen(len(in.control[i]))
	}
	n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&in.messages[0])),
		uintptr(len(in.messages)), unix.MSG_WAITFORONE|unix.MSG_TRUNC, 0, 0)
	if errno != 0 {
		return ticked(errno)
	}
	var now time.Duration
	for i := range in.messages[:n] {
		m := &in.messages[i]
		at := stamp(in.control[i][:min(int(m.Controllen), len(in.control[i]))])
		if at == 0 {
			if now == 0 {
				now = time.Duration(time.Now().UnixNano())
			}
			at = now
		}
		size := int(m.size)
		handle(in.buffers[i][:min(size, len(in.buffers[i]))], size, at)
	}
	return nil
}

// stamp is the kernel's time of arrival in the ancillary data of a datagram,
// which has no room for more; 0 if it is not there.
func stamp(control []byte) time.Duration {
	const size = int(unsafe.Sizeof(unix.Timespec{}))
	if len(control) < unix.CmsgLen(size) {
		return 0
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	if h.Level != unix.SOL_SOCKET || h.Type != unix.SO_TIMESTAMPNS {
		return 0
	}
	t := (*unix.Timespec)(unsafe.Pointer(&control[unix.CmsgLen(0)]))
	return time.Duration(t.Nano())
}
