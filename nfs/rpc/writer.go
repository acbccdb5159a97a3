package rpc

import "encoding/binary"

// Writer appends calls to what a connection is about to send, in XDR (RFC 4506).
type Writer struct {
	b     []byte
	begun int    // where the record of this call begins
	xid   uint32 // of this call
	auth  []byte // credential and verifier
}

// Procedure is one that a server answers. The name is for errors.
type Procedure struct {
	Program, Version, Number uint32
	Name                     string
}

const (
	rpcVersion   = 2       // RFC 5531, section 8.1
	lastFragment = 1 << 31 // of a record (section 11)
	markSize     = 4       // bytes, before each fragment
)

// Begin appends the head of a call.
func (w *Writer) Begin(p *Procedure) {
	w.begun = len(w.b)
	for _, v := range [...]uint32{0, w.xid, msgCall, rpcVersion, p.Program, p.Version, p.Number} {
		w.Uint32(v)
	}
	w.b = append(w.b, w.auth...)
}

// end fills in how long the record became.
func (w *Writer) end() {
	binary.BigEndian.PutUint32(w.b[w.begun:], uint32(len(w.b)-w.begun-markSize)|lastFragment)
}

// Uint32 appends a number.
func (w *Writer) Uint32(v uint32) { w.b = binary.BigEndian.AppendUint32(w.b, v) }

// Uint64 appends a number.
func (w *Writer) Uint64(v uint64) { w.b = binary.BigEndian.AppendUint64(w.b, v) }

// Bool appends a boolean.
func (w *Writer) Bool(v bool) {
	if v {
		w.Uint32(1)
	} else {
		w.Uint32(0)
	}
}

// Fixed appends bytes whose number both ends know.
func (w *Writer) Fixed(b []byte) {
	w.b = append(w.b, b...)
	w.b = append(w.b, zeros[:padding(len(b))]...)
}

// Opaque appends bytes and their number.
func (w *Writer) Opaque(b []byte) {
	w.Uint32(uint32(len(b)))
	w.Fixed(b)
}

// String appends a string.
func (w *Writer) String(s string) {
	w.Uint32(uint32(len(s)))
	w.b = append(w.b, s...)
	w.b = append(w.b, zeros[:padding(len(s))]...)
}

// Write appends what another encoder has made.
func (w *Writer) Write(b []byte) (int, error) {
	w.b = append(w.b, b...)
	return len(b), nil
}

// Len is how many bytes there are.
func (w *Writer) Len() int { return len(w.b) }

// From gives the bytes from a place on, until more is written.
func (w *Writer) From(at int) []byte { return w.b[at:] }

// Set changes the number at a place.
func (w *Writer) Set(at int, v uint32) { binary.BigEndian.PutUint32(w.b[at:], v) }

// Truncate takes what is behind a place away.
func (w *Writer) Truncate(at int) { w.b = w.b[:at] }

var zeros [3]byte

// padding is how many bytes are missing to a multiple of four.
func padding(n int) int { return -n & 3 }
