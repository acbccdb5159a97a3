package cable

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/fullbore/fullbore/unit"
)

// device is the name of a host's end of the cable.
const device = "cable"

// Host is a network namespace at one end of a cable.
type Host struct {
	namespace netns.NsHandle
	kernel    *netlink.Handle // acts in the namespace, from any thread
	link      netlink.Link
	addresses []string
}

func newHost(number int, ipv6 bool) (*Host, error) {
	h := &Host{namespace: netns.None(), addresses: []string{fmt.Sprintf("198.18.0.%d/24", number)}}
	if ipv6 {
		h.addresses = append(h.addresses, fmt.Sprintf("fd00::%d/64", number), fmt.Sprintf("fe80::%d/64", number))
	}
	err := onLockedThread(func() (err error) {
		h.namespace, err = netns.New() // the thread is in it
		return err
	})
	if err == nil {
		h.kernel, err = netlink.NewHandleAt(h.namespace)
	}
	if err != nil {
		h.close()
		return nil, fmt.Errorf("make network namespace: %w", err)
	}
	return h, nil
}

func (h *Host) close() {
	if h.kernel != nil {
		h.kernel.Close()
	}
	if h.namespace.IsOpen() {
		h.namespace.Close()
	}
}

// Do calls do on this host: on the caller's goroutine, whose thread is in the
// namespace until do returns, panics or ends the test. Sockets and processes
// belong to the namespace of the thread that makes them; they stay there, and
// goroutines that do starts are elsewhere.
func (h *Host) Do(do func() error) error {
	return onLockedThread(func() error {
		if err := h.enter(); err != nil {
			return err
		}
		return do()
	})
}

// enter takes the calling thread there.
func (h *Host) enter() error {
	if err := netns.Set(h.namespace); err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	return nil
}

// onLockedThread takes the thread back to the namespace it is in, wherever do
// leaves it. A thread that does not get back stays locked, and ends with its
// goroutine.
func onLockedThread(do func() error) (err error) {
	runtime.LockOSThread()
	here, err := netns.Get()
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("find network namespace: %w", err)
	}
	defer func() {
		back := netns.Set(here)
		here.Close()
		if back != nil {
			err = errors.Join(err, fmt.Errorf("leave network namespace: %w", back))
			return
		}
		runtime.UnlockOSThread()
	}()
	return do()
}

// setUp makes the host's devices ready.
func (h *Host) setUp() error {
	loopback, err := h.kernel.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find loopback: %w", err)
	}
	if err := h.kernel.LinkSetUp(loopback); err != nil {
		return fmt.Errorf("bring up loopback: %w", err)
	}
	if h.link, err = h.kernel.LinkByName(device); err != nil {
		return fmt.Errorf("find %s: %w", device, err)
	}
	// No address but those given: a server of datagrams may answer from any, and
	// each is announced. A kernel without IPv6 makes none.
	err = h.kernel.LinkSetIP6AddrGenMode(h.link, nl.IN6_ADDR_GEN_MODE_NONE)
	if err != nil && !errors.Is(err, unix.EAFNOSUPPORT) {
		return fmt.Errorf("silence address autoconfiguration: %w", err)
	}
	return h.plug()
}

// plug brings the cable's end up, with its addresses: one that goes down loses
// those of IPv6.
func (h *Host) plug() error {
	if err := h.kernel.LinkSetUp(h.link); err != nil {
		return fmt.Errorf("bring up %s: %w", device, err)
	}
	for _, text := range h.addresses {
		address, err := netlink.ParseAddr(text)
		if err != nil {
			return err
		}
		address.Flags = unix.IFA_F_NODAD // so that it can be used at once
		if err := h.kernel.AddrReplace(h.link, address); err != nil {
			return fmt.Errorf("add address %s: %w", text, err)
		}
	}
	return nil
}

// limit puts a token bucket on what the host sends: three packets of 1500 bytes
// at once, 50 ms of others wait.
func (h *Host) limit(rate unit.Rate) error {
	bytes := uint64(rate / 8)
	err := h.kernel.QdiscAdd(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: h.link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       bytes, Buffer: netlink.Xmittime(bytes, 5000), Limit: uint32(bytes / 20),
	})
	if err != nil {
		return fmt.Errorf("limit %s to %s: %w", device, rate, err)
	}
	return nil
}
