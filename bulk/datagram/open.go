package datagram

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"

	"github.com/fullbore/fullbore/bulk"
)

// open takes conns over.
func (r *Running) open(conns []bulk.Conn) error {
	length := cmp.Or(r.spec.Length, DefaultLength)
	if err := check(r.spec, length, conns); err != nil {
		return err
	}
	senders := int64(0)
	for _, c := range conns {
		if c.Sender {
			senders++
		}
	}
	r.sending.Store(senders)
	for i, c := range conns {
		f := &flow{
			Conn: c, length: length, header: header{wide: r.spec.Counters64}, measuring: r.spec.Omit == 0,
			ended: make(chan struct{}),
			record: bulk.Stream{
				ID: c.ID, Sender: c.Sender, Retransmits: -1,
				Local: c.UDP.LocalAddr().String(), Remote: c.UDP.RemoteAddr().String(),
			},
		}
		keep := length
		if c.Sender {
			f.record.SendPath = bulk.SendCopy
			f.note(string(r.spec.SendPath), string(bulk.SendCopy))
			f.share = r.spec.Bytes / senders
			if c.ID == first(conns) {
				f.share += r.spec.Bytes % senders
			}
		} else {
			f.record.RecvPath = bulk.RecvCopy
			if r.spec.RecvPath == bulk.RecvTruncate && canTruncate {
				keep, f.record.RecvPath = f.header.size(), bulk.RecvTruncate
			}
			f.note(string(r.spec.RecvPath), string(f.record.RecvPath))
		}
		var err error
		f.record.CPUs, f.record.CPUNote, err = r.spec.Place(c, i)
		if err == nil {
			err = configure(c.UDP, r.spec, length, c.Sender)
		}
		if err == nil {
			f.sock, err = newSocket(c.UDP, length, keep, c.Sender)
		}
		if err != nil {
			return fmt.Errorf("flow %d: %w", c.ID, err)
		}
		r.flows = append(r.flows, f)
	}
	return nil
}

// note says why datagrams are not moved in the way that was asked for.
func (f *flow) note(asked, used string) {
	if asked != "" && asked != used {
		f.record.PathNote = fmt.Sprintf("the bytes were copied: datagrams cannot be moved by %s on %s", asked, runtime.GOOS)
	}
}

// first is the ID of the first flow that sends.
func first(conns []bulk.Conn) int {
	for _, c := range conns {
		if c.Sender {
			return c.ID
		}
	}
	return 0
}

// check says what is wrong with a transfer of datagrams.
func check(spec bulk.Spec, length int, conns []bulk.Conn) error {
	if err := spec.Check(); err != nil {
		return err
	}
	if length < MinLength || length > MaxLength {
		return fmt.Errorf("datagrams of %d bytes: use %d to %d", length, MinLength, MaxLength)
	}
	if len(conns) == 0 {
		return errors.New("there are no flows")
	}
	for _, c := range conns {
		if c.UDP == nil || !remote(c.UDP).IsValid() {
			return fmt.Errorf("flow %d has no connected UDP socket", c.ID)
		}
	}
	return nil
}
