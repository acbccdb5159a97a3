package bulk

import (
	"errors"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// Two hosts whose cable is pulled: both ends say so within their patience, and
// keep what they measured.
func TestIntegrationPathDies(t *testing.T) {
	for name, spec := range map[string]Spec{
		"timed":    {Direction: Both, Streams: 2, Duration: time.Minute},
		"of bytes": {Direction: Both, Streams: 2, Bytes: 1 << 40},
	} {
		t.Run(name, func(t *testing.T) {
			const patience = time.Second
			client, server, pull := cabled(t, spec)
			near, far := start(t.Context(), spec, client, patience), start(t.Context(), spec, server, patience)
			time.Sleep(500 * time.Millisecond)
			pull()
			for _, done := range []<-chan outcome{near, far} {
				end := wait(t, done)
				if end.err == nil || end.Error == "" {
					t.Error("no error")
				}
				for _, s := range end.Streams {
					if s.Bytes == 0 || len(s.Samples) < 3 {
						t.Errorf("stream %d: %d bytes and %d samples were kept", s.ID, s.Bytes, len(s.Samples))
					}
				}
			}
		})
	}
}

// cabled connects the streams of a transfer between two namespaces that a veth
// pair joins, and returns how to pull that.
func cabled(t *testing.T, spec Spec) (client, server []Conn, pull func()) {
	t.Helper()
	// The thread is not given back: it ends with the test, in whichever
	// namespace it then is.
	runtime.LockOSThread()
	check := func(err error) {
		t.Helper()
		if errors.Is(err, os.ErrPermission) {
			t.Skipf("needs network namespaces: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	near, err := netns.New()
	check(err)
	t.Cleanup(func() { near.Close() })
	far, err := netns.New()
	check(err)
	t.Cleanup(func() { far.Close() })

	check(netns.Set(near))
	check(netlink.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: "cable"}, PeerName: "cable", PeerNamespace: netlink.NsFd(far),
	}))
	plug := func(address string) netlink.Link {
		link, err := netlink.LinkByName("cable")
		check(err)
		addr, err := netlink.ParseAddr(address)
		check(err)
		check(netlink.AddrAdd(link, addr))
		check(netlink.LinkSetUp(link))
		return link
	}
	plug("198.18.0.1/24")
	check(netns.Set(far))
	farLink := plug("198.18.0.2/24")
	handle, err := netlink.NewHandleAt(far)
	check(err)
	t.Cleanup(handle.Close)

	// A socket belongs to the namespace of the thread that made it.
	listener, err := net.Listen("tcp4", "198.18.0.2:0")
	check(err)
	defer listener.Close()
	check(netns.Set(near))
	client, server = connectTo(t, listener, spec)
	return client, server, func() { check(handle.LinkSetDown(farLink)) }
}
