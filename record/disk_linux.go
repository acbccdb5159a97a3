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
	switch uint32(fs.Type) { // signed, and of 32 or 64 bits by processor
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.CODA_SUPER_MAGIC,
		unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC, unix.V9FS_MAGIC, unix.CEPH_SUPER_MAGIC, unix.OCFS2_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC:
		return true
	}
	return false
}

// room is how many bytes a user may still write beside a file; -1: not known.
func room(name string) int64 {
	var fs unix.Statfs_t
	if unix.Statfs(filepath.Dir(name), &fs) != nil {
		return -1
	}
	return int64(fs.Bavail) * fs.Bsize
}
