package bulk

import (
	"fmt"
	"runtime"

	"github.com/fullbore/fullbore/host"
)

// nicCPUs stands for the CPUs of the NUMA node of the NIC that has the
// connection's local address.
const nicCPUs = "nic"

// cpus is the list for one end.
func (s Spec) cpus(server bool) string {
	if server {
		return s.ServerCPUs
	}
	return s.ClientCPUs
}

// checkCPUs says what is wrong with a list that may come from the far end.
func checkCPUs(list string) error {
	switch {
	case list == "" || list == nicCPUs:
		return nil
	case len(list) > 256:
		return fmt.Errorf("the list of CPUs is longer than 256 characters")
	}
	if _, err := host.ParseCPUs(list); err != nil {
		return fmt.Errorf("list of CPUs: %w; or \"nic\"", err)
	}
	return nil
}

// OnThread calls move on an OS thread of its own, which is pinned to cpus
// meanwhile, those of [Spec.Place]; none: not at all.
func OnThread(cpus []int, move func() error) error {
	runtime.LockOSThread()
	unpin, err := pin(cpus)
	if err == nil {
		err = move()
	}
	if unpin() {
		runtime.UnlockOSThread() // or else the thread ends with its goroutine
	}
	return err
}
