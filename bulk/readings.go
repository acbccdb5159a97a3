package bulk

import (
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/fullbore/fullbore/host"
)

// Readings are what this end's system counted when a transfer began, of the
// network namespace of the thread that reads. What a system does not count stays
// empty, here and in the End: the transfer itself is good.
type Readings struct {
	flows    [][2]netip.Addr // local and remote
	counters map[string]int64
	measured map[string]int64 // counters when the measured time began
	links    host.Links
	memory   *host.TCPMemory // with the most that was in use since
	looked   time.Time
}

// Read takes the readings before a transfer on conns, which are all between the
// same hosts.
func Read(conns []Conn) *Readings {
	r := &Readings{}
	for _, c := range conns {
		flow := c.addresses()
		if flow[1].IsValid() && len(r.flows) < maxFlows && !slices.Contains(r.flows, flow) {
			r.flows = append(r.flows, flow)
		}
	}
	r.counters, _ = host.Counters()
	r.measured = r.counters
	r.links, _ = host.ReadLinks(r.flows...)
	r.look()
	return r
}

// maxFlows is how many pairs of addresses are looked up. Streams of one transfer
// have one pair, or a few where the hosts have several addresses.
const maxFlows = 8

// addresses are those of both ends.
func (c Conn) addresses() [2]netip.Addr {
	var ends [2]net.Addr
	switch {
	case c.TCP != nil:
		ends = [2]net.Addr{c.TCP.LocalAddr(), c.TCP.RemoteAddr()}
	case c.UDP != nil:
		ends = [2]net.Addr{c.UDP.LocalAddr(), c.UDP.RemoteAddr()}
	}
	var flow [2]netip.Addr
	for i, end := range ends {
		switch a := end.(type) {
		case *net.TCPAddr:
			flow[i] = a.AddrPort().Addr().Unmap()
		case *net.UDPAddr:
			flow[i] = a.AddrPort().Addr().Unmap()
		}
	}
	return flow
}

// memoryLook is the least time between looks at TCP's memory: a look costs some
// 20 µs, and memory that is short stays so for longer.
const memoryLook = 100 * time.Millisecond

// look keeps the most memory that TCP has held.
func (r *Readings) look() {
	if time.Since(r.looked) < memoryLook {
		return
	}
	now, err := host.ReadTCPMemory()
	if err != nil {
		return
	}
	if r.memory != nil {
		now.Used = max(now.Used, r.memory.Used)
	}
	r.memory, r.looked = &now, time.Now()
}

// Begin notes where the counters stand when the measured time begins, if that is
// later than the transfer.
func (r *Readings) Begin() { r.measured, _ = host.Counters() }

// Since adds to end what has changed since r.
func (r *Readings) Since(end *End) {
	if now, err := host.Counters(); err == nil {
		if r.counters != nil {
			end.Counters = host.Delta(r.counters, now)
		}
		if r.measured != nil {
			end.Measured = host.Delta(r.measured, now)
		}
	}
	if now, err := host.ReadLinks(r.flows...); err == nil && r.links != nil {
		end.Links = now.Since(r.links)
	}
	r.look()
	end.Memory = r.memory
}
