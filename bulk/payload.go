package bulk

import (
	"math/rand/v2"
	"os"
	"unsafe"
)

// newBuffer is a buffer of n bytes that begins on a page, as the kernel copies
// fastest.
func newBuffer(n int) []byte {
	page := os.Getpagesize()
	buf := make([]byte, n+page)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(buf)))) & (page - 1)
	return buf[skip : skip+n : skip+n]
}

// newPayload is n pseudo-random bytes: nothing on the path can compress them.
func newPayload(n int) []byte {
	buf := newBuffer(n)
	rand.NewChaCha8([32]byte{}).Read(buf) //nolint:errcheck // never fails
	return buf
}
