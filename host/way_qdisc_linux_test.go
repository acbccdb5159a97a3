package host

import (
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/mdlayher/netlink"
	vnetlink "github.com/vishvananda/netlink"
)

// queue puts one before an interface, at its root or below.
func queue(t *testing.T, name string, parent uint32, make func(vnetlink.QdiscAttrs) vnetlink.Qdisc) {
	t.Helper()
	link, err := vnetlink.LinkByName(name)
	if err == nil {
		err = vnetlink.QdiscReplace(make(vnetlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: vnetlink.MakeHandle(9, 0), Parent: parent}))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// removeQueue takes an interface's root queue away.
func removeQueue(name string) error {
	link, err := vnetlink.LinkByName(name)
	if err != nil {
		return err
	}
	return vnetlink.QdiscDel(&vnetlink.GenericQdisc{QdiscAttrs: vnetlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Parent: vnetlink.HANDLE_ROOT}})
}

// What a kernel has of queues, replaced and put back.
func TestIntegrationRootQdisc(t *testing.T) {
	inNamespace(t, func() {
		pair(t, "a0", "b0", 1)
		tunnel(t, "tun0")
		pair(t, "m0", "n0", 4)
		for _, name := range []string{"a0", "tun0", "m0"} {
			queues := func() []tc {
				s := root("/").openSession()
				defer s.close()
				_, found, err := rootQdisc{}.find(s, name)
				if err != nil {
					t.Fatal(err)
				}
				return found
			}
			before := queues()
			for _, kind := range []string{"pfifo", "pfifo_fast", "mq", "noqueue"} {
				if kind == "mq" && name != "m0" {
					continue // it needs several queues
				}
				try(t, trial{"link.qdisc@" + name, kind, ""})
			}
			if after := queues(); after[0].kind != before[0].kind || !after[0].byKernel() || len(after) != len(before) {
				t.Errorf("%s had %v, has %v", name, before, after)
			}
			try(t,
				trial{"link.qdisc@" + name, "htb", "only fq, fq_codel, mq, noqueue, pfifo, pfifo_fast work without parameters"},
				trial{"link.qdisc@" + name, "nonsense", "only fq,"},
				trial{"link.qdisc@" + name, "../pfifo", "only fq,"},
			)
			// One step further, something of ours is there: what fails leaves that.
			if err := Set("link.qdisc@"+name, "pfifo"); err != nil {
				t.Fatal(err)
			}
			try(t, trial{"link.qdisc@" + name, "htb", "work without parameters"})
		}
		try(t, trial{"link.qdisc@a0", "mq", "the kernel refuses it"})
	})
}

// What someone set up stays.
func TestIntegrationRootQdiscOfOthers(t *testing.T) {
	inNamespace(t, func() {
		pair(t, "a0", "b0", 4)
		const name = "link.qdisc@a0"
		queue(t, "a0", vnetlink.HANDLE_ROOT, func(a vnetlink.QdiscAttrs) vnetlink.Qdisc {
			return &vnetlink.Tbf{QdiscAttrs: a, Rate: 12_500_000, Limit: 125_000, Buffer: 64_000}
		})
		try(t, trial{name, "pfifo", "someone set up \"tbf\" there"})
		if err := removeQueue("a0"); err != nil {
			t.Fatal(err)
		}
		queue(t, "a0", vnetlink.HANDLE_ROOT, func(a vnetlink.QdiscAttrs) vnetlink.Qdisc { return vnetlink.NewHtb(a) })
		try(t, trial{name, "noqueue", "someone set up \"htb\" there"})
		f, err := Collect(t.Context())
		if err != nil || f.Tunables[name] != "htb" || !strings.Contains(strings.Join(f.ReadOnly, " "), name) {
			t.Errorf("facts: %q, read only: %v, %v", f.Tunables[name], f.ReadOnly, err)
		}
		if err := removeQueue("a0"); err != nil {
			t.Fatal(err)
		}
		queue(t, "a0", vnetlink.HANDLE_ROOT, func(a vnetlink.QdiscAttrs) vnetlink.Qdisc {
			return &vnetlink.GenericQdisc{QdiscAttrs: a, QdiscType: "mq"}
		})
		try(t, trial{name, "pfifo", ""})
		queue(t, "a0", vnetlink.HANDLE_ROOT, func(a vnetlink.QdiscAttrs) vnetlink.Qdisc {
			return &vnetlink.GenericQdisc{QdiscAttrs: a, QdiscType: "mq"}
		})
		queue(t, "a0", vnetlink.MakeHandle(9, 2), func(a vnetlink.QdiscAttrs) vnetlink.Qdisc {
			a.Handle = vnetlink.MakeHandle(10, 0)
			return &vnetlink.Tbf{QdiscAttrs: a, Rate: 12_500_000, Limit: 125_000, Buffer: 64_000}
		})
		try(t, trial{name, "pfifo", "someone set up \"tbf\" below the mq there"})
		// An ingress queue is not in the way, and stays.
		pair(t, "c0", "d0", 1)
		queue(t, "c0", vnetlink.HANDLE_INGRESS, func(a vnetlink.QdiscAttrs) vnetlink.Qdisc {
			a.Handle = vnetlink.MakeHandle(0xffff, 0)
			return &vnetlink.Ingress{QdiscAttrs: a}
		})
		try(t, trial{"link.qdisc@c0", "pfifo", ""})
		f, err = Collect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Interfaces {
			if i.Name == "c0" && (len(i.Qdiscs) != 2 || i.Qdiscs[1].Kind != "ingress") {
				t.Errorf("queues: %+v", i.Qdiscs)
			}
		}
	})
}

// Which queues have nothing but their defaults, from their structures in
// linux/pkt_sched.h: this kernel may have none of them.
func TestReplaceable(t *testing.T) {
	fq := func(change map[uint16]uint32) func(*netlink.AttributeEncoder) []byte {
		return func(o *netlink.AttributeEncoder) []byte {
			for attribute, value := range map[uint16]uint32{
				1: 10_000, 2: 100, 3: 3028, 4: 15140, 5: 1, 7: math.MaxUint32, 8: 10, 9: 40_000, 10: 1023, 11: 68_750, 12: math.MaxUint32, 13: 10_000, 14: 10_000_000,
			} {
				if other, ok := change[attribute]; ok {
					value = other
				}
				o.Uint32(attribute, value)
			}
			o.Uint8(15, 1)
			o.Bytes(16, make([]byte, 20))
			return nil
		}
	}
	codel := func(change map[uint16]uint32) func(*netlink.AttributeEncoder) []byte {
		return func(o *netlink.AttributeEncoder) []byte {
			values := map[uint16]uint32{1: 4999, 2: 10_240, 3: 99_999, 4: 1, 5: 1024, 6: 1514, 8: 64, 9: 32 << 20}
			maps.Copy(values, change)
			for attribute, value := range values {
				o.Uint32(attribute, value)
			}
			return nil
		}
	}
	fifo := func(limit uint32) func(*netlink.AttributeEncoder) []byte {
		return func(*netlink.AttributeEncoder) []byte { return words(limit) }
	}
	none := func(*netlink.AttributeEncoder) []byte { return nil }
	for _, test := range []struct {
		name, kind string
		options    func(*netlink.AttributeEncoder) []byte
		says       string
	}{
		{"fq as it comes", "fq", fq(nil), ""},
		{"fq of a link with a larger MTU then", "fq", fq(map[uint16]uint32{3: 18028, 4: 90140}), ""},
		{"fq with a rate", "fq", fq(map[uint16]uint32{7: 125_000_000}), "gave the fq there parameters"},
		{"fq with a limit", "fq", fq(map[uint16]uint32{1: 100_000}), "parameters"},
		{"fq with a quantum", "fq", fq(map[uint16]uint32{3: 9000}), "parameters"},
		{"fq without pacing", "fq", fq(map[uint16]uint32{5: 0}), "parameters"},
		{"fq that tells nothing", "fq", none, "parameters"},
		{"fq_codel as it comes", "fq_codel", codel(nil), ""},
		{"fq_codel, rounded otherwise", "fq_codel", codel(map[uint16]uint32{1: 5000, 3: 100_000}), ""},
		{"fq_codel with a target", "fq_codel", codel(map[uint16]uint32{1: 20_000}), "parameters"},
		{"fq_codel with flows", "fq_codel", codel(map[uint16]uint32{5: 65_535}), "parameters"},
		{"fq_codel without ECN", "fq_codel", codel(map[uint16]uint32{4: 0}), "parameters"},
		{"fq_codel that marks early", "fq_codel", codel(map[uint16]uint32{7: 1000}), "parameters"},
		{"fq_codel with a small quantum", "fq_codel", codel(map[uint16]uint32{6: 300}), "parameters"},
		{"pfifo as it comes", "pfifo", fifo(1000), ""},
		{"pfifo with a limit", "pfifo", fifo(10), "parameters"},
		{"pfifo_fast", "pfifo_fast", none, ""},
		{"cake", "cake", none, `someone set up "cake"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			message := queueMessage(t, test.kind, test.options)
			queue, err := parseTC(message)
			if err != nil {
				t.Fatal(err)
			}
			queues := []tc{queue}
			err = replaceable(queues, device{mtu: 1500, queue: 1000})
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, want %q", err, test.says)
			}
			queues[0].handle = 0
			if err := replaceable(queues, device{mtu: 1500, queue: 1000}); err != nil {
				t.Errorf("attached by the kernel: %v", err)
			}
		})
	}
}
