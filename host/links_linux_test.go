package host

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/netlink"
	vnetlink "github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// inNamespace runs test on a thread with a network namespace of its own, which
// ends with the test.
func inNamespace(t testing.TB, test func()) {
	t.Helper()
	runtime.LockOSThread() // and never unlock
	ns, err := netns.New()
	if errors.Is(err, os.ErrPermission) {
		t.Skipf("needs a network namespace: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	test()
}

var loopback = netip.MustParseAddr("127.0.0.1")

// tunnel makes an interface that carries nothing.
func tunnel(t *testing.T, name string) vnetlink.Link {
	t.Helper()
	err := vnetlink.LinkAdd(&vnetlink.Tuntap{LinkAttrs: vnetlink.LinkAttrs{Name: name}, Mode: vnetlink.TUNTAP_MODE_TUN})
	if err != nil {
		t.Fatal(err)
	}
	link, err := vnetlink.LinkByName(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := vnetlink.LinkSetUp(link); err != nil {
		t.Fatal(err)
	}
	return link
}

func TestIntegrationReadLinks(t *testing.T) {
	inNamespace(t, func() {
		lo, err := vnetlink.LinkByName("lo")
		if err == nil {
			err = vnetlink.LinkSetUp(lo)
		}
		if err != nil {
			t.Fatal(err)
		}
		far := tunnel(t, "far0")
		route := &vnetlink.Route{LinkIndex: far.Attrs().Index, Scope: vnetlink.SCOPE_LINK, Dst: &net.IPNet{IP: net.IPv4(198, 18, 0, 0), Mask: net.CIDRMask(15, 32)}}
		if err := vnetlink.RouteAdd(route); err != nil {
			t.Fatal(err)
		}
		before, err := ReadLinks([2]netip.Addr{loopback, loopback})
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, 100_000)
		after, err := ReadLinks([2]netip.Addr{loopback, loopback})
		if err != nil {
			t.Fatal(err)
		}
		deltas := after.Since(before)
		if len(deltas) != 1 || deltas[0].Name != "lo" || !deltas[0].Used || !deltas[0].Route || deltas[0].RxBytes < 100_000 || deltas[0].TxPackets < 2 || deltas[0].Damaged() != 0 {
			t.Errorf("100 kB over the loopback: %+v", deltas)
		}
		links, err := ReadLinks([2]netip.Addr{{}, netip.MustParseAddr("198.18.0.7")}, [2]netip.Addr{{}, netip.MustParseAddr("::ffff:198.18.0.8")})
		if err != nil || !links["far0"].Used || !links["far0"].Route || links["lo"].Route || links["lo"].Used {
			t.Errorf("a route by far0: %+v, %v", links, err)
		}
		links, err = ReadLinks([2]netip.Addr{{}, netip.MustParseAddr("203.0.113.1")}, [2]netip.Addr{})
		if err != nil || links["far0"].Used || links["lo"].Used {
			t.Errorf("no route: %+v, %v", links, err)
		}
	})
}

// exchange sends so many bytes over the loopback.
func exchange(t *testing.T, bytes int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	go func() {
		defer conn.Close()
		_, _ = conn.Write(make([]byte, bytes))
	}()
	if n, err := io.Copy(io.Discard, accepted); err != nil || n != int64(bytes) {
		t.Fatalf("%d bytes, %v", n, err)
	}
}

// What lies below an interface carries its packets.
func TestBelow(t *testing.T) {
	devices := []device{
		{index: 2, name: "eth0", master: 10}, {index: 3, name: "eth1", master: 10}, {index: 4, name: "eth2", master: 12},
		{index: 5, name: "vnet0", kind: "tun", master: 12}, {index: 6, name: "eth3"},
		{index: 10, name: "bond0", kind: "bond"}, {index: 11, name: "bond0.7", kind: "vlan", lower: 10},
		{index: 12, name: "br0", kind: "bridge"}, {index: 13, name: "vlan9", kind: "vlan", lower: 99},
	}
	for name, c := range map[string]struct{ used, want []int }{
		"a VLAN on a bond of two": {[]int{11}, []int{2, 3, 10, 11}},
		"a bridge, with a guest":  {[]int{12}, []int{4, 12}},
		"a card":                  {[]int{6}, []int{6}},
		"nothing":                 {nil, nil},
		"below another namespace": {[]int{13}, []int{13, 99}},
	} {
		used, want := map[int]bool{}, map[int]bool{}
		for _, i := range c.used {
			used[i] = true
		}
		for _, i := range c.want {
			want[i] = true
		}
		below(devices, used)
		if diff := cmp.Diff(want, used); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A device as the kernel would describe it, with counters that no virtual one
// has.
func linkMessage(t testing.TB) []byte {
	t.Helper()
	stats := make([]byte, 8*24)
	for i := range 24 {
		stats[8*i] = byte(i + 1)
	}
	ae := netlink.NewAttributeEncoder()
	ae.String(unix.IFLA_IFNAME, "eth0.7")
	ae.Uint32(unix.IFLA_LINK, 2)
	ae.Uint32(unix.IFLA_MASTER, 9)
	ae.Nested(unix.IFLA_LINKINFO, func(info *netlink.AttributeEncoder) error {
		info.String(iflaInfoKind, "vlan")
		return nil
	})
	ae.Bytes(iflaStats64, stats)
	ae.Uint32(iflaCarrierChanges, 3)
	attributes, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{0, 0, 1, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, attributes...)
}

func TestParseLink(t *testing.T) {
	want := device{index: 5, lower: 2, master: 9, name: "eth0.7", kind: "vlan", counters: LinkCounters{
		RxPackets: 1, TxPackets: 2, RxBytes: 3, TxBytes: 4, RxErrors: 5, TxErrors: 6, RxDropped: 7, TxDropped: 8,
		Collisions: 10, Length: 11, CRC: 13, Frame: 14, RxMissed: 16, Aborted: 17, CarrierErrors: 18, LateCollisions: 21, CarrierChanges: 3,
	}}
	got, err := parseLink(linkMessage(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(device{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, message := range [][]byte{nil, make([]byte, 15), append(make([]byte, 16), 3, 0, 0, 0)} {
		if d, err := parseLink(message); err == nil {
			t.Errorf("%v is read as %+v", message, d)
		}
	}
}

func FuzzParseLink(f *testing.F) {
	f.Add(linkMessage(f))
	f.Add(make([]byte, 16))
	f.Fuzz(func(t *testing.T, message []byte) {
		d, err := parseLink(message)
		if err == nil && CheckLinks([]LinkDelta{{Name: "eth0", LinkCounters: d.counters}}) != nil {
			t.Errorf("%x is read as %+v", message, d)
		}
	})
}
