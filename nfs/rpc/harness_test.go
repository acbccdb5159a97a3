package rpc

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"
)

// far is a server that a test plays by hand.
type far struct {
	net.Conn
	t *testing.T
}

// dial gives both ends of a TCP connection.
func dial(t *testing.T) (*Conn, *far) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	there, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c := New(here, Identity{Host: "here", UID: 1, GID: 2})
	t.Cleanup(func() { c.Close(); there.Close() })
	return c, &far{there, t}
}

// call is what a server gets.
type call struct {
	xid, program, version, procedure uint32
	args                             []byte
}

// take reads the next call; false: there is no more.
func (f *far) take() (c call, ok bool) {
	var mark [4]byte
	if _, err := io.ReadFull(f, mark[:]); err != nil {
		return c, false
	}
	record := make([]byte, binary.BigEndian.Uint32(mark[:])&^lastFragment)
	if _, err := io.ReadFull(f, record); err != nil {
		return c, false
	}
	r := Reader{in: &input{buf: record, end: len(record)}, left: len(record)}
	c.xid = r.Uint32()
	kind, rpcv := r.Uint32(), r.Uint32()
	c.program, c.version, c.procedure = r.Uint32(), r.Uint32(), r.Uint32()
	flavor, _ := r.Uint32(), r.Opaque(maxAuth)
	r.Uint32()
	r.Opaque(maxAuth)
	if r.err != nil || kind != msgCall || rpcv != rpcVersion || flavor != flavorSys {
		f.t.Errorf("the call has kind %d, RPC version %d, flavor %d, error %v", kind, rpcv, flavor, r.err)
	}
	c.args = bytes.Clone(r.Fixed(r.left))
	return c, true
}

// answered is the record of an answer.
func answered(xid uint32, result ...uint32) []byte {
	words := append([]uint32{xid, msgReply, 0, flavorNone, 0, 0}, result...)
	b := binary.BigEndian.AppendUint32(nil, uint32(4*len(words))|lastFragment)
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// cut is the same record in fragments of that size at most.
func cut(record []byte, size int) (b []byte) {
	rest := record[markSize:]
	for len(rest) > 0 {
		n := min(size, len(rest))
		mark := uint32(n)
		if n == len(rest) {
			mark |= lastFragment
		}
		b = append(binary.BigEndian.AppendUint32(b, mark), rest[:n]...)
		rest = rest[n:]
	}
	return b
}

func (f *far) say(b []byte) {
	if _, err := f.Write(b); err != nil {
		f.t.Log(err) // the client has gone
	}
}

var add = &Procedure{Program: 100_003, Version: 3, Number: 7, Name: "ADD"}

// adder calls for sums, count of them.
type adder struct {
	next, count uint32
	asked       map[int]uint32
	done        []uint32
	order       []uint32
	later       map[uint32]bool // the server asked for time for these
}

func newAdder(count uint32) *adder {
	return &adder{count: count, asked: map[int]uint32{}, later: map[uint32]bool{}}
}

func (a *adder) Call(w *Writer, slot int) *Procedure {
	if _, again := a.asked[slot]; !again {
		if a.next == a.count {
			return nil
		}
		a.asked[slot] = a.next
		a.next++
	}
	w.Begin(add)
	w.Uint32(a.asked[slot])
	return add
}

// busy is what the server says that wants time.
const busy = 0xffff

func (a *adder) Answer(r *Reader, slot int) (time.Duration, error) {
	v := r.Uint32()
	if v == busy {
		a.later[a.asked[slot]] = true
		return 5 * time.Millisecond, nil
	}
	a.done = append(a.done, v)
	a.order = append(a.order, a.asked[slot])
	return 0, nil
}

func (a *adder) Done(slot int, _ time.Duration) { delete(a.asked, slot) }
