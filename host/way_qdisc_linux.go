package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// rootQdisc is the kind of the queue before an interface. A kind is all that is
// set and put back, so a queue only gives way to another if nobody gave it
// parameters, which would be lost.
type rootQdisc struct{}

// bareQdiscs are the kinds that work without parameters. Each comes with what
// shows that one of them has only its defaults.
var bareQdiscs = map[string]func(q tc, d device) bool{
	"pfifo_fast": func(tc, device) bool { return true },
	"noqueue":    func(tc, device) bool { return true },
	"mq":         func(tc, device) bool { return true },
	"pfifo":      func(q tc, d device) bool { return q.packets == max(d.queue, 1) }, // fifo_init
	"fq":         bareFQ,
	"fq_codel":   bareFQCodel,
}

// parmsOf reads attributes that are numbers of 32 bits, or of 8.
func parmsOf(options []byte) map[uint16]uint32 {
	ad, err := netlink.NewAttributeDecoder(options)
	if err != nil {
		return nil
	}
	numbers := map[uint16]uint32{}
	for ad.Next() {
		switch data := ad.Bytes(); len(data) {
		case 1:
			numbers[ad.Type()] = uint32(data[0])
		case 4:
			numbers[ad.Type()] = binary.NativeEndian.Uint32(data)
		}
	}
	return numbers
}

// holds reports whether the numbers that are there are as they should be; older
// kernels have fewer.
func holds(numbers, want map[uint16]uint32) bool {
	for attribute, value := range want {
		if number, ok := numbers[attribute]; ok && number != value {
			return false
		}
	}
	return len(numbers) > 0
}

// bareFQ knows the defaults of fq_init (net/sched/sch_fq.c). Its quantum comes
// from the MTU that the device had then: 2 packets, and 10 to begin with.
func bareFQ(q tc, _ device) bool {
	numbers := parmsOf(q.parms)
	return numbers[4] == 5*numbers[3] && holds(numbers, map[uint16]uint32{
		fqLimit: 10_000, 2: 100, 5: 1, fqFlowMaxRate: 1<<32 - 1, 8: 10, 9: 40_000, 10: 1023,
		11: 550_000 / 8, 12: 1<<32 - 1, 13: 10_000, 14: 10_000_000, 15: 1,
	})
}

// bareFQCodel knows those of fq_codel_init (net/sched/sch_fq_codel.c). Times
// are rounded on the way (include/net/codel.h, codel_time_to_us).
func bareFQCodel(q tc, d device) bool {
	numbers := parmsOf(q.parms)
	_, marks := numbers[7]   // CE threshold: off, it is not reported
	quantum := numbers[6]    // a packet with its header, by the MTU at that time
	const longestHeader = 64 // bytes; Ethernet's has 14
	return !marks && quantum >= d.mtu && quantum <= d.mtu+longestHeader &&
		near(numbers[1], 5_000) && near(numbers[3], 100_000) &&
		holds(numbers, map[uint16]uint32{fqCodelLimit: 10_240, 4: 1, 5: 1024, 8: 64, 9: 32 << 20})
}

func near(number, want uint32) bool { return number == want || number+1 == want }

// byKernel reports whether the kernel attached the queue, with defaults: those
// have no number of their own.
func (t *tc) byKernel() bool { return t.handle>>16 == 0 }

// replaceable reports, as an error, why an interface's queues cannot be replaced
// and put back by the name of the root's kind.
func replaceable(queues []tc, d device) error {
	root := queues[0]
	if !root.byKernel() {
		bare, known := bareQdiscs[root.kind]
		if !known {
			return fmt.Errorf("someone set up %.16q there, whose parameters would be lost", root.kind)
		}
		if !bare(root, d) {
			return fmt.Errorf("someone gave the %s there parameters that would be lost", root.kind)
		}
	}
	for _, q := range queues[1:] {
		if q.parent != atIngress && !q.byKernel() {
			return fmt.Errorf("someone set up %.16q below the %s there, which would be lost", q.kind, root.kind)
		}
	}
	return nil
}

// find gives an interface and its queues, the root first.
func (rootQdisc) find(s *session, name string) (device, []tc, error) {
	d, err := s.device(name)
	if err != nil {
		return d, nil, err
	}
	all, err := s.queues()
	if err != nil {
		return d, nil, err
	}
	queues := all[d.index]
	if len(queues) == 0 || queues[0].parent != atRoot {
		return d, nil, errors.New("there is no queue: the interface is down")
	}
	return d, queues, nil
}

func (w rootQdisc) get(s *session, name string) (string, error) {
	_, queues, err := w.find(s, name)
	if err != nil {
		return "", err
	}
	return queues[0].kind, nil
}

func (w rootQdisc) set(s *session, name, kind string) error {
	d, queues, err := w.find(s, name)
	if err != nil {
		return err
	}
	root := queues[0]
	if root.kind == kind {
		return nil
	}
	if err := replaceable(queues, d); err != nil {
		return err
	}
	if !root.byKernel() {
		// What the kernel attaches by itself when this one goes may be what is
		// wanted: then it is as it was before someone came.
		if err := s.kernel.queue(unix.RTM_DELQDISC, 0, d.index, ""); err != nil {
			return refused(err)
		}
		s.forget()
		if now, err := w.get(s, name); err == nil && now == kind {
			return nil
		}
	}
	_, bare := bareQdiscs[kind]
	if bare {
		if err = s.kernel.queue(unix.RTM_NEWQDISC, netlink.Create|netlink.Replace, d.index, kind); err == nil {
			return nil
		}
		err = refused(err)
	} else {
		err = fmt.Errorf("only %s work without parameters", strings.Join(slices.Sorted(maps.Keys(bareQdiscs)), ", "))
	}
	if !root.byKernel() {
		err = errors.Join(err, s.kernel.queue(unix.RTM_NEWQDISC, netlink.Create|netlink.Replace, d.index, root.kind))
	}
	return err
}

func (w rootQdisc) settable(s *session, name string) error {
	d, queues, err := w.find(s, name)
	if err != nil {
		return err
	}
	if err := replaceable(queues, d); err != nil {
		return err
	}
	return s.mayConfigure()
}

// queue puts a queue at an interface's root, or takes it away.
func (r *rtnetlink) queue(what netlink.HeaderType, flags netlink.HeaderFlags, index int, kind string) error {
	body := make([]byte, sizeofTcMsg)
	binary.NativeEndian.PutUint32(body[4:], uint32(index))
	binary.NativeEndian.PutUint32(body[12:], atRoot)
	if kind != "" {
		ae := netlink.NewAttributeEncoder()
		ae.String(unix.TCA_KIND, kind)
		attributes, err := ae.Encode()
		if err != nil {
			return err
		}
		body = append(body, attributes...)
	}
	_, err := r.ask(what, netlink.Request|netlink.Acknowledge|flags, body)
	return err
}
