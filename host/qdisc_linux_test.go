package host

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/mdlayher/netlink"
	"github.com/safchain/ethtool"
	vnetlink "github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/unit"
)

// What this kernel has to shape with, as it tells it itself.
func TestIntegrationQdiscs(t *testing.T) {
	inNamespace(t, func() {
		bucket, tree := tunnel(t, "bucket0"), tunnel(t, "tree0")
		root := func(link vnetlink.Link, major uint16) vnetlink.QdiscAttrs {
			return vnetlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: vnetlink.MakeHandle(major, 0), Parent: vnetlink.HANDLE_ROOT}
		}
		htb := vnetlink.NewHtb(root(tree, 1))
		htb.Defcls = 0x10
		class := func(minor, parent uint16, rate, ceil uint64) vnetlink.Class {
			return vnetlink.NewHtbClass(vnetlink.ClassAttrs{
				LinkIndex: tree.Attrs().Index, Handle: vnetlink.MakeHandle(1, minor), Parent: vnetlink.MakeHandle(1, parent),
			}, vnetlink.HtbClassAttrs{Rate: rate, Ceil: ceil, Buffer: 100_000, Cbuffer: 100_000})
		}
		for _, err := range []error{
			vnetlink.QdiscAdd(&vnetlink.Tbf{QdiscAttrs: root(bucket, 7), Rate: 12_500_000, Limit: 125_000, Buffer: 64_000}),
			vnetlink.QdiscAdd(htb),
			vnetlink.ClassAdd(class(0x1, 0, 90e6, 90e6)),
			vnetlink.ClassAdd(class(0x10, 1, 10e6, 40e6)),
			vnetlink.ClassAdd(class(0x20, 1, 10e6, 60e6)),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		f, err := Collect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]Qdisc{}
		for _, i := range f.Interfaces {
			got[i.Name] = i.Qdiscs
		}
		want := map[string][]Qdisc{
			"bucket0": {{Kind: "tbf", Handle: "7:", Parent: "root", Rate: 100 * unit.Mbps, Bytes: 125_000}},
			"tree0":   {{Kind: "htb", Handle: "1:", Parent: "root", Rate: 40 * unit.Mbps}},
			"lo":      nil,
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0.001, 0)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestIntegrationOffloads(t *testing.T) {
	inNamespace(t, func() {
		e, err := ethtool.NewEthtool()
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		offloads := func() map[string]bool {
			f, err := Collect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return f.Interfaces[0].Offloads
		}
		want := map[string]bool{"rx": true, "tx": true, "sg": true, "tso": true, "gso": true, "gro": true, "lro": false}
		if diff := cmp.Diff(want, offloads()); diff != "" {
			t.Errorf("loopback (-want +got):\n%s", diff)
		}
		if err := e.Change("lo", map[string]bool{"rx-gro": false, "tx-generic-segmentation": false}); err != nil {
			t.Fatal(err)
		}
		want["gro"], want["gso"] = false, false
		if diff := cmp.Diff(want, offloads()); diff != "" {
			t.Errorf("without (-want +got):\n%s", diff)
		}
	})
}

// queueMessage is what the kernel sends of a queue (rtnetlink(7), tc.h).
func queueMessage(t testing.TB, kind string, options func(*netlink.AttributeEncoder) []byte) []byte {
	t.Helper()
	header := make([]byte, sizeofTcMsg)
	binary.NativeEndian.PutUint32(header[4:], 3)
	binary.NativeEndian.PutUint32(header[8:], 0x80010000)
	binary.NativeEndian.PutUint32(header[12:], math.MaxUint32)
	inner := netlink.NewAttributeEncoder()
	before := options(inner)
	nested, err := inner.Encode()
	if err != nil {
		t.Fatal(err)
	}
	ae := netlink.NewAttributeEncoder()
	ae.String(unix.TCA_KIND, kind)
	ae.Bytes(unix.TCA_OPTIONS, append(before, nested...))
	ae.Nested(unix.TCA_STATS2, func(stats *netlink.AttributeEncoder) error {
		stats.Bytes(statsQueue, words(9, 4500, 12, 0, 0))
		return nil
	})
	attributes, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return append(header, attributes...)
}

func words(values ...uint32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.NativeEndian.AppendUint32(b, v)
	}
	return b
}

// Queues that not every kernel has, from their structures in linux/pkt_sched.h.
func TestParseQueues(t *testing.T) {
	for _, c := range []struct {
		kind    string
		options func(*netlink.AttributeEncoder) []byte
		want    Qdisc
	}{
		{"fq", func(o *netlink.AttributeEncoder) []byte {
			o.Uint32(fqLimit, 10_000)
			o.Uint32(fqFlowMaxRate, 25_000_000)
			return nil
		}, Qdisc{Rate: 200 * unit.Mbps, PerFlow: true, Packets: 10_000}},
		{"fq", func(o *netlink.AttributeEncoder) []byte {
			o.Uint32(fqFlowMaxRate, math.MaxUint32)
			return nil
		}, Qdisc{}},
		{"fq_codel", func(o *netlink.AttributeEncoder) []byte { o.Uint32(fqCodelLimit, 10_240); return nil }, Qdisc{Packets: 10_240}},
		{"cake", func(o *netlink.AttributeEncoder) []byte { o.Uint64(cakeBaseRate64, 2_500_000); return nil }, Qdisc{Rate: 20 * unit.Mbps}},
		{"cake", func(*netlink.AttributeEncoder) []byte { return nil }, Qdisc{}},
		{"netem", func(o *netlink.AttributeEncoder) []byte {
			o.Bytes(netemRate, words(1_250_000, 0, 0, 0))
			return words(0, 1000, 0, 0, 0, 0)
		}, Qdisc{Rate: 10 * unit.Mbps, Packets: 1000}},
		{"tbf", func(o *netlink.AttributeEncoder) []byte {
			o.Bytes(tbfParms, words(0, 0, math.MaxUint32, 0, 0, 0, 3_000_000, 0, 0))
			o.Uint64(tbfRate64, 12_500_000_000)
			return nil
		}, Qdisc{Rate: 100 * unit.Gbps, Bytes: 3_000_000}},
		{"bfifo", func(*netlink.AttributeEncoder) []byte { return words(9000) }, Qdisc{Bytes: 9000}},
		{"pfifo", func(*netlink.AttributeEncoder) []byte { return words(100) }, Qdisc{Packets: 100}},
		{"pfifo_fast", func(*netlink.AttributeEncoder) []byte { return words(3, 0x01020202) }, Qdisc{}},
	} {
		t.Run(c.kind, func(t *testing.T) {
			queue, err := parseTC(queueMessage(t, c.kind, c.options))
			if err != nil {
				t.Fatal(err)
			}
			c.want.Kind, c.want.Handle, c.want.Parent, c.want.Drops, c.want.Backlog = c.kind, "8001:", "root", 12, 4500
			if diff := cmp.Diff(c.want, queue.qdisc()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHTBRate(t *testing.T) {
	root := tc{kind: "htb", handle: 1 << 16}
	classes := map[uint32]tc{
		0x10001: {kind: "htb", handle: 0x10001, parent: 1 << 16, rate: 50},
		0x10010: {kind: "htb", handle: 0x10010, parent: 0x10001, rate: 80},
		0x10020: {kind: "htb", handle: 0x10020, parent: 0x10001, rate: 30},
		0x20010: {kind: "htb", handle: 0x20010, parent: 2 << 16, rate: 900},
	}
	for fallback, want := range map[uint32]uint64{0x10: 50, 0x20: 30, 0x30: 80, 0: 80} {
		root.fallback = fallback
		if got := htbRate(root, classes); got != want {
			t.Errorf("default class %x: %d, want %d", fallback, got, want)
		}
	}
	loop := map[uint32]tc{0x10010: {kind: "htb", handle: 0x10010, parent: 0x10010, rate: 5}}
	root.fallback = 0x10
	if got := htbRate(root, loop); got != 5 {
		t.Errorf("a class within itself: %d", got)
	}
}

func TestHandles(t *testing.T) {
	for h, want := range map[uint32]string{math.MaxUint32: "root", 0xfffffff1: "ingress", 0x10000: "1:", 0x1000a: "1:a", 0: "0:"} {
		if got := parent(h); got != want {
			t.Errorf("%#x: %q, want %q", h, got, want)
		}
	}
}

func FuzzParseTC(f *testing.F) {
	for _, kind := range []string{"tbf", "htb", "fq", "fq_codel", "cake", "netem", "bfifo"} {
		f.Add(queueMessage(f, kind, func(o *netlink.AttributeEncoder) []byte {
			o.Bytes(1, words(1, 2, 3))
			o.Uint64(4, 5)
			return nil
		}))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		queue, err := parseTC(message)
		if q := queue.qdisc(); err == nil && !(q.Rate >= 0 && q.Drops >= 0 && q.Backlog >= 0) {
			t.Error(fmt.Sprintf("%x", message), q)
		}
	})
}
