package mounted

import (
	"os"

	"golang.org/x/sys/unix"
)

// open opens a file to read it. Direct: past this host's memory, each read is the server's.
func open(path string, direct bool) (*os.File, error) {
	flags := os.O_RDONLY
	if direct {
		flags |= unix.O_DIRECT
	}
	return os.OpenFile(path, flags, 0)
}

// forget drops what this host has in memory of a file, so that it is read from the server.
func forget(f *os.File) error {
	return os.NewSyscallError("fadvise", unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
}
