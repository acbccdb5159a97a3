// Package guest runs a test once more in a machine of its own with another kernel: Debian's,
// in QEMU. It is there for what this machine's kernel has not, such as a client and a server of
// NFS, or netem; and to see on a second kernel what was seen on this one. It needs no KVM, and is
// slower by that: ten times and more. .ci/install brings QEMU, the kernel and the programs.
package guest

import "os"

// inside in the environment says that this process runs in a guest.
const inside = "FULLBORE_TEST_GUEST"

// Asked in the environment asks for the tests that run in a guest: each takes a minute
// or more, so that they are no part of all tests.
const Asked = "FULLBORE_GUEST"

// Inside reports whether this process runs in a guest.
func Inside() bool { return os.Getenv(inside) != "" }

// Machine is what a guest has beside two processors, 2 GiB of memory, busybox and the test.
type Machine struct {
	Modules  []string // of its kernel; those that they need are loaded too
	Programs []string // by their names: of Debian's packages for the guest, or of this machine
}
