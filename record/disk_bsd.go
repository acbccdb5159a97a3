//go:build darwin || freebsd

package record

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// remote says whether a file lies on another machine's disk, where processes
// cannot share memory through it.
func remote(name string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(name, &fs) != nil {
		return true // not known: do without
	}
	return fs.Flags&unix.MNT_LOCAL == 0
}

// room is how many bytes a user may still write beside a file; -1: not known.
func room(name string) int64 {
	var fs unix.Statfs_t
	if unix.Statfs(filepath.Dir(name), &fs) != nil {
		return -1
	}
	return int64(fs.Bavail) * int64(fs.Bsize)
}
