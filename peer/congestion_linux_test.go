package peer

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/fullbore/fullbore/bulk"
	"github.com/fullbore/fullbore/internal/sandbox"
)

// Congestion control is the sender's: who only receives need not have it.
func TestCongestionControlIsTheSenders(t *testing.T) {
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	client := far.dial(t, far.TokenString())
	for direction, says := range map[bulk.Direction]string{
		bulk.Forward: "connect streams", // this end refuses
		bulk.Reverse: "TCP_CONGESTION",
	} {
		spec := short(direction, 1)
		spec.Congest = "nosuch"
		_, err := client.Transfer(within(t, generous), spec, nil)
		if err == nil || !strings.Contains(err.Error(), says) || direction == bulk.Reverse && strings.Contains(err.Error(), "connect") {
			t.Errorf("%s: got %v, want an error with %q", direction, err, says)
		}
	}
}

func congestionControls(t *testing.T, which string) []string {
	t.Helper()
	names, err := os.ReadFile("/proc/sys/net/ipv4/tcp_" + which + "_congestion_control")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(names))
}

// A stranger gets of a far end that runs as root no congestion control that the
// host keeps to its administrator, and does not make it load a module.
func TestIntegrationStrangersCongestionControl(t *testing.T) {
	if !sandbox.Run(t) {
		return
	}
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		t.Fatal(err)
	}
	far := startFarEnd(t, Config{}, "127.0.0.1:0")
	stranger, friend := far.dial(t, ""), far.dial(t, far.TokenString())
	allowed, available := congestionControls(t, "allowed"), congestionControls(t, "available")
	get := func(c *Client, name string, direction bulk.Direction) (string, error) {
		spec := short(direction, 1)
		spec.Congest = name
		result, err := c.Transfer(within(t, generous), spec, nil)
		if senders := result.Senders(bulk.Reverse); len(senders) > 0 {
			return senders[0].Congestion, err
		}
		return "", err
	}
	for _, name := range allowed {
		if got, err := get(stranger, name, bulk.Reverse); err != nil || got != name {
			t.Errorf("%s, which all may use: got %q, %v", name, got, err)
		}
	}
	// Among those that are not there are perhaps some that the kernel has a module for.
	restricted := slices.DeleteFunc(slices.Clone(available), func(name string) bool { return slices.Contains(allowed, name) })
	for _, name := range append(restricted, "htcp", "illinois", "nosuch") {
		if slices.Contains(allowed, name) {
			continue
		}
		for _, direction := range []bulk.Direction{bulk.Reverse, bulk.Both} {
			got, err := get(stranger, name, direction)
			wantKind(t, err, ErrLimit, name, strings.Join(allowed, ", "), "token")
			if got != "" {
				t.Errorf("%s: a stranger got %s", name, got)
			}
		}
	}
	if now := congestionControls(t, "available"); !slices.Equal(now, available) {
		t.Errorf("there are %v now, and were %v before the stranger asked", now, available)
	}
	for _, name := range restricted {
		if got, err := get(friend, name, bulk.Reverse); err != nil || got != name {
			t.Errorf("%s, with the token: got %q, %v", name, got, err)
		}
	}
	t.Logf("allowed %v, restricted %v", allowed, restricted)
}
