package rpc

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Reader reads one message in XDR (RFC 4506), as far as it has come. Its first error
// stays, and what is read after it is 0.
type Reader struct {
	in   *input
	left int // bytes of the record
	err  error
}

// Malformed says that a message is not what it should be. The messages behind it can
// still be read.
type Malformed struct{ What string }

func (m *Malformed) Error() string { return m.What }

func malformed(format string, args ...any) error { return &Malformed{fmt.Sprintf(format, args...)} }

// ErrShort says that a message ended before what it was to have.
var ErrShort error = &Malformed{"the message ends too early"}

// NewReader reads a message that is there.
func NewReader(b []byte) *Reader { return &Reader{in: &input{buf: b, end: len(b)}, left: len(b)} }

// Err is what went wrong first.
func (r *Reader) Err() error { return r.err }

// Left is how many bytes of the message have not been read.
func (r *Reader) Left() int { return r.left }

func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// next gives the next bytes, until more are read.
func (r *Reader) next(n int) []byte {
	if r.err == nil && n > r.left {
		r.err = ErrShort
	}
	if r.err != nil {
		return nil
	}
	b, err := r.in.next(n)
	if err != nil {
		r.err = err
		return nil
	}
	r.left -= n
	return b
}

// Uint32 reads a number.
func (r *Reader) Uint32() uint32 {
	if b := r.next(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads a number.
func (r *Reader) Uint64() uint64 {
	if b := r.next(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// Bool reads a boolean. Anything but 0 and 1 is an error.
func (r *Reader) Bool() bool {
	switch v := r.Uint32(); v {
	case 0:
	case 1:
		return true
	default:
		r.fail(malformed("a boolean is %d", v))
	}
	return false
}

// Fixed reads bytes whose number both ends know. They are good until more is read.
func (r *Reader) Fixed(n int) []byte {
	if b := r.next(n + padding(n)); b != nil {
		return b[:n]
	}
	return nil
}

// Opaque reads at most that many bytes, good until more is read.
func (r *Reader) Opaque(most int) []byte {
	return r.Fixed(r.length(most))
}

// length reads the number of bytes that follow.
func (r *Reader) length(most int) int {
	n := r.Uint32()
	if uint64(n) > uint64(most) {
		r.fail(malformed("%d bytes where there can be at most %d", n, most))
		return 0
	}
	return int(n)
}

// Skip reads over n bytes.
func (r *Reader) Skip(n int) { r.skip(n, nil) }

// Payload reads a number of bytes, at most that many, and then those bytes, as they
// come: to each part goes to take, if there is one.
func (r *Reader) Payload(most int, take func(part []byte)) (n int) {
	n = r.length(most)
	rest := n
	if take == nil {
		rest -= r.drop(n)
	}
	r.skip(rest, take)
	r.skip(padding(n), nil)
	if r.err != nil {
		return 0
	}
	return n
}

// drop has the kernel drop of n bytes what this process has not taken from it yet, if it does
// that here, and skips the others; it says how many that were.
func (r *Reader) drop(n int) (done int) {
	if r.in.drop == nil || r.err != nil || n > r.left {
		return 0
	}
	had := min(n, r.in.end-r.in.begin)
	r.skip(had, nil)
	for done = had; done < n; {
		part, err := r.in.drop(n - done)
		if err != nil {
			r.err = err
			return done
		}
		done += part
		r.left -= part
	}
	return done
}

func (r *Reader) skip(n int, take func([]byte)) {
	if r.err == nil && n > r.left {
		r.err = ErrShort
	}
	for r.err == nil && n > 0 {
		part, err := r.in.some(n)
		if err != nil {
			r.err = err
			return
		}
		if take != nil {
			take(part)
		}
		n -= len(part)
		r.left -= len(part)
	}
}

// Read reads what follows, for another decoder.
func (r *Reader) Read(b []byte) (int, error) {
	if r.err == nil && r.left == 0 {
		return 0, io.EOF
	}
	n := min(len(b), r.left)
	r.skip(n, func(part []byte) { b = b[copy(b, part):] })
	if r.err != nil {
		return 0, r.err
	}
	return n, nil
}

// input is what came of a stream and was not used yet.
type input struct {
	fill       func([]byte) (int, error) // waits until there is some; nil: there is no more
	drop       func(n int) (int, error)  // waits until there is some, and drops at most n bytes of it; nil: cannot be done
	buf        []byte
	begin, end int
}

// next gives n bytes in one piece, at most as many as the buffer has room for.
func (in *input) next(n int) ([]byte, error) {
	for in.end-in.begin < n {
		if len(in.buf)-in.begin < n {
			in.end = copy(in.buf, in.buf[in.begin:in.end])
			in.begin = 0
		}
		if len(in.buf) < n {
			return nil, malformed("%d bytes in one piece are more than there is room for", n)
		}
		if err := in.more(); err != nil {
			return nil, err
		}
	}
	in.begin += n
	return in.buf[in.begin-n : in.begin], nil
}

// some gives at least one byte and at most n.
func (in *input) some(n int) ([]byte, error) {
	if in.begin == in.end {
		in.begin, in.end = 0, 0
		if err := in.more(); err != nil {
			return nil, err
		}
	}
	n = min(n, in.end-in.begin)
	in.begin += n
	return in.buf[in.begin-n : in.begin], nil
}

func (in *input) more() error {
	if in.fill == nil {
		return ErrShort
	}
	n, err := in.fill(in.buf[in.end:])
	in.end += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}
