package flow

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Netlink message types of inet_diag (include/uapi/linux/inet_diag.h and
// sock_diag.h). The older one is the only one that dumps both address families
// in one pass through the kernel's table of connections.
const (
	getSock      = 18 // TCPDIAG_GETSOCK
	sockByFamily = 20 // SOCK_DIAG_BY_FAMILY
)

const (
	headerLength = 16 // struct nlmsghdr
	// receiveSize is more than the kernel puts into one part of a dump (32 KiB,
	// net/netlink/af_netlink.c).
	receiveSize = 64 << 10
	// patience is how long the kernel may take to answer: it answers within the
	// call, so that running into this means that something is badly wrong.
	patience = 5 * time.Second
)

// diag is a netlink socket that asks about sockets. It reads into one buffer
// again and again, so that 10,000 sockets cost no allocation.
type diag struct {
	conn    *netlink.Conn
	raw     syscall.RawConn
	in      [receiveSize]byte
	out     []byte
	seq     uint32
	message message

	// Of the call that runs: RawConn takes functions, made once.
	n                int
	err              error
	readOne, sendOut func(uintptr) bool
}

// openDiag opens the socket in the network namespace of the calling thread.
func openDiag() (*diag, error) {
	conn, err := netlink.Dial(unix.NETLINK_SOCK_DIAG, nil)
	if err != nil {
		return nil, fmt.Errorf("open netlink socket for inet_diag: %w", hint(err))
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("open netlink socket for inet_diag: %w", err)
	}
	d := &diag{conn: conn, raw: raw}
	d.readOne = func(fd uintptr) bool {
		d.n, d.err = unix.Read(int(fd), d.in[:])
		return !errors.Is(d.err, unix.EAGAIN)
	}
	d.sendOut = func(fd uintptr) bool {
		d.n, d.err = unix.Write(int(fd), d.out)
		return !errors.Is(d.err, unix.EAGAIN)
	}
	return d, nil
}

func (d *diag) close() error { return d.conn.Close() }

// dump calls each for every open TCP socket, IPv4 and IPv6. The message is good
// only until each returns.
func (d *diag) dump(ctx context.Context, each func(*message)) error {
	d.out = d.request(d.out[:0], getSock, unix.NLM_F_REQUEST|unix.NLM_F_DUMP, 60)
	// struct inet_diag_req: family (0: both), two prefix lengths, extensions,
	// socket (any), states, tables.
	d.out[headerLength+3] = wanted
	binary.NativeEndian.PutUint32(d.out[headerLength+52:], open)
	if err := d.send(ctx); err != nil {
		return fmt.Errorf("ask for all TCP sockets: %w", err)
	}
	for {
		done, err := d.receive(func(seq uint32, raw []byte, failed error) error {
			if seq != d.seq {
				return nil // of an earlier question
			}
			return deliver(&d.message, raw, failed, each)
		})
		if err != nil {
			d.drain()
			return fmt.Errorf("read TCP sockets: %w", hint(err))
		}
		if done {
			return ctx.Err()
		}
	}
}

// socket is one to ask for.
type socket struct {
	family uint8
	id     sockID
}

// ask asks for single sockets, all in one message, and calls each with the index
// and the answer: nil for a connection that has ended.
func (d *diag) ask(ctx context.Context, sockets []socket, each func(i int, m *message)) error {
	d.out = d.out[:0]
	first := d.seq + 1
	for i := range sockets {
		at := len(d.out)
		d.out = d.request(d.out, sockByFamily, unix.NLM_F_REQUEST, 56)
		// struct inet_diag_req_v2: family, protocol, extensions, padding, states, socket.
		body := d.out[at+headerLength:]
		body[0], body[1], body[2] = sockets[i].family, unix.IPPROTO_TCP, wanted
		binary.NativeEndian.PutUint32(body[4:], open)
		copy(body[8:], sockets[i].id[:])
	}
	if err := d.send(ctx); err != nil {
		return fmt.Errorf("ask for TCP sockets: %w", err)
	}
	for left := len(sockets); left > 0; {
		_, err := d.receive(func(seq uint32, raw []byte, _ error) error {
			i := seq - first
			if i >= uint32(len(sockets)) {
				return nil // of an earlier question
			}
			left--
			if raw == nil { // it has ended (ENOENT), or its cookie is another's by now (ESTALE)
				each(int(i), nil)
				return nil
			}
			return deliver(&d.message, raw, nil, func(m *message) { each(int(i), m) })
		})
		if err != nil {
			d.drain()
			return fmt.Errorf("read TCP sockets: %w", err)
		}
	}
	return nil
}

// request appends a header and room for a body of so many bytes, all zero.
func (d *diag) request(to []byte, kind, flags uint16, body int) []byte {
	d.seq++
	length := headerLength + body
	to = binary.NativeEndian.AppendUint32(to, uint32(length))
	to = binary.NativeEndian.AppendUint16(to, kind)
	to = binary.NativeEndian.AppendUint16(to, flags)
	to = binary.NativeEndian.AppendUint32(to, d.seq)
	to = binary.NativeEndian.AppendUint32(to, 0) // this socket
	return append(to, make([]byte, body)...)
}

func (d *diag) send(ctx context.Context) error {
	until := time.Now().Add(patience)
	if t, ok := ctx.Deadline(); ok && t.Before(until) {
		until = t
	}
	if err := errors.Join(ctx.Err(), d.conn.SetDeadline(until)); err != nil {
		return err
	}
	if err := d.raw.Write(d.sendOut); err != nil {
		return err
	}
	return d.err
}

// receive reads one datagram and calls each for every message in it: with what
// it carries, or with the error that the kernel reports instead. It says
// whether that was the end of a dump.
func (d *diag) receive(each func(seq uint32, raw []byte, failed error) error) (done bool, err error) {
	if err := d.raw.Read(d.readOne); err != nil {
		return false, err
	}
	if d.err != nil {
		return false, d.err
	}
	return split(d.in[:d.n], each)
}

// drain throws away what still comes of a failed question: the rest of a dump is
// made only as it is read, and the next question would find the socket busy.
func (d *diag) drain() {
	ignore := func(uint32, []byte, error) error { return nil }
	for range 1 << 16 {
		if d.conn.SetReadDeadline(time.Now().Add(10*time.Millisecond)) != nil {
			return
		}
		if _, err := d.receive(ignore); err != nil && !errors.Is(err, errDatagram) {
			return // nothing comes any more
		}
	}
}

// hint adds what to do about an error.
func hint(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EPROTONOSUPPORT), errors.Is(err, unix.EINVAL):
		return fmt.Errorf("%w (this kernel lacks inet_diag for TCP: try modprobe tcp_diag)", err)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w (a security policy forbids NETLINK_SOCK_DIAG here)", err)
	}
	return err
}
