package iperf3

import (
	"cmp"
	"errors"
	"slices"
	"sync"
)

// door lets the streams of one test in, as long as it stands open.
type door struct {
	mu   sync.Mutex
	open bool
	want int
	in   []Connection
	full chan struct{} // closed when all are in
}

func (d *door) unlock(want int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open, d.want, d.full = true, want, make(chan struct{})
}

var errShut = errors.New("its cookie is that of a test that takes no streams now")

// enter lets a connection in; with an error, it remains the caller's.
func (d *door) enter(c Connection) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !d.open:
		return errShut
	case len(c.First) > cookieSize:
		return errors.New("data came before the test began")
	}
	if d.in = append(d.in, c); len(d.in) == d.want {
		d.open = false
		close(d.full)
	}
	return nil
}

// shut admits no more clients, and gives those that are, in the order in which
// they were accepted.
func (d *door) shut() []Connection {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = false
	slices.SortFunc(d.in, func(a, b Connection) int { return cmp.Compare(a.Order, b.Order) })
	in := d.in
	d.in = nil
	return in
}
