package rpc

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/buildbarn/go-xdr/pkg/protocols/rpcv2"
)

// canned is a connection on which certain bytes come, and then the end.
type canned struct {
	net.Conn
	io.Reader
	io.Writer
}

func (c canned) Read(b []byte) (int, error)      { return c.Reader.Read(b) }
func (c canned) Write(b []byte) (int, error)     { return c.Writer.Write(b) }
func (c canned) Close() error                    { return nil }
func (c canned) SetDeadline(time.Time) error     { return nil }
func (c canned) SetReadDeadline(time.Time) error { return nil }

// FuzzAnswers: whatever a server sends, a client's calls end.
func FuzzAnswers(f *testing.F) {
	const first = 7 << slotBits // number of the first call
	f.Add(answered(first, 1))
	f.Add(cut(answered(first, 1), 3))
	f.Add(append(answered(first, 1), answered(first+1<<slotBits, busy)...))
	f.Fuzz(func(t *testing.T, said []byte) {
		c := New(canned{Reader: bytes.NewReader(said), Writer: io.Discard}, Identity{})
		c.numbers = 7
		a := newAdder(3)
		err := c.Pipeline(t.Context(), 2, a)
		if err == nil && len(a.done) != 3 {
			t.Errorf("without an error, %d calls of 3 were answered", len(a.done))
		}
	})
}

// FuzzCalls: whatever a client sends, a server ends or goes on; and what it says are whole
// records.
func FuzzCalls(f *testing.F) {
	var w Writer
	w.auth = Identity{Host: "here"}.encode()
	w.Begin(add)
	w.Uint32(5)
	w.end()
	f.Add(w.b)
	f.Add(cut(w.b, 9))
	f.Fuzz(func(t *testing.T, said []byte) {
		var out bytes.Buffer
		_ = Serve(canned{Reader: bytes.NewReader(said), Writer: &out}, 1<<16, nil, func(_ *Received, r *Reader, w *Writer) rpcv2.AcceptedReplyData {
			w.Opaque(r.Opaque(100))
			return Success
		})
		in := &Conn{in: input{buf: out.Bytes(), end: out.Len()}}
		for in.in.begin < in.in.end {
			var r Reader
			if err := in.record(1<<17, &r); err != nil {
				t.Fatalf("what the server says is no record: %v", err)
			}
			r.Uint32()
			if kind := r.Uint32(); kind != msgReply {
				t.Fatalf("the server says something of kind %d", kind)
			}
			r.Skip(r.Left())
		}
	})
}
