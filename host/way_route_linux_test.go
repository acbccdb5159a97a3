package host

import (
	"encoding/hex"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/netlink"
	vnetlink "github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ip runs ip(8), which says more of routes than the library.
func ip(t *testing.T, arguments string) string {
	t.Helper()
	out, err := exec.Command("ip", strings.Fields(arguments)...).CombinedOutput()
	if err != nil {
		t.Fatalf("ip %s: %v\n%s", arguments, err, out)
	}
	return string(out)
}

// Routes of all kinds keep what they are, whatever congestion control they are
// given, and are the same afterwards.
func TestIntegrationRouteCongestion(t *testing.T) {
	inNamespace(t, func() {
		pair(t, "a0", "b0", 1)
		for _, command := range []string{
			"address add 198.18.0.1/24 dev a0", "-6 address add fd00::1/64 dev a0 nodad",
			"route add default via 198.18.0.2",
			"route add 198.19.1.0/24 via 198.18.0.2 src 198.18.0.1 metric 77 mtu lock 1400 initcwnd 20 advmss 1300 rto_min 50ms",
			"route add 198.19.2.0/24 nexthop via 198.18.0.2 weight 3 nexthop via 198.18.0.3 weight 1",
			"route add 198.19.3.0/24 dev a0 congctl lock reno window 100000",
			"nexthop add id 7 via 198.18.0.9 dev a0", "route add 198.19.4.0/24 nhid 7",
			"route add 198.19.5.0/24 via 198.18.77.1 dev a0 onlink",
			"-6 route add default via fd00::2 metric 20",
			"-6 route add fd00:1::/64 via fd00::2 mtu 1300 hoplimit 9 pref high",
			"-6 route add fd00:2::/64 nexthop via fd00::2 weight 2 nexthop via fd00::3",
		} {
			ip(t, command)
		}
		shown := func() string { return ip(t, "-4 -d route show table all") + ip(t, "-d -6 route show table all") }
		before := shown()
		for _, to := range []string{
			"0.0.0.0/0", "198.19.1.0/24", "198.19.2.0/24", "198.19.3.0/24", "198.19.4.0/24", "198.19.5.0/24", "198.18.0.0/24", "::/0", "fd00:1::/64", "fd00:2::/64",
		} {
			name := "route.congctl@" + to
			was, err := Get(name)
			if want := map[bool]string{true: "reno", false: "default"}[to == "198.19.3.0/24"]; was != want {
				t.Errorf("%s is %q (%v), want %q", name, was, err, want)
			}
			if err := Set(name, "cubic"); err != nil {
				t.Error(err)
			}
			during := shown()
			if strings.Count(during, "congctl cubic")+strings.Count(during, "congctl lock cubic") != 1 {
				t.Errorf("%s with cubic:\n%s", to, during)
			}
			unlocked := strings.NewReplacer(" congctl cubic", "", " congctl lock cubic", " congctl lock reno")
			if d := cmp.Diff(lines(before), lines(unlocked.Replace(during))); d != "" {
				t.Errorf("%s with cubic is another route (-before +during):\n%s", to, d)
			}
			try(t, trial{name, "reno", ""}, trial{name, "nonsense", "the kernel refuses it"}, trial{name, "a-name-longer-than-any", "the kernel refuses it"})
			if err := Set(name, was); err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(before, shown()); d != "" {
				t.Errorf("%s put back (-before +after):\n%s", to, d)
			}
		}
		for _, command := range []string{
			"route add 198.19.6.0/24 via 198.18.0.2 metric 1", "route add 198.19.6.0/24 via 198.18.0.3 metric 2",
			"route add blackhole 198.19.7.0/24", "-6 route add fd00:3::/64 via fd00::2 expires 1000", "route add 198.19.8.0/24 via 198.18.0.2 table 100",
		} {
			ip(t, command)
		}
		try(t,
			trial{"route.congctl@198.19.6.0/24", "reno", "there are several routes"},
			trial{"route.congctl@198.19.7.0/24", "reno", "leads nowhere"},
			trial{"route.congctl@fd00:3::/64", "reno", "comes and goes"},
			trial{"route.congctl@198.19.8.0/24", "reno", "not there in the main table"},
			trial{"route.congctl@198.19.0.0/16", "reno", "not there in the main table"},
		)
		f, err := Collect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for name, value := range f.Tunables {
			if to, ok := strings.CutPrefix(name, "route.congctl@"); ok {
				got[to] = value
			}
		}
		want := map[string]string{
			"0.0.0.0/0": "default", "198.19.1.0/24": "default", "198.19.2.0/24": "default", "198.19.3.0/24": "reno", "198.19.4.0/24": "default", "198.19.5.0/24": "default",
			"::/0": "default", "fd00:1::/64": "default", "fd00:2::/64": "default",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("facts (-want +got):\n%s", d)
		}
		if slices.ContainsFunc(f.ReadOnly, func(name string) bool { return strings.HasPrefix(name, "route.") }) {
			t.Errorf("read only: %v", f.ReadOnly)
		}
	})
}

// lines, sorted: a route that was replaced may be listed in another place.
func lines(text string) []string {
	all := strings.Split(text, "\n")
	slices.Sort(all)
	return all
}

// Of a large table the facts have some routes, and come as fast.
func TestIntegrationManyRoutes(t *testing.T) {
	inNamespace(t, func() {
		pair(t, "a0", "b0", 1)
		ip(t, "address add 198.18.0.1/24 dev a0")
		link, err := vnetlink.LinkByName("a0")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3000 {
			to := &net.IPNet{IP: net.IP{198, 19, byte(i / 64), byte(i % 64 * 4)}, Mask: net.CIDRMask(30, 32)}
			if err := vnetlink.RouteAdd(&vnetlink.Route{Dst: to, LinkIndex: link.Attrs().Index, Gw: net.IPv4(198, 18, 0, 2).To4()}); err != nil {
				t.Fatal(err)
			}
		}
		f, err := Collect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for name := range f.Tunables {
			if strings.HasPrefix(name, "route.") {
				count++
			}
		}
		if count != 16 {
			t.Errorf("%d routes, want 16", count)
		}
		try(t, trial{"route.congctl@198.19.40.252/30", "reno", ""})
	})
}

// routeMessage is what the kernel sends of a route (rtnetlink(7)).
func routeMessage(t testing.TB, family, bits byte, attributes func(*netlink.AttributeEncoder)) []byte {
	t.Helper()
	ae := netlink.NewAttributeEncoder()
	attributes(ae)
	encoded, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte{family, bits, 0, 0, unix.RT_TABLE_MAIN, 3, 0, unix.RTN_UNICAST, 0, 0, 0, 0}, encoded...)
}

// A route as it is parsed and made anew; what cannot be a route is refused.
func FuzzParseRoute(f *testing.F) {
	f.Add(routeMessage(f, unix.AF_INET, 24, func(ae *netlink.AttributeEncoder) {
		ae.Bytes(unix.RTA_DST, []byte{198, 19, 1, 0})
		ae.Bytes(unix.RTA_GATEWAY, []byte{198, 18, 0, 2})
		ae.Nested(unix.RTA_METRICS, func(metrics *netlink.AttributeEncoder) error {
			metrics.Uint32(2, 1400)
			metrics.String(rtaxCCAlgo, "bbr")
			return nil
		})
	}))
	f.Add(routeMessage(f, unix.AF_INET6, 0, func(ae *netlink.AttributeEncoder) {
		ae.Bytes(unix.RTA_MULTIPATH, append(words(8|4<<16|1<<24, 2), words(12|1<<16, 3, 4)...))
		ae.Uint32(rtaNextHop, 7)
		ae.Bytes(rtaCacheV6, words(0, 0, 99, 0, 0, 0, 0, 0))
	}))
	f.Fuzz(func(t *testing.T, message []byte) {
		r, _, err := parseRoute(message)
		if err != nil {
			return
		}
		for _, name := range []string{"cubic", ""} {
			made, err := r.with(name)
			if err != nil {
				continue // attributes within attributes are only looked at now
			}
			again, _, err := parseRoute(made)
			if err != nil {
				t.Fatalf("%x made anew is %x: %v", message, made, err)
			}
			if again.to != r.to || again.congestion != name || again.gateway && !r.gateway || again.unicast != r.unicast {
				t.Errorf("%x made anew with %q is %+v, was %+v", message, name, again, r)
			}
		}
	})
}

func TestParseRoute(t *testing.T) {
	for text, says := range map[string]string{
		"":                         "0 bytes",
		"0220000000000001000000":   "11 bytes",
		"02210000fe03000100000000": "no destination of 33 bits",
		"11000000fe03000100000000": "family 17",
		"0a180000fe030001000000000800010001020304": "family 10 has no destination",
	} {
		message, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := parseRoute(message); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
	message := append([]byte{unix.AF_INET, 0, 0, 0, unix.RT_TABLE_LOCAL, 3, 0, unix.RTN_UNICAST}, 0, 0, 0, 0)
	if _, ok, err := parseRoute(message); ok || err != nil {
		t.Errorf("a route of the table local: %v, %v", ok, err)
	}
}
