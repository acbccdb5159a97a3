package flow

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/fullbore/fullbore/bulk"
)

// sockID is struct inet_diag_sockid (include/uapi/linux/inet_diag.h) as the
// kernel wrote it: ports and addresses in the network's byte order, interface and
// cookie in this machine's. As it is, it also asks for the same socket again.
type sockID [48]byte

func (id *sockID) cookie() uint64 { return binary.NativeEndian.Uint64(id[40:]) }

// ends are the addresses of both ends. An IPv4 address that an IPv6 socket uses
// is shown as what it is.
func (id *sockID) ends(family uint8) (local, remote netip.AddrPort) {
	at := func(address, port int) netip.AddrPort {
		ip := netip.AddrFrom4([4]byte(id[address:]))
		if family == familyIPv6 {
			ip = netip.AddrFrom16([16]byte(id[address:])).Unmap()
		}
		return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(id[port:]))
	}
	return at(4, 0), at(20, 2)
}

// Address families (include/linux/socket.h): this package reads what Linux wrote
// wherever it runs.
const (
	familyIPv4 = 2
	familyIPv6 = 10
)

// message is struct inet_diag_msg, followed by the attributes that were asked
// for. All slices lie in the buffer that it was parsed from.
type message struct {
	family, state  uint8
	id             sockID
	unread, unsent uint32 // bytes
	inode          uint32
	info           []byte // struct tcp_info, as long as this kernel has it; nil for a socket without one
	memory         []byte // SK_MEMINFO_*
	congestion     []byte // name, without the zero at its end
}

// messageLength is the size of struct inet_diag_msg.
const messageLength = 72

// Attributes (INET_DIAG_* of include/uapi/linux/inet_diag.h); each is asked for
// by bit number - 1.
const (
	attributeInfo       = 2
	attributeCongestion = 4
	attributeMemory     = 7
	wanted              = 1<<(attributeInfo-1) | 1<<(attributeCongestion-1) | 1<<(attributeMemory-1)
)

var errMessage = errors.New("the kernel's answer about a socket is malformed")

// parse reads the payload of one netlink message.
func (m *message) parse(raw []byte) error {
	*m = message{}
	if len(raw) < messageLength {
		return errMessage
	}
	m.family, m.state = raw[0], raw[1]
	if m.family != familyIPv4 && m.family != familyIPv6 {
		return errMessage
	}
	m.id = sockID(raw[4:])
	m.unread = binary.NativeEndian.Uint32(raw[56:])
	m.unsent = binary.NativeEndian.Uint32(raw[60:])
	m.inode = binary.NativeEndian.Uint32(raw[68:])
	for rest := raw[messageLength:]; len(rest) > 0; {
		kind, value, next, ok := attribute(rest)
		if !ok {
			return errMessage
		}
		switch kind {
		case attributeInfo:
			m.info = value
		case attributeMemory:
			m.memory = value
		case attributeCongestion:
			m.congestion = untilZero(value)
		}
		rest = next
	}
	return nil
}

// attribute takes the first netlink attribute apart: length and kind, 16 bits
// each, then the value, filled up to a multiple of four bytes.
func attribute(raw []byte) (kind uint16, value, rest []byte, ok bool) {
	if len(raw) < 4 {
		return 0, nil, nil, false
	}
	length := int(binary.NativeEndian.Uint16(raw))
	if length < 4 || length > len(raw) {
		return 0, nil, nil, false
	}
	const flags = 0xc000 // NLA_F_NESTED, NLA_F_NET_BYTEORDER
	return binary.NativeEndian.Uint16(raw[2:]) &^ flags, raw[4:length], raw[min((length+3)&^3, len(raw)):], true
}

func untilZero(b []byte) []byte {
	for i, c := range b {
		if c == 0 {
			return b[:i]
		}
	}
	return b
}

// sample fills in what the message says of a connection.
func (m *message) sample(s *bulk.Sample) {
	s.TCP.Parse(m.info)
	s.Mem = bulk.ParseSockMem(m.memory)
	s.Unread, s.Unsent = int(m.unread), int(m.unsent)
}

// moved are the counters that grow when data moves (bytes acknowledged, received
// and sent), read without the rest: most flows of a busy host are idle.
func (m *message) moved() (acked, received, sent uint64) {
	at := func(offset int) uint64 {
		if len(m.info) < offset+8 {
			return 0
		}
		return binary.NativeEndian.Uint64(m.info[offset:])
	}
	return at(120), at(128), at(200)
}

// states are the names of TCP's states (include/net/tcp_states.h), as ss and
// RFC 9293 write them.
var states = [...]string{
	1: "established", 2: "syn-sent", 3: "syn-received", 4: "fin-wait-1", 5: "fin-wait-2", 6: "time-wait",
	7: "closed", 8: "close-wait", 9: "last-ack", 10: "listen", 11: "closing", 12: "syn-received",
}

const (
	stateTimeWait = 6
	stateClosed   = 7
	stateClosing  = 11
	stateListen   = 10
)

// open are the states of connections that can move data or still hold some, as
// the bits in which inet_diag is asked for them: so the kernel passes over
// sockets in TIME_WAIT without a word, however many there are.
const open = (1<<(stateClosing+1) - 2) &^ (1<<stateTimeWait | 1<<stateClosed | 1<<stateListen)

func stateName(state uint8) string {
	if int(state) < len(states) && states[state] != "" {
		return states[state]
	}
	return "unknown"
}
