// Package cable makes two hosts of network namespaces and joins them by a veth
// pair, for tests and benchmarks: real kernels' networking with nothing emulated
// between them (package lab has that), where a cable can be pulled. It runs on
// Linux as root, and leaves nothing behind: the kernel removes a namespace with
// its last handle, socket and process, however those go.
package cable

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/fullbore/fullbore/unit"
)

// Spec describes a cable.
type Spec struct {
	IPv6 bool      // the hosts have IPv6 addresses too
	MTU  int       // bytes; 0: what a veth pair has, 1500
	Rate unit.Rate // that the near host may send at; 0: as fast as it can
}

// Cable joins two hosts. On both the device is called "cable"; it carries
// only what tests send.
type Cable struct {
	Near *Host // 198.18.0.1/24, and with IPv6 fd00::1/64 and fe80::1/64
	Far  *Host // 198.18.0.2/24, and with IPv6 fd00::2/64 and fe80::2/64
}

// New makes two hosts with a cable between them. The error wraps
// [os.ErrPermission] where network namespaces are not permitted.
func New(spec Spec) (_ *Cable, err error) {
	c := &Cable{}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if c.Near, err = newHost(1, spec.IPv6); err != nil {
		return nil, err
	}
	if c.Far, err = newHost(2, spec.IPv6); err != nil {
		return nil, err
	}
	err = c.Near.kernel.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: device, MTU: spec.MTU},
		PeerName:  device, PeerNamespace: netlink.NsFd(c.Far.namespace),
	})
	if err != nil {
		return nil, fmt.Errorf("add veth pair: %w", err)
	}
	if err := errors.Join(c.Near.setUp(), c.Far.setUp()); err != nil {
		return nil, err
	}
	if err := c.carries(); err != nil {
		return nil, err
	}
	if spec.Rate > 0 {
		if err := c.Near.limit(spec.Rate); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Close gives both hosts up.
func (c *Cable) Close() {
	for _, h := range []*Host{c.Near, c.Far} {
		if h != nil {
			h.close()
		}
	}
}

// Pull ends the connection without a word: the far host's device goes down, and
// the near one has no carrier.
func (c *Cable) Pull() error {
	if err := c.Far.kernel.LinkSetDown(c.Far.link); err != nil {
		return fmt.Errorf("pull cable: %w", err)
	}
	return nil
}

// Plug brings the connection back.
func (c *Cable) Plug() error {
	if err := c.Far.plug(); err != nil {
		return err
	}
	return c.carries()
}

// carries waits until both devices are up: until the kernel has noticed that
// (linkwatch, net/core/link_watch.c), it drops what is sent.
func (c *Cable) carries() error {
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(time.Millisecond) {
		up := 0
		for _, h := range []*Host{c.Near, c.Far} {
			link, err := h.kernel.LinkByIndex(h.link.Attrs().Index)
			if err != nil {
				return fmt.Errorf("look at cable: %w", err)
			}
			if link.Attrs().OperState == netlink.OperUp {
				up++
			}
		}
		if up == 2 {
			return nil
		}
		if time.Now().After(end) {
			return errors.New("the cable's devices do not come up")
		}
	}
}

// Dropped is how many packets of the near host its Rate has cost; a run that was
// handed over in one piece counts once.
func (c *Cable) Dropped() (int64, error) {
	queues, err := c.Near.kernel.QdiscList(c.Near.link)
	if err != nil {
		return 0, fmt.Errorf("list queues: %w", err)
	}
	for _, q := range queues {
		if q.Type() == "tbf" {
			return int64(q.Attrs().Statistics.Queue.Drops), nil
		}
	}
	return 0, errors.New("the cable has no rate")
}

// ForTest makes a cable that lasts for a test, or skips the test where network
// namespaces are not permitted. From then on the test runs on the near host.
func ForTest(t testing.TB, spec Spec) *Cable {
	t.Helper()
	c, err := New(spec)
	if errors.Is(err, os.ErrPermission) {
		t.Skipf("needs network namespaces: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	// The thread is not given back: it ends with the test.
	runtime.LockOSThread()
	if err := c.Near.enter(); err != nil {
		t.Fatal(err)
	}
	return c
}
