package bulk

import (
	"math/rand/v2"
	"os"
	"sync"
	"unsafe"
)

// random are the pseudo-random bytes that all transfers send: nothing on the path
// can compress them. They are never freed: with MSG_ZEROCOPY, the kernel may
// refer to them when the transfer is over and its connections are closed, and
// would then send whatever took their place.
var random = sync.OnceValue(func() []byte {
	bytes := newBuffer(MaxLength)
	rand.NewChaCha8([32]byte{}).Read(bytes) //nolint:errcheck // never fails
	return bytes
})

// payload is one block of random bytes, which every stream sends again and again.
type payload struct {
	bytes []byte

	once sync.Once
	file *os.File // the same bytes, for sendfile; nil: see err
	err  error
}

// newPayload is a payload of n bytes, MaxLength at most.
func newPayload(n int) *payload { return &payload{bytes: random()[:n:n]} }

func (p *payload) close() {
	if p != nil && p.file != nil {
		p.file.Close()
	}
}

// newBuffer is a buffer of n bytes that begins on a page, as the kernel copies
// fastest.
func newBuffer(n int) []byte {
	page := os.Getpagesize()
	buf := make([]byte, n+page)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(buf)))) & (page - 1)
	return buf[skip : skip+n : skip+n]
}
