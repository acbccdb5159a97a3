//go:build darwin || freebsd

package record

import "golang.org/x/sys/unix"

// remote says whether a file lies on another machine's disk, where processes
// cannot share memory through it.
func remote(name string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(name, &fs) != nil {
		return true // not known: do without
	}
	return fs.Flags&unix.MNT_LOCAL == 0
}
