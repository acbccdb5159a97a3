// Package rpc calls ONC remote procedures (RFC 5531) over TCP: many at once over one
// connection, answered in any order.
package rpc

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	msgCall  = 0 // RFC 5531, section 9
	msgReply = 1

	flavorNone = 0 // AUTH_NONE
	flavorSys  = 1 // AUTH_SYS, appendix A

	maxAuth  = 400       // bytes of a verifier (section 8.2)
	roomSize = 256 << 10 // bytes that are read at once
	maxHead  = 64 << 10  // bytes of an answer beside what it was asked for
	maxParts = 1 << 10   // fragments of a record: no server needs one for less than 1 KiB
)

// Conn is a connection to a server. Its calls belong to one goroutine at a time.
type Conn struct {
	conn net.Conn
	in   input
	out  Writer // calls that are not sent yet

	// Within is how long a call may take. Its default is that of a kernel's client, 60 s
	// (nfs(5), timeo).
	Within time.Duration

	// Discard has the kernel drop the data of answers that nobody wants to see, without a copy
	// (MSG_TRUNC, tcp(7)). Elsewhere than on Linux it is copied all the same.
	Discard bool

	// Coalesce takes answers several at a time, as a network card coalesces its interrupts: a quarter
	// of what is on its way is waited for. By Little's law that adds a quarter of the latency at most,
	// and 1 ms at most. Elsewhere than on Linux it does nothing.
	Coalesce bool

	// Most is how many bytes an answer may have. Its default has room for 1 MiB of data.
	Most int

	numbers uint32 // of calls
	sending sync.Mutex
	rest    []byte // what the socket had no room for, which a goroutine sends
	broken  error  // why it could not
}

// Identity is who calls, in the words of AUTH_SYS.
type Identity struct {
	Host     string
	UID, GID uint32
}

// New takes over a connection.
func New(conn net.Conn, who Identity) *Conn {
	c := &Conn{conn: block(conn), Within: time.Minute, Most: 1<<20 + maxHead}
	c.in.buf = make([]byte, roomSize)
	c.numbers = uint32(time.Now().UnixNano()) // a server is not to take a call for one of a connection before
	c.out.auth = who.encode()
	return c
}

func (id Identity) encode() []byte {
	const maxName = 255
	var body, w Writer
	body.Uint32(uint32(time.Now().Unix()))
	body.String(id.Host[:min(len(id.Host), maxName)])
	body.Uint32(id.UID)
	body.Uint32(id.GID)
	body.Uint32(0) // other groups
	w.Uint32(flavorSys)
	w.Opaque(body.b)
	w.Uint32(flavorNone) // the verifier
	w.Uint32(0)
	return w.b
}

// Close closes the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Net is the connection itself, to look at: what its kernel says of it.
func (c *Conn) Net() net.Conn { return c.conn }

// Call makes one call and waits for its answer. args and answer may be nil.
func (c *Conn) Call(ctx context.Context, p *Procedure, args func(*Writer), answer func(*Reader) error) error {
	one := &single{p: p, args: args, answer: answer}
	return c.Pipeline(ctx, 1, one)
}

// single is a pipeline's caller with one call.
type single struct {
	p      *Procedure
	args   func(*Writer)
	answer func(*Reader) error
	called bool
}

func (s *single) Call(w *Writer, _ int) *Procedure {
	if s.called {
		return nil
	}
	s.called = true
	w.Begin(s.p)
	if s.args != nil {
		s.args(w)
	}
	return s.p
}

func (s *single) Done(int, time.Duration) {}

func (s *single) Answer(r *Reader, _ int) (time.Duration, error) {
	if s.answer == nil {
		r.Skip(r.Left())
		return 0, nil
	}
	return 0, s.answer(r)
}

// flush sends the calls that are ready. What the socket has no room for is sent
// beside: a server may wait until its answers are read before it reads on.
func (c *Conn) flush() error {
	if len(c.out.b) == 0 {
		return nil
	}
	defer func() { c.out.b = c.out.b[:0] }()
	c.sending.Lock()
	defer c.sending.Unlock()
	if c.broken != nil {
		return c.broken
	}
	if c.rest != nil {
		c.rest = append(c.rest, c.out.b...)
		return nil
	}
	n, err := try(c.conn, c.out.b)
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if n < len(c.out.b) {
		c.rest = append([]byte{}, c.out.b[n:]...)
		go c.sendRest()
	}
	return nil
}

func (c *Conn) sendRest() {
	c.sending.Lock()
	defer c.sending.Unlock()
	for len(c.rest) > 0 && c.broken == nil {
		part := c.rest
		c.rest = []byte{}
		c.sending.Unlock()
		_, err := c.conn.Write(part)
		c.sending.Lock()
		if err != nil {
			c.broken = fmt.Errorf("send: %w", err)
			_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // who reads is to hear it
		}
	}
	c.rest = nil
}

func (c *Conn) sendError() error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.broken
}

// record waits for the next record, and makes r a reader of it. One that comes in more
// than one fragment is put together first, if it has at most most bytes.
func (c *Conn) record(most int, r *Reader) error {
	size, last, err := c.mark(most)
	if err != nil {
		return err
	}
	if last {
		*r = Reader{in: &c.in, left: size}
		return nil
	}
	var whole []byte
	for parts := 1; ; parts++ {
		if parts > maxParts {
			return fmt.Errorf("a record in more than %d parts", maxParts)
		}
		part := Reader{in: &c.in, left: size}
		part.skip(size, func(b []byte) { whole = append(whole, b...) })
		if part.err != nil {
			return part.err
		}
		if last {
			*r = *NewReader(whole)
			return nil
		}
		if size, last, err = c.mark(most - len(whole)); err != nil {
			return err
		}
	}
}

// mark reads what precedes a fragment.
func (c *Conn) mark(most int) (size int, last bool, err error) {
	b, err := c.in.next(markSize)
	if err != nil {
		return 0, false, err
	}
	v := binary.BigEndian.Uint32(b)
	last = v&lastFragment != 0
	if v &^= lastFragment; int64(v) > int64(most) {
		return 0, false, fmt.Errorf("a record of %d bytes or more, where there can be at most %d", v, most)
	}
	return int(v), last, nil
}

// Denied is a server's refusal of a call.
type Denied struct{ Reason string }

func (d *Denied) Error() string { return d.Reason }

// RFC 5531, section 9
var (
	notAccepted = map[uint32]string{1: "the server does not have this program", 2: "the server does not have this version of the program", 3: "the server does not have this procedure", 4: "the server could not decode the call", 5: "the server has an error of its own"}
	authStats   = map[uint32]string{1: "bad credentials", 2: "rejected credentials", 3: "bad verifier", 4: "rejected verifier", 5: "it asks for a stronger identity than AUTH_SYS (Kerberos), or for a port below 1024", 6: "bad answer verifier", 7: "it does not say why"}
)

// accepted reads the head of an answer, behind its number.
func accepted(r *Reader) error {
	if kind := r.Uint32(); r.err == nil && kind != msgReply {
		return fmt.Errorf("a message of kind %d instead of an answer", kind)
	}
	switch stat := r.Uint32(); {
	case r.err != nil:
	case stat == 1: // MSG_DENIED
		if why := r.Uint32(); r.err == nil && why == 1 {
			return &Denied{"the server refuses who calls: " + named(authStats, r.Uint32())}
		}
		return cmp.Or(r.err, error(&Denied{"the server speaks another version of RPC than 2"}))
	case stat != 0:
		return fmt.Errorf("an answer with status %d", stat)
	}
	r.Uint32() // the verifier's flavor
	r.Opaque(maxAuth)
	if stat := r.Uint32(); r.err == nil && stat != 0 {
		return &Denied{named(notAccepted, stat)}
	}
	return r.err
}

func named(names map[uint32]string, v uint32) string {
	if name := names[v]; name != "" {
		return name
	}
	return fmt.Sprintf("status %d", v)
}
