package synthetic

import (
	"sync"
	"time"
)

// disk makes reads wait as a disk would: for blocks that were not just read.
type disk struct {
	takes time.Duration // for a read of which it does not have all in memory
	heads chan struct{} // each reads for one request at a time

	mu     sync.Mutex
	memory map[block]bool
	ring   []block // in the order in which they came
	next   int     // place in the ring that is used again
}

// block is blockSize bytes of a file.
type block struct {
	file   uint64
	number uint64
}

const (
	blockSize = 4 << 10  // bytes: a page of most hosts
	memory    = 64 << 20 // bytes that a disk's server keeps of what was read last
)

// MaxDisks is how many requests a disk can read for at once.
const MaxDisks = 1000

func newDisk(takes time.Duration, heads int) *disk {
	return &disk{takes: takes, heads: make(chan struct{}, max(1, heads)), memory: map[block]bool{}, ring: make([]block, 0, memory/blockSize)}
}

// fetch waits until so many bytes of a file have been read. A nil disk has all in memory.
func (d *disk) fetch(file, offset uint64, bytes int) {
	if d == nil || bytes == 0 {
		return
	}
	first, last := offset/blockSize, (offset+uint64(bytes)-1)/blockSize
	if d.remembers(file, first, last) {
		return
	}
	d.heads <- struct{}{}
	time.Sleep(d.takes)
	<-d.heads
	d.remember(file, first, last)
}

func (d *disk) remembers(file, first, last uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := first; n <= last; n++ {
		if !d.memory[block{file, n}] {
			return false
		}
	}
	return true
}

// remember takes note of blocks, in the place of those that came first.
func (d *disk) remember(file, first, last uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := first; n <= last; n++ {
		b := block{file, n}
		if d.memory[b] {
			continue
		}
		d.memory[b] = true
		if len(d.ring) < cap(d.ring) {
			d.ring = append(d.ring, b)
			continue
		}
		delete(d.memory, d.ring[d.next])
		d.ring[d.next] = b
		d.next = (d.next + 1) % len(d.ring)
	}
}
