// Package synthetic is a server of NFS whose files need no disk: what is read is made up
// from the offset, and what is written is counted and dropped. So it answers as fast as
// the network and the protocol allow.
package synthetic

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fullbore/fullbore/unit"
)

// Root is the one export, in which all files lie.
const Root = "/synthetic"

// MaxFiles is how many files there can be.
const MaxFiles = 1000

// File is one that there is.
type File struct {
	Name string
	Size unit.Size // bytes
}

// ParseFile reads NAME=SIZE.
func ParseFile(s string) (File, error) {
	name, size, ok := strings.Cut(s, "=")
	if !ok {
		return File{}, fmt.Errorf("%q is not NAME=SIZE, such as big=100GiB", s)
	}
	n, err := unit.ParseSize(size)
	switch {
	case err != nil:
		return File{}, fmt.Errorf("%q: %w", s, err)
	case n < 0:
		return File{}, fmt.Errorf("%q: a file has no less than 0 bytes", s)
	case name == "" || name != path.Base(name) || name == "." || name == ".." || len(name) > maxName:
		return File{}, fmt.Errorf("%q: %q is no name of a file", s, name)
	}
	return File{name, n}, nil
}

const maxName = 255 // bytes, as Linux's file systems have it

// inode is a file as the server has it.
type inode struct {
	id      uint64
	name    string
	size    atomic.Int64
	written atomic.Int64 // bytes
}

// tree is the root and the files in it.
type tree struct {
	began  time.Time
	mu     sync.RWMutex
	names  map[string]*inode
	byID   map[uint64]*inode
	order  []*inode // of listing
	writes bool
	delays float64 // share of reads and writes
	disk   *disk   // nil: nothing has to be read from one
	lastID uint64
}

// delay says whether the client is to ask again later.
func (t *tree) delay() bool { return t.delays > 0 && rand.Float64() < t.delays }

// The numbers of what is no file: the export, and above it the root that version 4 sees.
const (
	rootID   = 1
	pseudoID = 2
)

func newTree(files []File, writes bool) (*tree, error) {
	if len(files) > MaxFiles {
		return nil, fmt.Errorf("%d files; there can be %d", len(files), MaxFiles)
	}
	t := &tree{began: time.Now(), names: map[string]*inode{}, byID: map[uint64]*inode{}, writes: writes, lastID: pseudoID}
	for _, f := range files {
		if _, made := t.create(f.Name, int64(f.Size)); !made {
			return nil, fmt.Errorf("the file %q is there twice", f.Name)
		}
	}
	return t, nil
}

// create makes a file, or finds the one that there is; nil: there are too many.
func (t *tree) create(name string, size int64) (_ *inode, made bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.names[name]; f != nil {
		return f, false
	}
	if len(t.names) >= MaxFiles {
		return nil, false
	}
	t.lastID++
	f := &inode{id: t.lastID, name: name}
	f.size.Store(size)
	t.names[name], t.byID[f.id] = f, f
	t.order = append(t.order, f)
	return f, true
}

func (t *tree) remove(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.names[name]
	if f == nil {
		return false
	}
	delete(t.names, name)
	delete(t.byID, f.id)
	for i := range t.order {
		if t.order[i] == f {
			t.order = append(t.order[:i:i], t.order[i+1:]...)
			break
		}
	}
	return true
}

func (t *tree) named(name string) *inode {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.names[name]
}

func (t *tree) numbered(id uint64) *inode {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byID[id]
}

// list gives the files whose place is behind that.
func (t *tree) list(after uint64) []*inode {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if after >= uint64(len(t.order)) {
		return nil
	}
	return append([]*inode{}, t.order[after:]...)
}

// handleSize is the length of a handle: which server it is from, and a file's number.
const handleSize = 16

// handle is what clients call a file by.
func (t *tree) handle(id uint64) []byte {
	h := binary.BigEndian.AppendUint64(make([]byte, 0, handleSize), uint64(t.began.UnixNano()))
	return binary.BigEndian.AppendUint64(h, id)
}

// find gives the number that a handle has; false: it is of another server, or of a file
// that is gone.
func (t *tree) find(handle []byte) (id uint64, ok bool) {
	if len(handle) != handleSize || binary.BigEndian.Uint64(handle) != uint64(t.began.UnixNano()) {
		return 0, false
	}
	id = binary.BigEndian.Uint64(handle[8:])
	return id, id == rootID || id == pseudoID || t.numbered(id) != nil
}

// period is after how many bytes what is read repeats itself: a prime, so that a read from
// a place that is wrong by a power of two does not look right.
const period = 1_048_573

// pattern is what is read from offset 0 on, long enough that any read of maxData is one
// piece of it.
var pattern = func() []byte {
	b := make([]byte, period+maxData)
	_, _ = rand.NewChaCha8([32]byte{'f', 'u', 'l', 'l', 'b', 'o', 'r', 'e'}).Read(b[:period]) // never fails
	for i := period; i < len(b); i += period {
		copy(b[i:], b[:period])
	}
	return b
}()

// Content is the n bytes at an offset of every file, at most [MaxData] of them.
func Content(offset int64, n int) []byte {
	at := offset % period
	return pattern[at : at+int64(n)]
}

// read is what there is at an offset of a file, once the disk has it: at most n bytes, and
// whether the file ends there.
func (t *tree) read(f *inode, offset uint64, n uint32) (data []byte, eof bool) {
	data, eof = f.read(offset, n)
	t.disk.fetch(f.id, offset, len(data))
	return data, eof
}

func (f *inode) read(offset uint64, n uint32) (data []byte, eof bool) {
	size := uint64(f.size.Load())
	if offset >= size {
		return nil, true
	}
	count := min(uint64(n), maxData, size-offset)
	return Content(int64(offset), int(count)), offset+count == size
}

// write takes note of n bytes at an offset; false: the file would be too large.
func (f *inode) write(offset uint64, n int) bool {
	end := offset + uint64(n)
	if end > maxFile || end < offset {
		return false
	}
	f.written.Add(int64(n))
	for {
		size := f.size.Load()
		if int64(end) <= size || f.size.CompareAndSwap(size, int64(end)) {
			return true
		}
	}
}

const (
	// MaxData is how many bytes a read or write can have.
	MaxData = 4 << 20
	maxData = MaxData
	maxFile = 1 << 62 // bytes
)
