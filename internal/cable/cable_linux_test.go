package cable

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netns"

	"github.com/fullbore/fullbore/unit"
)

// far are the far host's addresses.
var far = []string{"198.18.0.2", "fd00::2", "fe80::2%cable"}

// listen has the far host take connections at a port.
func listen(t *testing.T, c *Cable) (port string) {
	t.Helper()
	var listener net.Listener
	err := c.Far.Do(func() (err error) {
		listener, err = net.Listen("tcp", ":0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	_, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// reach connects the near host, where the test is, to the far one.
func reach(address, port string) error {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(address, port), 500*time.Millisecond)
	if err != nil {
		return err
	}
	return conn.Close()
}

// eventually tries for some seconds: hosts that never talked have to find each
// other's hardware addresses first, and ask for them once a second.
func eventually(address, port string) (err error) {
	for range 20 {
		if err = reach(address, port); err == nil {
			return nil
		}
	}
	return err
}

// What is pulled goes through no more, and does again once it is plugged in, at
// every address.
func TestIntegrationPullAndPlug(t *testing.T) {
	c := ForTest(t, Spec{IPv6: true})
	port := listen(t, c)
	for _, address := range far {
		if err := eventually(address, port); err != nil {
			t.Error(err)
		}
	}
	if err := c.Pull(); err != nil {
		t.Fatal(err)
	}
	for _, address := range far {
		if reach(address, port) == nil {
			t.Errorf("%s is reached through a cable that is pulled", address)
		}
	}
	if err := c.Plug(); err != nil {
		t.Fatal(err)
	}
	for _, address := range far {
		if err := eventually(address, port); err != nil {
			t.Errorf("plugged in again: %v", err)
		}
	}
}

// A cable has the addresses and the MTU that it was to have, at both ends.
func TestIntegrationSpec(t *testing.T) {
	for name, test := range map[string]struct {
		spec Spec
		mtu  int
		want string
	}{
		"as it comes": {Spec{}, 1500, "198.18.0.N/24"},
		"all of it":   {Spec{IPv6: true, MTU: 9000}, 9000, "198.18.0.N/24 fd00::N/64 fe80::N/64"},
	} {
		t.Run(name, func(t *testing.T) {
			c := ForTest(t, test.spec)
			for number, h := range map[string]*Host{"1": c.Near, "2": c.Far} {
				err := h.Do(func() error {
					i, err := net.InterfaceByName("cable")
					if err != nil {
						return err
					}
					all, err := i.Addrs()
					var got []string
					for _, a := range all {
						got = append(got, a.String())
					}
					if want := strings.ReplaceAll(test.want, "N", number); i.MTU != test.mtu || strings.Join(got, " ") != want {
						t.Errorf("host %s has MTU %d and %v, want %d and %s", number, i.MTU, got, test.mtu, want)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// What is sent faster than the cable's rate is dropped, and counted.
func TestIntegrationRate(t *testing.T) {
	const datagrams, length = 1000, 1000
	c := ForTest(t, Spec{Rate: unit.Mbps})
	conn, err := net.Dial("udp", "198.18.0.2:5201")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range datagrams {
		_, _ = conn.Write(make([]byte, length)) // refused: nobody listens
	}
	// 50 ms at 1 Mb/s are six datagrams; all of them would take eight seconds.
	if dropped, err := c.Dropped(); err != nil || dropped < datagrams/10 || dropped >= datagrams {
		t.Errorf("%d of %d datagrams were dropped: %v", dropped, datagrams, err)
	}
	if _, err := ForTest(t, Spec{}).Dropped(); err == nil {
		t.Error("a cable without a rate counts what it drops")
	}
}

// Whatever happens on a host, the thread comes back, and nothing is left open.
func TestIntegrationLeavesNothing(t *testing.T) {
	here := func() string {
		t.Helper()
		n, err := netns.Get()
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		return n.UniqueId()
	}
	open := func() int {
		t.Helper()
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	ForTest(t, Spec{}) // also skips, and what a process opens once is open
	home, before := here(), open()
	c, err := New(Spec{IPv6: true})
	if err != nil {
		t.Fatal(err)
	}
	near, failure := "", errors.New("that way")
	err = c.Near.Do(func() error {
		near = here()
		return c.Far.Do(func() error {
			if there := here(); there == near || there == home || near == home {
				t.Errorf("home is %s, the near host %s, the far one %s", home, near, there)
			}
			return failure
		})
	})
	if !errors.Is(err, failure) || here() != home {
		t.Errorf("after %v the thread is in %s, want %s", err, here(), home)
	}
	func() {
		defer func() {
			if recover() != "panic" || here() != home {
				t.Errorf("after a panic the thread is in %s, want %s", here(), home)
			}
		}()
		_ = c.Far.Do(func() error { panic("panic") })
	}()
	c.Close()
	if _, err := New(Spec{MTU: 1}); err == nil || !strings.Contains(err.Error(), "add veth pair") {
		t.Errorf("a cable with an MTU of one byte: %v", err)
	}
	if after := open(); after != before || here() != home {
		t.Errorf("%d descriptors became %d; the thread is in %s, want %s", before, after, here(), home)
	}
}
