package host

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
)

// System is this operating system as the catalogue of tunables names it.
func System() string {
	if runtime.GOOS == "darwin" {
		return "macos"
	}
	return runtime.GOOS
}

// Collect gathers the facts of this host. What cannot be found out stays empty;
// WhyNot says why tunables cannot be changed, if they cannot.
func Collect(ctx context.Context) (*Facts, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("read host name: %w", err)
	}
	interfaces, indexes, err := listInterfaces()
	if err != nil {
		return nil, err
	}
	f := &Facts{
		Name: name, OS: System(), Arch: runtime.GOARCH,
		CPUs: runtime.NumCPU(), Interfaces: interfaces, Tunables: map[string]string{},
	}
	if err := f.system(indexes); err != nil {
		return nil, err
	}
	slices.Sort(f.ReadOnly)
	return f, nil
}

// listInterfaces gives what every system reports alike, and the interfaces'
// numbers.
func listInterfaces() (interfaces []Interface, indexes []int, err error) {
	found, err := net.Interfaces()
	if err != nil {
		return nil, nil, fmt.Errorf("list network interfaces: %w", err)
	}
	for _, i := range found {
		addresses, err := i.Addrs()
		if err != nil {
			continue // gone since it was listed
		}
		// Of an interface without a bound Windows says -1.
		one := Interface{Name: i.Name, MTU: max(0, i.MTU), Up: i.Flags&net.FlagUp != 0}
		for _, a := range addresses {
			one.Addresses = append(one.Addresses, a.String())
		}
		interfaces, indexes = append(interfaces, one), append(indexes, i.Index)
	}
	return interfaces, indexes, nil
}
