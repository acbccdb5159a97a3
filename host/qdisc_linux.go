package host

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/unit"
)

// Of linux/pkt_sched.h and linux/gen_stats.h: attributes by which the kernel
// describes queues and their classes. Rates are in bytes a second.
const (
	tbfParms  = 1 // struct tc_tbf_qopt
	tbfRate64 = 4

	htbParms  = 1 // struct tc_htb_opt
	htbInit   = 2 // struct tc_htb_glob
	htbCeil64 = 7

	fqLimit       = 1 // packets
	fqFlowMaxRate = 7

	fqCodelLimit = 2 // packets

	cakeBaseRate64 = 2

	netemHeader = 24 // struct tc_netem_qopt, before the attributes
	netemRate   = 6  // struct tc_netem_rate
	netemRate64 = 8

	statsQueue = 3 // struct gnet_stats_queue
)

// qdiscs are all queues, by the number of their interface, the root first.
func (r *rtnetlink) qdiscs() (map[int][]tc, error) {
	answers, err := r.dump(unix.RTM_GETQDISC, make([]byte, sizeofTcMsg))
	if err != nil {
		return nil, err
	}
	all := map[int][]tc{}
	for _, a := range answers {
		if a.Header.Type != unix.RTM_NEWQDISC {
			continue
		}
		t, err := parseTC(a.Data)
		if err != nil {
			return nil, err
		}
		if t.kind == "htb" {
			classes, err := r.classes(t.index)
			if err != nil {
				return nil, err
			}
			t.rate = htbRate(t, classes)
		}
		if t.parent == atRoot {
			all[t.index] = append([]tc{t}, all[t.index]...)
		} else {
			all[t.index] = append(all[t.index], t)
		}
	}
	return all, nil
}

// classes are those of one interface, by their handle.
func (r *rtnetlink) classes(index int) (map[uint32]tc, error) {
	request := make([]byte, sizeofTcMsg)
	binary.NativeEndian.PutUint32(request[4:], uint32(index))
	answers, err := r.dump(unix.RTM_GETTCLASS, request)
	if err != nil {
		return nil, err
	}
	classes := map[uint32]tc{}
	for _, a := range answers {
		if a.Header.Type != unix.RTM_NEWTCLASS {
			continue
		}
		t, err := parseTC(a.Data)
		if err != nil {
			return nil, err
		}
		classes[t.handle] = t
	}
	return classes, nil
}

// htbRate is the most that a packet which no filter puts elsewhere may get: the
// least ceiling of the default class and those around it. Where there is no such
// class, it is the most that any class may.
func htbRate(root tc, classes map[uint32]tc) uint64 {
	if leaf, ok := classes[root.handle|root.fallback]; ok && root.fallback != 0 {
		rate := leaf.rate
		for range classes { // as deep as classes can be
			if leaf, ok = classes[leaf.parent]; !ok {
				break
			}
			rate = min(rate, leaf.rate)
		}
		return rate
	}
	most := uint64(0)
	for _, c := range classes {
		if c.kind == "htb" && c.handle>>16 == root.handle>>16 {
			most = max(most, c.rate)
		}
	}
	return most
}

// sizeofTcMsg is that of struct tcmsg: family, padding, interface, handle,
// parent, info.
const sizeofTcMsg = 20

// tc is a queue or a class as rtnetlink describes it.
type tc struct {
	index          int // of the interface
	handle, parent uint32
	kind           string
	rate           uint64 // bytes a second
	perFlow        bool
	packets, bytes uint32 // limits
	drops, backlog uint32
	fallback       uint32 // of htb: the default class
	parms          []byte // the kind's own, as the kernel has them
}

// parseTC reads an RTM_NEWQDISC or RTM_NEWTCLASS message.
func parseTC(message []byte) (tc, error) {
	ad, err := attributes(message, sizeofTcMsg)
	if err != nil {
		return tc{}, err
	}
	t := tc{
		index:  int(int32(binary.NativeEndian.Uint32(message[4:]))),
		handle: binary.NativeEndian.Uint32(message[8:]),
		parent: binary.NativeEndian.Uint32(message[12:]),
	}
	var options []byte // after the kind in the message, but nobody promises that
	for ad.Next() {
		switch ad.Type() {
		case unix.TCA_KIND:
			t.kind = ad.String()
		case unix.TCA_OPTIONS:
			options = ad.Bytes()
		case unix.TCA_STATS2:
			ad.Nested(func(stats *netlink.AttributeDecoder) error {
				for stats.Next() {
					if stats.Type() == statsQueue {
						queue := stats.Bytes()
						t.backlog, t.drops = word(queue, 4), word(queue, 8)
					}
				}
				return nil
			})
		}
	}
	if err := ad.Err(); err != nil {
		return tc{}, fmt.Errorf("decode queue: %w", err)
	}
	t.parms = options
	if err := t.options(options); err != nil {
		return tc{}, fmt.Errorf("decode options of %.16q: %w", t.kind, err)
	}
	return t, nil
}

// options reads what is particular to a kind.
func (t *tc) options(options []byte) error {
	switch t.kind {
	case "pfifo":
		t.packets = word(options, 0)
		return nil
	case "bfifo":
		t.bytes = word(options, 0)
		return nil
	case "netem":
		t.packets = word(options, 4)
		options = options[min(netemHeader, len(options)):]
	case "tbf", "htb", "fq", "fq_codel", "cake":
	default:
		return nil
	}
	ad, err := netlink.NewAttributeDecoder(options)
	if err != nil {
		return err
	}
	for ad.Next() {
		t.option(ad)
	}
	return ad.Err()
}

func (t *tc) option(ad *netlink.AttributeDecoder) {
	switch kind, attribute := t.kind, ad.Type(); {
	case kind == "tbf" && attribute == tbfParms:
		parms := ad.Bytes()
		t.rate, t.bytes = max(t.rate, uint64(word(parms, 8))), word(parms, 24)
	case kind == "htb" && attribute == htbInit:
		t.fallback = word(ad.Bytes(), 8)
	case kind == "htb" && attribute == htbParms:
		t.rate = max(t.rate, uint64(word(ad.Bytes(), 20)))
	case kind == "netem" && attribute == netemRate:
		t.rate = max(t.rate, uint64(word(ad.Bytes(), 0)))
	case kind == "fq" && attribute == fqLimit, kind == "fq_codel" && attribute == fqCodelLimit:
		t.packets = ad.Uint32()
	case kind == "fq" && attribute == fqFlowMaxRate:
		if rate := ad.Uint32(); rate != math.MaxUint32 {
			t.rate, t.perFlow = uint64(rate), true
		}
	case kind == "tbf" && attribute == tbfRate64, kind == "htb" && attribute == htbCeil64,
		kind == "netem" && attribute == netemRate64, kind == "cake" && attribute == cakeBaseRate64:
		// Beside it stands the 32-bit rate, cut off at its maximum.
		t.rate = max(t.rate, ad.Uint64())
	}
}

// word reads 32 bits of a kernel's structure; 0 where it is shorter.
func word(b []byte, at int) uint32 {
	if len(b) < at+4 {
		return 0
	}
	return binary.NativeEndian.Uint32(b[at:])
}

func (t *tc) qdisc() Qdisc {
	return Qdisc{
		Kind: t.kind, Handle: handle(t.handle), Parent: parent(t.parent),
		Rate: unit.Rate(8 * float64(t.rate)), PerFlow: t.perFlow,
		Packets: int64(t.packets), Bytes: int64(t.bytes), Drops: int64(t.drops), Backlog: int64(t.backlog),
	}
}

// handle is a number of a queue or class as tc(8) writes it.
func handle(h uint32) string {
	if h&0xffff == 0 {
		return fmt.Sprintf("%x:", h>>16)
	}
	return fmt.Sprintf("%x:%x", h>>16, h&0xffff)
}

// What a queue hangs on, beside classes (TC_H_ROOT, TC_H_INGRESS).
const (
	atRoot    = math.MaxUint32
	atIngress = math.MaxUint32 - 14
)

// parent is what a queue hangs on.
func parent(h uint32) string {
	switch h {
	case atRoot:
		return "root"
	case atIngress:
		return "ingress"
	}
	return handle(h)
}
