//go:build unix

package document

import (
	"strings"

	"golang.org/x/sys/unix"
)

// systemInfo is this host as uname has it.
func systemInfo() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return ""
	}
	fields := []string{
		unix.ByteSliceToString(name.Sysname[:]), unix.ByteSliceToString(name.Nodename[:]), unix.ByteSliceToString(name.Release[:]),
		unix.ByteSliceToString(name.Version[:]), unix.ByteSliceToString(name.Machine[:]),
	}
	return strings.Join(fields, " ")
}
